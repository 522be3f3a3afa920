// Drives the search of `tune` on all ranks: measures candidates on crops of the image, in the order that
// measure/tuning.hpp decides on the root.
#pragma once

#include "comm/communicator.hpp"
#include "measure/tuning.hpp"
#include "plan/topology.hpp"

#include <filesystem>
#include <string>

namespace pb::app {

struct TuneTask {
    config::PointSettings settings;  // of the image; what is searched has no meaning
    measure::TuningLimits limits;
    double max_time_s = 120;
    std::filesystem::path cache;  // of what earlier runs found by trying; empty: none
};

struct TuneResult {
    measure::TuningTrials trials;  // on the root
    Extent image;
    double seconds = 0;
    std::string signal;  // what ended the search before its time; empty: nothing did
};

/// Collective. Throws AgreedError for what the user must correct, and where nothing fits into the memory limit.
[[nodiscard]] TuneResult search(const TuneTask& task, const comm::Communicator& world, const plan::Topology& topology);

}  // namespace pb::app
