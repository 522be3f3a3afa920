#include "report/differences.hpp"

#include "base/mapped.hpp"
#include "config/text.hpp"
#include "report/results/json_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

namespace pb::report {

namespace {

/// These variables name a job or change what is printed. They do not change what is measured.
constexpr std::string_view kIncidentalVariables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "NCCL_DEBUG"};

void add(std::vector<Difference>& all, const std::string& what, const std::string& before, const std::string& after,
         bool decisive = true) {
    if (before != after) all.push_back({what, before, after, decisive});
}

/// Adds an entry for each name that differs between the two sides.
void add_named(std::vector<Difference>& all, const std::string& kind, const std::map<std::string, std::string>& before,
               const std::map<std::string, std::string>& after) {
    std::set<std::string> names;
    for (const auto* side : {&before, &after})
        for (const auto& entry : *side) names.insert(entry.first);
    for (const auto& name : names) {
        const auto value = [&](const auto& side) { return side.contains(name) ? side.at(name) : ""; };
        const std::string_view own = std::string_view(name).substr(0, name.find(' '));  // without " of ranks 1-3"
        const bool incidental = std::ranges::find(kIncidentalVariables, own) != std::end(kIncidentalVariables);
        add(all, fmt::format("{} {}", kind, name), value(before), value(after), !incidental);
    }
}

using PlaceText = std::function<std::string(const plan::RankPlace&)>;

/// Adds one entry, for the first rank that differs; it stands for all ranks.
void add_places(std::vector<Difference>& all, const char* what, const plan::Topology& before,
                const plan::Topology& after, bool decisive, const PlaceText& text) {
    const size_t ranks = std::min(before.ranks.size(), after.ranks.size());
    size_t first = ranks, count = 0;
    for (size_t i = ranks; i-- > 0;) {
        if (text(before.ranks[i]) == text(after.ranks[i])) continue;
        first = i;
        ++count;
    }
    if (count == 0) return;
    const std::string others = count > 1 ? fmt::format(" and {} more", count - 1) : "";
    add(all, fmt::format("{} of rank {}{}", what, before.ranks[first].rank, others), text(before.ranks[first]),
        text(after.ranks[first]), decisive);
}

std::map<std::string, std::string> libraries(const record::Environment& environment,
                                             std::string record::Environment::Library::*part) {
    std::map<std::string, std::string> all;
    for (const auto& library : environment.libraries) all[library.name] = library.*part;
    return all;
}

/// Whether the same ranks stand on the same nodes, and it is known which cores they may use.
bool have_known_cores(const plan::Topology& before, const plan::Topology& after) {
    const auto is_known = [](const plan::RankPlace& place) { return !place.affinity.empty(); };
    return std::ranges::equal(before.ranks, after.ranks, {}, &plan::RankPlace::node, &plan::RankPlace::node) &&
           std::ranges::all_of(before.ranks, is_known) && std::ranges::all_of(after.ranks, is_known);
}

/// "1 core a rank", "1 core shared by 2 ranks".
std::string cores_text(const plan::Topology& topology) {
    std::vector<int> ranks(topology.ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    return plan::binding_of(topology, ranks);
}

std::string limit_text(double processors) { return processors > 0 ? fmt::format("{:.4g}", processors) : ""; }

void add_topology(std::vector<Difference>& all, const plan::Topology& before, const plan::Topology& after) {
    using Place = const plan::RankPlace&;
    add(all, "ranks", std::to_string(before.num_ranks()), std::to_string(after.num_ranks()));
    const auto places = [&](const char* what, bool decisive, const PlaceText& text) {
        add_places(all, what, before, after, decisive, text);
    };
    if (have_known_cores(before, after)) add(all, "cores", cores_text(before), cores_text(after));
    places("node", true, [](Place p) { return std::to_string(p.node); });
    places("device", true, [](Place p) { return std::string(name_of(p.device.kind)); });
    places("device_name", true, [](Place p) { return p.device_name; });
    places("num_cores", true, [](Place p) { return std::to_string(p.num_cores); });
    places("processor_limit", true, [](Place p) { return limit_text(p.processor_limit); });
    places("threads", true, [](Place p) { return std::to_string(p.threads); });
    places("host", false, [](Place p) { return p.host; });
    places("device_uuid", false, [](Place p) { return p.device_uuid; });
    places("pci_bus_id", false, [](Place p) { return p.pci_bus_id; });
    places("affinity", false, [](Place p) { return p.affinity; });
}

/// Returns a visitor that collects the fields it is given.
auto into(SettingTexts& texts) {
    return [&texts](const config::FieldName& field, const auto& value) {
        texts.emplace_back(field.key, config::format_setting(value));
    };
}

std::array<std::string*, 6> files_in(config::PointSettings& settings) {
    return {&settings.image.path,   &settings.image.clean, &settings.weights,
            &settings.network.file, &settings.engine.file, &settings.timed.results};
}

/// The point as it comes back from a file of results, which has other bytes where a name is not UTF-8.
plan::Point as_recorded(plan::Point point) {
    for (std::string* file : files_in(point.settings)) *file = recorded_text(*file);
    point.settings.worker.options = recorded_text(point.settings.worker.options);
    return point;
}

plan::Point with_file_names(plan::Point point) {
    for (std::string* file : files_in(point.settings)) *file = std::filesystem::path(*file).filename().string();
    return point;
}

std::string key_by_names(const plan::Point& point) { return plan::key_of(with_file_names(point)); }

}  // namespace

std::string Difference::text() const {
    const auto shown = [](const std::string& value) { return value.empty() ? std::string("none") : value; };
    return what + ": " + shown(before) + " -> " + shown(after);
}

std::vector<Difference> environment_differences(const record::Environment& before, const record::Environment& after) {
    std::vector<Difference> all;
    add(all, "version", before.version, after.version);
    add(all, "git_sha", before.git_sha, after.git_sha);
    add(all, "git_dirty", before.git_dirty ? "modified" : "clean", after.git_dirty ? "modified" : "clean");
    add(all, "compiler", before.compiler, after.compiler);
    add(all, "build_type", before.build_type, after.build_type);
    using Library = record::Environment::Library;
    add_named(all, "library (header)", libraries(before, &Library::header), libraries(after, &Library::header));
    add_named(all, "library (loaded)", libraries(before, &Library::loaded), libraries(after, &Library::loaded));
    add_named(all, "variable", {before.variables.begin(), before.variables.end()},
              {after.variables.begin(), after.variables.end()});
    add(all, "host_processor", before.host_processor, after.host_processor);
    add_topology(all, before.topology, after.topology);
    return all;
}

std::vector<Difference> decisive_differences(const record::Environment& before, const record::Environment& after) {
    auto all = environment_differences(before, after);
    std::erase_if(all, [](const Difference& difference) { return !difference.decisive; });
    return all;
}

SettingTexts work_texts(const plan::Point& point) {
    config::PointSettings settings = point.settings;
    settings.ranks.count = point.num_ranks;
    SettingTexts texts;
    config::work_fields(std::as_const(settings), into(texts));
    return texts;
}

SettingTexts protocol_texts(const plan::Point& point) {
    SettingTexts texts;
    config::protocol_fields(point.settings.protocol, into(texts));
    return texts;
}

std::vector<Difference> differences(const SettingTexts& here, const SettingTexts& there) {
    std::vector<Difference> all;
    for (size_t i = 0; i < here.size(); ++i) add(all, here[i].first, here[i].second, there[i].second);
    return all;
}

void PointIdentities::add(const std::vector<const plan::Point*>& points) {
    std::map<std::string, std::string> by_paths;
    for (const plan::Point* point : points) {
        const plan::Point recorded = as_recorded(*point);
        const std::string name = key_by_names(recorded), key = plan::key_of(recorded);
        const auto [first, is_new] = by_paths.try_emplace(name, key);
        if (!is_new && first->second != key) ambiguous_.insert(name);
    }
}

void PointIdentities::add(const plan::Plan& plan) {
    add(mapped(plan.points, [](const plan::Point& point) { return &point; }));
}

void PointIdentities::add(const ResultsFile& file) {
    for (int64_t session = 0; session < std::ssize(file.sessions); ++session) add(file.planned_points(session));
}

std::string PointIdentities::of(const plan::Point& point) const {
    const plan::Point recorded = as_recorded(point);
    std::string name = key_by_names(recorded);
    return ambiguous_.contains(name) ? plan::key_of(recorded) : name;
}

std::vector<Difference> work_differences(const plan::Point& here, const plan::Point& there) {
    const plan::Point one = as_recorded(here), other = as_recorded(there);
    auto by_names = differences(work_texts(with_file_names(one)), work_texts(with_file_names(other)));
    return by_names.empty() ? differences(work_texts(one), work_texts(other)) : by_names;
}

}  // namespace pb::report
