#include "app/load_study.hpp"

#include "config/load_yaml.hpp"
#include "report/measured_calls.hpp"
#include "run/pixels/image_source.hpp"
#include "run/weights_source.hpp"

#include <CLI/CLI.hpp>

#include <map>

namespace pb {

namespace {

/// A list that the shell took apart is not whole.
std::string find_cut_list(const std::string& override_text) {
    const bool is_cut = override_text.find("=[") != std::string::npos && override_text.find(']') == std::string::npos;
    return is_cut ? override_text + ": the list has no end; a list with blanks needs quotes, as --set 'batch=[1, 4]'"
                  : "";
}

}  // namespace

void add_overrides(CLI::App& command, std::vector<std::string>& overrides) {
    command.add_option("--set", overrides, "overrides a setting everywhere; once for each")
        ->option_text("KEY=VALUE")
        ->allow_extra_args(false)
        ->check(find_cut_list);
}

Config load_study(const std::string& file, const std::vector<std::string>& overrides) {
    Config config = load_config(file, overrides);
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
