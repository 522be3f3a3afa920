#include "report/html.hpp"

#include "base/atomic_file.hpp"
#include "base/user_paths.hpp"
#include "report/base64.hpp"
#include "report/json_values.hpp"
#include "report/metrics.hpp"
#include "report/named_points.hpp"
#include "report/summarise_results.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>

// The page with all but its data: made by page.cmake.
extern "C" {
extern const char pb_report_page_begin[];  // NOLINT(modernize-avoid-c-arrays,readability-identifier-naming)
extern const char pb_report_page_end[];    // NOLINT(modernize-avoid-c-arrays,readability-identifier-naming)
}

namespace pb {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDataMark = "@data@";

std::string_view page() { return {pb_report_page_begin, pb_report_page_end}; }

std::string content_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw UsageError("cannot read " + file.string());
    return {std::istreambuf_iterator<char>(in), {}};
}

struct Lines {
    std::vector<std::string> raw;
    std::vector<Json> values;
};

Lines read_lines(const fs::path& file) {
    require_regular_file(file);
    std::ifstream in(file, std::ios::binary);
    if (!in) throw UsageError("cannot read " + file.string());
    Lines lines;
    for (std::string line; std::getline(in, line) && !in.eof();) {
        lines.values.push_back(Json::parse(line, nullptr, false));
        if (!lines.values.back().is_object())
            throw UsageError(fmt::format("{}:{}: not a JSON object; expected is the results.jsonl of a run",
                                         file.string(), lines.values.size()));
        lines.raw.push_back(std::move(line));
    }
    if (lines.raw.empty()) throw UsageError(file.string() + ": holds no results");
    return lines;
}

/// A JSON text as it may stand in a <script> element: '<' only occurs inside strings, where it may be escaped.
std::string in_script(const std::string& json) {
    std::string text;
    text.reserve(json.size());
    for (const char c : json) c == '<' ? text += "\\u003c" : text += c;
    return text;
}

std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json metrics_json() {
    Json all = Json::array();
    for (const auto& metric : metrics())
        all.push_back(Json{{"key", metric.key},
                           {"unit", metric.unit},
                           {"meaning", metric.meaning},
                           {"over_ranks", metric.over_ranks},
                           {"over_reps", metric.over_reps},
                           {"better", name_of(metric.better)},
                           {"headline", metric.is_headline()}});
    return all;
}

Json settings_table() {
    Json all = Json::array();
    const auto add = [&](bool protocol) {
        return [&all, protocol](const FieldName& field, const auto&) {
            all.push_back(
                Json{{"key", field.key}, {"unit", field.unit}, {"meaning", field.meaning}, {"protocol", protocol}});
        };
    };
    PointSettings settings;
    work_fields(settings, add(false));
    protocol_fields(settings.protocol, add(true));
    return all;
}

/// A picture that a result names may only be a PNG below the folder of the results: the file is somebody else's.
bool may_be_shown(const fs::path& name) {
    if (name.empty() || name.is_absolute() || name.extension() != ".png") return false;
    return std::none_of(name.begin(), name.end(), [](const fs::path& part) { return part == ".."; });
}

constexpr std::string_view kPngStart = "\x89PNG\r\n\x1a\n";

void add_images(const Lines& lines, const fs::path& folder, const std::string& id, Json& images) {
    for (const auto& line : lines.values) {
        if (!line.contains("preview") || !line["preview"].is_object()) continue;
        for (const auto& entry : line["preview"]) {
            if (!entry.is_string()) continue;
            const fs::path name = entry.get<std::string>();
            std::error_code missing;
            if (!may_be_shown(name) || !fs::is_regular_file(folder / name, missing)) continue;
            const std::string bytes = content_of(folder / name);
            if (bytes.starts_with(kPngStart))
                images[id + "/" + name.string()] = "data:image/png;base64," + base64_of(bytes);
        }
    }
}

/// `summary`: what the points say together, which the page draws and does not compute.
std::string file_json(const Lines& lines, const Json& summary, const std::string& id, const std::string& name) {
    std::string text = R"({"id":)" + dump(Json(id)) + R"(,"name":)" + dump(Json(name)) + R"(,"summary":)" +
                       dump(summary) + R"(,"lines":[)";
    for (size_t i = 0; i < lines.raw.size(); ++i) text += (i == 0 ? "\n" : ",\n") + lines.raw[i];
    return text + "]}";
}

}  // namespace

std::string html_text(const std::vector<fs::path>& results) {
    std::string files;
    Json images = Json::object();
    const auto names = source_names(results);
    for (const auto& file : results) {
        const std::string id = std::to_string(&file - results.data());
        const Lines lines = read_lines(file);
        add_images(lines, fs::absolute(file).parent_path(), id, images);
        const Json summary = json_of(summarise_recorded(load_results(file)));
        files += (files.empty() ? "" : ",\n") +
                 file_json(lines, summary, id, names[static_cast<size_t>(&file - results.data())]);
    }
    const std::string data = R"({"files":[)" + files + R"(],"metrics":)" + dump(metrics_json()) + R"(,"settings":)" +
                             dump(settings_table()) + R"(,"images":)" + dump(images) + "}";
    const size_t mark = page().find(kDataMark);
    require(mark != std::string_view::npos, "the report's page has no place for its data");
    std::string text(page().substr(0, mark));
    text += in_script(data);
    return text += page().substr(mark + kDataMark.size());
}

void write_html(const std::vector<fs::path>& results, const fs::path& file) { write_whole(file, html_text(results)); }

}  // namespace pb
