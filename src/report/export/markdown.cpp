// Writes results as Markdown, to paste into an issue.
#include "base/mapped.hpp"
#include "base/text.hpp"
#include "measure/verdict.hpp"
#include "report/export/exports.hpp"
#include "report/results_figures.hpp"
#include "report/tables/tables.hpp"

#include <fmt/format.h>

#include <map>

namespace pb::report {

namespace {

std::vector<measure::Summary> summaries_of(const std::vector<NamedPoint>& points) {
    return mapped(points, &NamedPoint::summary);
}

/// Lists the loaded libraries: "torch 2.11.0, cudnn 9.19.0". A long text is cut at its first comma.
std::string libraries_text(const record::Environment& environment) {
    std::vector<std::string> all;
    for (const auto& [name, header, loaded] : environment.libraries) {
        const std::string version = loaded.empty() ? header : loaded;
        if (!version.empty()) all.push_back(name + " " + version.substr(0, version.find(',')));
    }
    return fmt::format("{}", fmt::join(all, ", "));
}

std::string software_line(const record::Environment& environment) {
    return fmt::format("patchbench {} (git {}{}), {}, {}; {}; {}", environment.version, environment.git_sha,
                       environment.git_dirty ? ", modified" : "", environment.compiler, environment.build_type,
                       libraries_text(environment), environment.started_at);
}

std::string hardware_line(const record::Environment& environment) {
    std::map<std::string, size_t> devices;
    std::map<std::string, size_t> hosts;
    for (const auto& place : environment.topology.ranks) {
        const std::string kind(name_of(place.device.kind));
        ++devices[place.device_name.empty() ? kind : kind + " " + place.device_name];
        ++hosts[place.host];
    }
    const auto texts =
        mapped(devices, [](const auto& item) { return fmt::format("{} x {}", item.second, item.first); });
    return fmt::format("{} on {}: {}", counted(environment.topology.ranks.size(), "rank"),
                       counted(hosts.size(), "host"), fmt::join(texts, ", "));
}

std::string result_line(const ResultsFile& file, const std::vector<measure::Summary>& summaries) {
    if (file.end) return verdict_line(file.end->verdict);
    return fmt::format("RESULT: UNFINISHED  the run was cut short; so far {}: {}", counted(summaries.size(), "point"),
                       name_of(measure::judge(summaries, false).validity));
}

std::string notes_text(std::vector<std::string> notes, const ResultsFile& file) {
    for (const auto& remark : file.remarks()) notes.push_back(remark);
    for (size_t i = 1; i < file.sessions.size(); ++i)
        notes.push_back("resumed at " + file.sessions[i].environment.started_at);
    std::string text;
    for (const auto& note : notes) text += (text.empty() ? "\n- " : "- ") + escaped_markdown(note) + "\n";
    return text;
}

std::string file_text(const ResultsFile& file, const std::string& source) {
    const auto points = named_points(file);
    const auto summaries = summaries_of(points);
    std::string text = source.empty() ? "" : fmt::format("### {}\n\n", escaped_markdown(source));
    text += fmt::format("{}\n\n- {}\n- {}\n\n", escaped_markdown(result_line(file, summaries)),
                        escaped_markdown(software_line(file.environment())),
                        escaped_markdown(hardware_line(file.environment())));
    if (summaries.empty()) return text + "no points\n" + notes_text({}, file);
    const auto recommendations = summarise_recorded(file).recommendations;
    auto [shared, columns, remarks, limits] = make_points_table(summaries, recommendations);
    for (const auto& recommendation : recommendations)
        remarks.push_back(fmt::format("{}: {}{}", recommendation.label,
                                      recommendation.point ? recommendation.point_label + ", " : "",
                                      recommendation.reason));
    for (const auto& [limited, counted, evidence, advice] : limits)
        remarks.push_back(fmt::format("{} ({}); {}", limited, evidence, advice));
    if (!shared.empty()) text += escaped_markdown(shared) + "\n\n";
    return text + table_of(columns).markdown() + notes_text(remarks, file);
}

}  // namespace

std::string markdown_text(std::span<const ResultsFile> files) {
    const auto sources = source_names(files);
    std::string text;
    for (size_t i = 0; i < files.size(); ++i)
        text += (i == 0 ? "" : "\n") + file_text(files[i], files.size() > 1 ? sources[i] : "");
    return text;
}

}  // namespace pb::report
