#include "base/text.hpp"
#include "doctor/launch_findings.hpp"
#include "report/tables/text_table.hpp"
#include "run/environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace pb::doctor {

namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

/// The part of a UUID that distinguishes devices: "GPU-8932f937".
std::string short_uuid(const std::string& uuid) { return or_dash(uuid.substr(0, uuid.find('-', 4))); }

report::TextTable rank_table(const std::vector<RankFacts>& ranks) {
    using enum report::TextTable::Align;
    report::TextTable table;
    table.add_column("rank");
    table.add_column("host", left);
    table.add_column("local");
    table.add_columns({"device", "name", "bus", "uuid"}, left);
    table.add_column("cores");
    table.add_columns({"memory node", "processors"}, left);
    for (const auto& rank : ranks) {
        const plan::RankPlace& place = rank.place;
        table.add_row({std::to_string(place.rank), place.host, std::to_string(place.local_rank),
                       place.device.is_cuda() ? fmt::format("cuda:{}", place.device.index) : "cpu",
                       place.device_name.substr(0, 22), or_dash(place.pci_bus_id), short_uuid(place.device_uuid),
                       std::to_string(rank.cores.size()), or_dash(fmt::format("{}", fmt::join(rank.memory_nodes, ","))),
                       place.affinity});
    }
    return table;
}

std::string library_lines(const std::vector<LoadedLibrary>& libraries) {
    std::string text;
    for (const auto& library : libraries)
        text += library.name == "patchbench" ? library.loaded + "\n" : "  " + run::library_line(library) + "\n";
    return text;
}

std::string cuda_awareness(std::optional<bool> cuda_aware) {
    if (!cuda_aware) return "MPI does not say whether it is CUDA-aware";
    return *cuda_aware ? "MPI is CUDA-aware" : "MPI is not CUDA-aware";
}

}  // namespace

std::string launch_text(const std::vector<RankFacts>& ranks, std::optional<bool> cuda_aware, size_t width) {
    const int nodes = topology_of(ranks).num_nodes();
    std::string text = library_lines(ranks.front().libraries);
    text += fmt::format("  {} on {}", counted(ranks.size(), "rank"), counted(nodes, "node"));
    if (std::ranges::any_of(ranks, [](const auto& rank) { return rank.place.device.is_cuda(); }))
        text += "; " + cuda_awareness(cuda_aware) + ": patchbench gives it host memory only";
    text += "\n";
    for (const auto& line : variable_lines(ranks)) text += "  " + line + "\n";
    return text + "\n" + rank_table(ranks).text(width);
}

std::string links_text(const plan::Topology& topology, const std::vector<LinkSpeed>& links) {
    std::string text = "\n";
    for (const bool between : {false, true}) {
        std::vector<const LinkSpeed*> chosen;
        for (const auto& link : links) {
            const auto node = [&](int rank) { return topology.place_of(rank).node; };
            if ((node(link.from) != node(link.to)) == between) chosen.push_back(&link);
        }
        if (chosen.empty()) continue;
        const auto [slowest, fastest] = std::ranges::minmax_element(chosen, {}, &LinkSpeed::bytes_per_s);
        text += fmt::format("messages {}: {:.2f} GB/s, {:.1f} us", between ? "between nodes" : "within a node",
                            (*slowest)->bytes_per_s * 1e-9, (*slowest)->latency_s * 1e6);
        if (chosen.size() > 1)
            text += fmt::format(" (slowest of {}: ranks {} and {}; fastest {:.2f} GB/s)", chosen.size(),
                                (*slowest)->from, (*slowest)->to, (*fastest)->bytes_per_s * 1e-9);
        text += "\n";
    }
    return text;
}

std::string tiny_text(const std::vector<double>& errors) {
    // NaN counts as the largest.
    const auto less = [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
    return fmt::format("a tiny network on each rank, against the fp64 reference: largest difference {:.2e}\n",
                       *std::ranges::max_element(errors, less));
}

std::string findings_text(const Findings& all) {
    std::string text = "\n";
    for (const auto& finding : all)
        text += fmt::format("{}: {}\n    fix: {}\n", finding.severity == Severity::wrong ? "WRONG" : "advice",
                            finding.what, finding.fix);
    const auto wrong = std::ranges::count(all, Severity::wrong, &Finding::severity);
    if (all.empty()) return text + "CHECK: OK\n";
    return text + fmt::format("CHECK: {}, {} wrong\n", counted(all.size(), "finding"), wrong);
}

}  // namespace pb::doctor
