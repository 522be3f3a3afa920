// Gathers the records of all ranks on all ranks.
#pragma once

#include "comm/metric_reduction.hpp"
#include "record/row.hpp"

#include <array>
#include <vector>

namespace pb {

/// Collective. Returns each rank's record, in rank order. The rows of the reduction must be equally long, so shorter
/// ones are padded.
template <class Record>
[[nodiscard]] std::vector<Record> gather_records(MetricReduction& reduction, const Record& mine) {
    std::vector<double> row = pack(mine);
    row.resize(static_cast<size_t>(reduction.max(std::array{static_cast<double>(row.size())}).front()));
    std::vector<Record> records;
    for (const auto& other : reduction.all_gather(row)) records.push_back(unpack<Record>(other));
    return records;
}

}  // namespace pb
