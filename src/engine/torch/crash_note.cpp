#include "engine/torch/crash_note.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

namespace pb::engine::torch_engine {

namespace {

constexpr std::array kFatalSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// What a signal handler can read.
std::atomic<const char*> last_sentence{nullptr};
std::array<struct sigaction, kFatalSignals.size()> earlier_actions;

extern "C" void tell_of_crash(int signal) {
    if (const char* const sentence = last_sentence.exchange(nullptr))
        (void)!::write(STDERR_FILENO, sentence, std::strlen(sentence));
    for (size_t i = 0; i < kFatalSignals.size(); ++i)
        if (kFatalSignals[i] == signal) sigaction(signal, &earlier_actions[i], nullptr);
    ::raise(signal);
}

/// After MPI, which sets handlers of its own for some of them.
void set_handlers() {
    struct sigaction action {};
    action.sa_handler = tell_of_crash;
    action.sa_flags = SA_NODEFER;
    for (size_t i = 0; i < kFatalSignals.size(); ++i) sigaction(kFatalSignals[i], &action, &earlier_actions[i]);
}

}  // namespace

CrashNote::CrashNote(std::string sentence) : sentence_(std::move(sentence)) {
    static std::once_flag once;
    std::call_once(once, set_handlers);
    last_sentence = sentence_.c_str();
}

CrashNote::~CrashNote() { last_sentence = nullptr; }

}  // namespace pb::engine::torch_engine
