// Plans of small synthetic images, and why a plan is refused.
#pragma once

#include "plan/plan.hpp"
#include "support/messages.hpp"

namespace pb::test {

inline plan::SourceFacts no_file(const config::ImageSettings& image) {
    throw UsageError("unexpected look-up of '" + image.path + "'");
}

inline plan::Topology cuda_topology(int num_ranks) {
    plan::Topology topology = plan::make_local_topology(num_ranks);
    plan::give_gpus(topology, 0);
    for (plan::RankPlace& place : topology.ranks) place.device_name = "Test GPU";
    return topology;
}

/// CPU ranks of which `with_bf16` have products of bf16.
inline plan::Topology bf16_topology(int num_ranks, int with_bf16) {
    plan::Topology topology = plan::make_local_topology(num_ranks);
    for (plan::RankPlace& place : topology.ranks) place.multiplies_bf16 = place.rank < with_bf16;
    return topology;
}

inline config::PointSettings small_point() {
    config::PointSettings settings;
    settings.patch = 64;
    settings.image.height = 300;
    settings.image.width = 200;
    return settings;
}

inline plan::Plan plan_of(const std::vector<config::PointSettings>& points, const plan::Topology& topology,
                          const plan::SourceLookup& lookup = no_file) {
    config::Config config;
    config.points = points;
    return plan::make_plan(config, topology, lookup);
}

inline plan::Point point_of(const config::PointSettings& settings,
                            const plan::Topology& topology = plan::make_local_topology(1)) {
    return plan_of({settings}, topology).points.front();
}

inline std::string refusal_of(const config::PointSettings& settings,
                              const plan::Topology& topology = plan::make_local_topology(1)) {
    return usage_error([&] { (void)point_of(settings, topology); });
}

}  // namespace pb::test
