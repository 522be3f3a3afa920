// The parts of `tune`: the candidates, and the search on all ranks.
#pragma once

#include "comm/communicator.hpp"
#include "config/settings.hpp"
#include "measure/tuning.hpp"
#include "plan/plan.hpp"
#include "plan/topology.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace pb::app {

/// Plans a point on the whole image. Throws UsageError where it is impossible.
using PlanWhole = std::function<plan::Point(const config::PointSettings&)>;

/// The candidates: engines and precisions that this machine has, with patches, halos and batches.
/// `base`: the planned point of the settings that all candidates share; its halo is the one that was found for `halo:
/// auto`, tried beside the exact one.
[[nodiscard]] measure::TuningTrials make_candidates(const plan::Point& base, const PlanWhole& plan_whole);

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
    std::string foreign;  // what others did on the machine meanwhile, the first time that they did; empty: nothing
    std::string signal;   // what ended the search before its time; empty: nothing did
};

/// Measures candidates on crops of the image, in the order that measure/tuning.hpp decides on the root.
/// Collective. Throws AgreedError for what the user must correct, and where nothing fits into the memory limit.
[[nodiscard]] TuneResult search(const TuneTask& task, const comm::Communicator& world, const plan::Topology& topology);

}  // namespace pb::app
