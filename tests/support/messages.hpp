// What an error says, for tests that read it. They look for its place and for the names in it; how messages are worded
// is in tests/golden/messages.txt.
#pragma once

#include "patchbench/base/error.hpp"

#include <gmock/gmock.h>

#include <string>

namespace pb {

inline const std::string kNotThrown = "(it was not thrown)";

/// The message of the E that `action` throws; kNotThrown when it throws none. Other errors pass through.
template <class E, class Action>
std::string error_of(Action&& action) {
    try {
        action();
    } catch (const E& error) {
        return error.what();
    }
    return kNotThrown;
}

template <class Action>
std::string usage_error(Action&& action) {
    return error_of<UsageError>(action);
}

/// Matches a message that starts with `place` (a file's line, an option, a setting) and has each of `words` in it.
template <class... Words>
auto names(const std::string& place, const Words&... words) {
    return testing::AllOf(testing::StartsWith(place), testing::HasSubstr(words)...);
}

}  // namespace pb
