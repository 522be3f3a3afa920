// Gathers the records of all ranks on all ranks.
#pragma once

#include "comm/metric_reduction.hpp"
#include "record/row.hpp"

#include <array>
#include <vector>

namespace pb::run {

/// Collective. Returns each rank's record, in rank order. The rows of the reduction must be equally long, so shorter
/// ones are padded.
template <class Record>
[[nodiscard]] std::vector<Record> gather_records(comm::MetricReduction& reduction, const Record& mine) {
    std::vector<double> row = record::pack(mine);
    row.resize(static_cast<size_t>(reduction.max(std::array{static_cast<double>(row.size())}).front()));
    std::vector<Record> records;
    for (const auto& other : reduction.all_gather(row)) records.push_back(record::unpack<Record>(other));
    return records;
}

}  // namespace pb::run
