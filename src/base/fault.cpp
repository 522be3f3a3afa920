#include "base/fault.hpp"

#include "patchbench/base/error.hpp"

#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <mutex>
#include <new>

namespace pb {
namespace {

struct Fault {
    std::string stage, action;
    int first = 0;  // visit at which it happens
    bool lasting = false;
    int visits = 0;
};

Fault parse(const std::string& text) {
    const size_t first = text.find(':'), second = text.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) refuse_fault(text);
    Fault parsed{text.substr(0, first), text.substr(first + 1, second - first - 1)};
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + second + 1, last, parsed.first);
    parsed.lasting = end + 1 == last && *end == '+';
    if (error != std::errc() || (end != last && !parsed.lasting) || parsed.first < 1) refuse_fault(text);
    return parsed;
}

std::mutex mutex;
std::optional<Fault> fault;  // as the environment says, once that was read

void act(const std::string& action) {
    if (action == "kill")
        ::kill(::getpid(), SIGKILL);
    else if (action == "stop")
        ::kill(::getpid(), SIGSTOP);
    else if (action == "throw")
        throw Error("a fault that PATCHBENCH_FAULT asked for");
    else if (action == "memory")
        throw std::bad_alloc();  // the address sanitizer ends a program that asks for too much
    else
        refuse_fault(action);
}

}  // namespace

void refuse_fault(std::string_view what) {
    throw UsageError("PATCHBENCH_FAULT=" + std::string(what) +
                     ": <stage>:<action>:<n> is meant; it is for tests alone, unset it");
}

void inject_fault(std::string_view stage) {
    if (const auto action = meet_value_fault(stage)) act(*action);
}

std::optional<std::string> meet_value_fault(std::string_view stage) {
    const char* const text = std::getenv("PATCHBENCH_FAULT");
    if (text == nullptr) return std::nullopt;
    const std::lock_guard lock(mutex);
    if (!fault) fault = parse(text);
    if (fault->stage != stage) return std::nullopt;
    ++fault->visits;
    const bool is_due = fault->lasting ? fault->visits >= fault->first : fault->visits == fault->first;
    return is_due ? std::optional(fault->action) : std::nullopt;
}

void restart_faults() {
    const std::lock_guard lock(mutex);
    fault.reset();
}

bool is_fault_wanted(std::string_view stage) {
    const char* const text = std::getenv("PATCHBENCH_FAULT");
    return text != nullptr && std::string_view(text).starts_with(stage);
}

}  // namespace pb
