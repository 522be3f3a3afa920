#include "comm/interruption.hpp"

#include "patchbench/base/error.hpp"

#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

namespace pb::comm {
namespace {

// The only global of the program, since a handler can reach nothing else. It keeps the first signal.
std::atomic<int> first_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "a handler may touch lock-free atomics only");

extern "C" void note_signal(int signal) {
    int none = 0;
    first_signal.compare_exchange_strong(none, signal);
}

}  // namespace

InterruptionGuard::InterruptionGuard() {
    first_signal = 0;
    for (size_t i = 0; i < kSignals.size(); ++i) {
        struct sigaction action {};
        action.sa_handler = note_signal;
        sigemptyset(&action.sa_mask);
        // SA_RESETHAND: the second SIGINT has the default action, which ends the process.
        action.sa_flags = SA_RESTART | (kSignals[i] == SIGINT ? static_cast<int>(SA_RESETHAND) : 0);
        require(sigaction(kSignals[i], &action, &former_[i]) == 0,
                std::string("no handler for signal ") + strsignal(kSignals[i]) + ": " + std::strerror(errno));
        if (kSignals[i] == SIGHUP && former_[i].sa_handler == SIG_IGN) sigaction(SIGHUP, &former_[i], nullptr);
    }
}

InterruptionGuard::~InterruptionGuard() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &former_[i], nullptr);
}

void interrupt_after(double seconds) {
    constexpr double kLongest = 1e9;  // s: thirty years, and no overflow
    const double whole = std::floor(std::min(seconds, kLongest));
    itimerval timer{};
    timer.it_value.tv_sec = static_cast<time_t>(whole);
    timer.it_value.tv_usec = static_cast<suseconds_t>(std::min(1e6 * (seconds - whole), 999999.0));
    if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0) timer.it_value.tv_usec = 1;  // 0 would mean never
    require(setitimer(ITIMER_REAL, &timer, nullptr) == 0, std::string("no timer: ") + std::strerror(errno));
}

std::optional<double> seconds_until_interruption() {
    itimerval timer{};
    if (getitimer(ITIMER_REAL, &timer) != 0) return std::nullopt;
    const double left = static_cast<double>(timer.it_value.tv_sec) + static_cast<double>(timer.it_value.tv_usec) / 1e6;
    if (left > 0) return left;
    return first_signal.load() == SIGALRM ? std::optional(0.0) : std::nullopt;
}

std::string interruption() {
    constexpr std::pair<int, const char*> kNames[] = {
        {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGALRM, kEndOfTime}, {SIGUSR1, "SIGUSR1"}};
    for (const auto& [signal, name] : kNames)
        if (first_signal.load() == signal) return name;
    return "";
}

void stop_if_interrupted() {
    if (const std::string signal = interruption(); !signal.empty()) throw Interrupted(signal + " came");
}

}  // namespace pb::comm
