// How a mistake ends the test.
#pragma once

#include <string>

namespace pb::fakes {

/// Says `what` and the seed, and aborts: the program is told nothing, since a real device would tell it nothing either.
[[noreturn]] void refuse(const std::string& what);

}  // namespace pb::fakes
