#include "patchbench/base/fault.hpp"

#include "patchbench/base/error.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>

namespace pb {
namespace {

struct Fault {
    std::string_view stage, action;
    int countdown = 0;  // 0: none is wanted
};

[[noreturn]] void refuse_fault(const std::string& text) {
    throw UsageError("PATCHBENCH_FAULT=" + text + ": <stage>:<action>:<n> is meant; it is for tests alone, unset it");
}

Fault wanted_fault() {
    const char* value = std::getenv("PATCHBENCH_FAULT");
    if (value == nullptr) return {};
    const std::string_view text = value;
    const size_t first = text.find(':'), second = text.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) refuse_fault(value);
    Fault fault{text.substr(0, first), text.substr(first + 1, second - first - 1)};
    const auto [end, error] = std::from_chars(&text[second] + 1, text.data() + text.size(), fault.countdown);
    if (error != std::errc() || *end != '\0' || fault.countdown < 1) refuse_fault(value);
    return fault;
}

void act(std::string_view action, std::span<float> values) {
    if (action == "kill")
        ::kill(::getpid(), SIGKILL);
    else if (action == "stop")
        ::kill(::getpid(), SIGSTOP);
    else if (action == "throw")
        throw Error("a fault that PATCHBENCH_FAULT asked for");
    else if (action == "memory")
        ::operator delete(::operator new(std::numeric_limits<ptrdiff_t>::max()));
    else if (action == "nan")
        std::fill(values.begin(), values.end(), std::numeric_limits<float>::quiet_NaN());
    else
        refuse_fault(std::string(action));
}

}  // namespace

void meet_fault(std::string_view stage, std::span<float> values) {
    static const Fault wanted = wanted_fault();
    static std::atomic<int> countdown{wanted.countdown};
    if (wanted.stage == stage && countdown.fetch_sub(1) == 1) act(wanted.action, values);
}

}  // namespace pb
