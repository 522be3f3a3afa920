// What every rank measured, on all ranks.
#pragma once

#include "comm/metric_reduction.hpp"
#include "record/row.hpp"

#include <array>
#include <vector>

namespace pb {

/// Collective. Each rank's record, in rank order. Rows of the reduction are equally long: shorter ones are filled up.
template <class Record>
[[nodiscard]] std::vector<Record> gather_records(MetricReduction& reduction, const Record& mine) {
    std::vector<double> row = pack(mine);
    row.resize(static_cast<size_t>(reduction.max(std::array{static_cast<double>(row.size())}).front()));
    std::vector<Record> records;
    for (const auto& other : reduction.all_gather(row)) records.push_back(unpack<Record>(other));
    return records;
}

}  // namespace pb
