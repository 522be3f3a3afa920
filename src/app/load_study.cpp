#include "app/load_study.hpp"

#include "config/load_yaml.hpp"
#include "report/measured_calls.hpp"
#include "run/pixels/image_source.hpp"
#include "run/weights_source.hpp"

#include <map>

namespace pb {

Config load_study(const StudyArguments& arguments) {
    Config config = load_config(arguments.file, arguments.overrides);
    std::map<std::string, ResultsFile> files;
    for (PointSettings& point : config.points) {
        const std::string& results = point.timed.results;
        if (point.engine != EngineKind::timed || results.empty()) continue;
        if (!point.timed.table.empty())
            throw UsageError("timed.table and timed.results both give T(b): keep one of them");
        const auto known = files.find(results);
        const ResultsFile& former = known != files.end() ? known->second : files[results] = load_results(results);
        point.timed.table = measured_call_table(former, point);
    }
    return config;
}

Plan plan_locally(const Config& config, int ranks) {
    WeightsCache weights;
    return make_plan(config, make_local_topology(ranks), source_facts,
                     [&](const auto& settings, int64_t channels) { return weights.shape_of(settings, channels); });
}

}  // namespace pb
