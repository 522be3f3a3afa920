#include "report/environment_differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>

namespace pb::report {

namespace {

/// These variables name a job or change what is printed. They do not change what is measured.
constexpr std::string_view kIncidentalVariables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "NCCL_DEBUG"};

class Differences {
  public:
    void add(const std::string& what, const std::string& before, const std::string& after, bool decisive = true) {
        if (before != after) all_.push_back({what, before, after, decisive});
    }

    /// Adds an entry for each name that differs between the two sides.
    void add_named(const std::string& kind, const std::map<std::string, std::string>& before,
                   const std::map<std::string, std::string>& after) {
        std::set<std::string> names;
        for (const auto* side : {&before, &after})
            for (const auto& entry : *side) names.insert(entry.first);
        for (const auto& name : names) {
            const auto value = [&](const auto& side) { return side.contains(name) ? side.at(name) : ""; };
            const bool incidental = std::find(std::begin(kIncidentalVariables), std::end(kIncidentalVariables), name) !=
                                    std::end(kIncidentalVariables);
            std::string what = kind;
            what += " " + name;
            add(what, value(before), value(after), !incidental);
        }
    }

    using PlaceText = std::function<std::string(const plan::RankPlace&)>;

    /// Adds one entry, for the first rank that differs; it stands for all ranks.
    void add_places(const char* what, const plan::Topology& before, const plan::Topology& after, bool decisive,
                    const PlaceText& text) {
        const size_t ranks = std::min(before.ranks.size(), after.ranks.size());
        size_t first = ranks, count = 0;
        for (size_t i = ranks; i-- > 0;) {
            if (text(before.ranks[i]) == text(after.ranks[i])) continue;
            first = i;
            ++count;
        }
        if (count == 0) return;
        const std::string others = count > 1 ? fmt::format(" and {} more", count - 1) : "";
        add(fmt::format("{} of rank {}{}", what, before.ranks[first].rank, others), text(before.ranks[first]),
            text(after.ranks[first]), decisive);
    }

    std::vector<EnvironmentDifference> take() { return std::move(all_); }

  private:
    std::vector<EnvironmentDifference> all_;
};

std::map<std::string, std::string> libraries(const record::Environment& environment,
                                             std::string record::Environment::Library::*part) {
    std::map<std::string, std::string> all;
    for (const auto& library : environment.libraries) all[library.name] = library.*part;
    return all;
}

void add_topology(const plan::Topology& before, const plan::Topology& after, Differences& all) {
    using Place = const plan::RankPlace&;
    all.add("ranks", std::to_string(before.num_ranks()), std::to_string(after.num_ranks()));
    const auto places = [&](const char* what, bool decisive, const Differences::PlaceText& text) {
        all.add_places(what, before, after, decisive, text);
    };
    places("node", true, [](Place p) { return std::to_string(p.node); });
    places("device", true, [](Place p) { return std::string(name_of(p.device.kind)); });
    places("device_name", true, [](Place p) { return p.device_name; });
    places("num_cores", true, [](Place p) { return std::to_string(p.num_cores); });
    places("threads", true, [](Place p) { return std::to_string(p.threads); });
    places("host", false, [](Place p) { return p.host; });
    places("device_uuid", false, [](Place p) { return p.device_uuid; });
    places("pci_bus_id", false, [](Place p) { return p.pci_bus_id; });
    places("affinity", false, [](Place p) { return p.affinity; });
}

}  // namespace

std::string EnvironmentDifference::text() const {
    const auto shown = [](const std::string& value) { return value.empty() ? std::string("none") : value; };
    return what + ": " + shown(before) + " -> " + shown(after);
}

std::vector<EnvironmentDifference> environment_differences(const record::Environment& before,
                                                           const record::Environment& after) {
    Differences all;
    all.add("version", before.version, after.version);
    all.add("git_sha", before.git_sha, after.git_sha);
    all.add("git_dirty", before.git_dirty ? "modified" : "clean", after.git_dirty ? "modified" : "clean");
    all.add("compiler", before.compiler, after.compiler);
    all.add("build_type", before.build_type, after.build_type);
    using Library = record::Environment::Library;
    all.add_named("library (header)", libraries(before, &Library::header), libraries(after, &Library::header));
    all.add_named("library (loaded)", libraries(before, &Library::loaded), libraries(after, &Library::loaded));
    all.add_named("variable", {before.variables.begin(), before.variables.end()},
                  {after.variables.begin(), after.variables.end()});
    all.add("host_processor", before.host_processor, after.host_processor);
    add_topology(before.topology, after.topology, all);
    return all.take();
}

std::vector<EnvironmentDifference> decisive_differences(const record::Environment& before,
                                                        const record::Environment& after) {
    auto all = environment_differences(before, after);
    std::erase_if(all, [](const EnvironmentDifference& difference) { return !difference.decisive; });
    return all;
}

}  // namespace pb::report
