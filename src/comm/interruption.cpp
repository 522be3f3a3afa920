#include "patchbench/comm/interruption.hpp"

#include "patchbench/base/error.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>

namespace pb {
namespace {

// The one global of the program: a handler can reach nothing else. The first signal stays.
std::atomic<int> came{0};
static_assert(std::atomic<int>::is_always_lock_free, "a handler may touch lock-free atomics only");

extern "C" void note_signal(int signal) {
    int none = 0;
    came.compare_exchange_strong(none, signal);
}

}  // namespace

InterruptionGuard::InterruptionGuard() {
    came = 0;
    for (size_t i = 0; i < kSignals.size(); ++i) {
        struct sigaction action {};
        action.sa_handler = note_signal;
        sigemptyset(&action.sa_mask);
        // SA_RESETHAND: the second SIGINT meets the default action, which ends the process.
        action.sa_flags = SA_RESTART | (kSignals[i] == SIGINT ? static_cast<int>(SA_RESETHAND) : 0);
        require(sigaction(kSignals[i], &action, &former_[i]) == 0,
                std::string("no handler for signal ") + strsignal(kSignals[i]) + ": " + std::strerror(errno));
    }
}

InterruptionGuard::~InterruptionGuard() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &former_[i], nullptr);
}

std::string interruption() {
    switch (came.load()) {
        case 0:
            return "";
        case SIGINT:
            return "SIGINT";
        case SIGTERM:
            return "SIGTERM";
        default:
            return "SIGUSR1";
    }
}

}  // namespace pb
