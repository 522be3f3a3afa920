// What an error says, for tests that read it. They look for its place and for the names in it; how messages are worded
// is in tests/golden/messages.txt.
#pragma once

#include "patchbench/base/error.hpp"

#include <gmock/gmock.h>

#include <string>

namespace pb {

/// The message of the UsageError that `action` throws; says so when it throws none. Other errors pass through.
template <class Action>
std::string usage_error(const Action& action) {
    try {
        action();
    } catch (const UsageError& error) {
        return error.what();
    }
    return "(no UsageError was thrown)";
}

/// Matches a message that starts with `place` (a file's line, an option, a setting) and has each of `words` in it.
template <class... Words>
auto names(const std::string& place, const Words&... words) {
    return testing::AllOf(testing::StartsWith(place), testing::HasSubstr(words)...);
}

}  // namespace pb
