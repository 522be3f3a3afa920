// Gives a value of the root to all ranks.
#pragma once

#include "comm/communicator.hpp"
#include "record/row.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace pb::run {

/// Returns the root's `value` on all ranks. A struct needs a function `fields` (record/fields.hpp). All ranks are the
/// same build, as require_same_program sees to. Collective.
template <class T>
[[nodiscard]] T from_root(const comm::Communicator& ranks, const T& value) {
    const std::vector<double> row = record::pack(value);
    const auto* first = reinterpret_cast<const char*>(row.data());
    const std::string bytes = ranks.broadcast(std::string(first, row.size() * sizeof(double)));
    std::vector<double> numbers(bytes.size() / sizeof(double));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return record::unpack<T>(numbers);
}

}  // namespace pb::run
