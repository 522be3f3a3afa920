// What an error says, for tests that read it.
#pragma once

#include "patchbench/base/error.hpp"

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

}  // namespace pb
