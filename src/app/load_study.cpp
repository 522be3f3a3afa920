#include "app/load_study.hpp"

#include "app/brought_networks.hpp"
#include "config/load_yaml.hpp"
#include "engine/engines.hpp"
#include "report/measured_calls.hpp"
#include "run/pixels/image_source.hpp"
#include "run/weights_source.hpp"

#include <map>

namespace pb::app {

config::Config load_study(const StudyArguments& arguments) {
    config::Config config = config::load_config(arguments.file, arguments.overrides);
    read_measured_calls(config);
    return config;
}

void read_measured_calls(config::Config& config) {
    std::map<std::string, report::ResultsFile> files;
    for (config::PointSettings& point : config.points) {
        const std::string& results = point.timed.results;
        if (point.engine != EngineKind::timed || results.empty()) continue;
        if (!point.timed.table.empty())
            throw UsageError("timed.table and timed.results both give T(b): keep one of them");
        const auto known = files.find(results);
        const report::ResultsFile& former =
            known != files.end() ? known->second : files[results] = report::load_results(results);
        point.timed.table = report::measured_call_table(former, point);
    }
}

plan::Plan plan_locally(config::Config config, int ranks, bool trusts_model) {
    settle_networks(points_of(config), trusts_model);
    run::WeightsCache weights;
    plan::Topology topology = plan::make_local_topology(ranks);
    for (plan::RankPlace& place : topology.ranks) place.multiplies_bf16 = engine::native_multiplies_bf16();
    return plan::make_plan(config, topology, run::source_facts, [&](const auto& settings, int64_t channels) {
        return weights.shape_of(settings, channels);
    });
}

}  // namespace pb::app
