#include "report/html/page.hpp"

#include "base/atomic_file.hpp"
#include "config/settings_access.hpp"
#include "report/export/exports.hpp"
#include "report/metrics.hpp"
#include "report/results/json_values.hpp"
#include "report/results/results_file.hpp"
#include "report/results_figures.hpp"

#include "patchbench/base/error.hpp"

#include <openssl/evp.h>

#include <fstream>
#include <iterator>

// The page without its data. page.cmake makes it.
extern "C" {
extern const char pb_report_page_begin[];  // NOLINT(modernize-avoid-c-arrays,readability-identifier-naming)
extern const char pb_report_page_end[];    // NOLINT(modernize-avoid-c-arrays,readability-identifier-naming)
}

namespace pb::report {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDataMark = "@data@";

std::string_view page() { return {pb_report_page_begin, pb_report_page_end}; }

std::string content_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw UsageError("cannot read " + file.string());
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Makes a JSON text safe inside a <script> element. '<' occurs only inside JSON strings, where it may be escaped.
std::string in_script(const std::string& json) {
    std::string text;
    text.reserve(json.size());
    for (const char c : json) c == '<' ? text += "\\u003c" : text += c;
    return text;
}

record::Json metrics_json() {
    return record::array_of(metrics(), [](const Metric& metric) {
        return record::Json{{"key", metric.key},
                            {"unit", metric.unit},
                            {"meaning", metric.meaning},
                            {"over_ranks", metric.over_ranks},
                            {"over_reps", metric.over_reps},
                            {"better", name_of(metric.better)},
                            {"headline", metric.is_headline()}};
    });
}

record::Json settings_table() {
    record::Json all = record::Json::array();
    for (const auto& setting : config::all_settings())
        if (setting.group != config::SettingGroup::study)
            all.push_back(record::Json{{"key", setting.key},
                                       {"unit", setting.unit},
                                       {"meaning", setting.meaning},
                                       {"protocol", setting.group == config::SettingGroup::protocol}});
    return all;
}

/// Accepts only a PNG below the folder of the results. The results file is untrusted, so it must not name other files.
bool may_be_shown(const fs::path& name) {
    if (name.empty() || name.is_absolute() || name.extension() != ".png") return false;
    return std::ranges::none_of(name, [](const fs::path& part) { return part == ".."; });
}

constexpr std::string_view kPngStart = "\x89PNG\r\n\x1a\n";

void add_image(const std::string& file, const fs::path& folder, const std::string& id, record::Json& images) {
    const fs::path name = file;
    std::error_code missing;
    if (!may_be_shown(name) || !fs::is_regular_file(folder / name, missing)) return;
    const std::string bytes = content_of(folder / name);
    if (bytes.starts_with(kPngStart)) images[id + "/" + name.string()] = "data:image/png;base64," + base64_of(bytes);
}

void add_images(const ResultsFile& results, const std::string& id, record::Json& images) {
    const fs::path folder = fs::absolute(results.file).parent_path();
    for (const auto& point : results.points) {
        if (!point.trace.preview) continue;
        const record::Preview& preview = *point.trace.preview;
        for (const auto* file : {&preview.noisy_file, &preview.denoised_file, &preview.clean_file})
            add_image(*file, folder, id, images);
    }
}

/// `summary` holds the figures that follow from several points. The page draws them and does not compute them.
std::string file_json(const ResultsFile& results, const record::Json& summary, const std::string& id,
                      const std::string& name) {
    std::string text = R"({"id":)" + line_of(record::Json(id)) + R"(,"name":)" + line_of(record::Json(name)) +
                       R"(,"summary":)" + line_of(summary) + R"(,"lines":[)";
    const char* separator = "\n";
    for (const std::string_view line : results.lines()) {
        text.append(separator).append(line);
        separator = ",\n";
    }
    return text + "]}";
}

}  // namespace

std::string html_text(const std::vector<fs::path>& results) {
    std::string files;
    record::Json images = record::Json::object();
    const auto names = source_names(results);
    for (const auto& file : results) {
        const std::string id = std::to_string(&file - results.data());
        const ResultsFile recorded = load_results(file);
        add_images(recorded, id, images);
        const record::Json summary = json_of(summarise_recorded(recorded));
        files += (files.empty() ? "" : ",\n") +
                 file_json(recorded, summary, id, names[static_cast<size_t>(&file - results.data())]);
    }
    const std::string data = R"({"files":[)" + files + R"(],"metrics":)" + line_of(metrics_json()) + R"(,"settings":)" +
                             line_of(settings_table()) + R"(,"images":)" + line_of(images) + "}";
    const size_t mark = page().find(kDataMark);
    require(mark != std::string_view::npos, "the report's page has no place for its data");
    std::string text(page().substr(0, mark));
    text += in_script(data);
    return text += page().substr(mark + kDataMark.size());
}

std::string base64_of(std::string_view bytes) {
    std::string text((bytes.size() + 2) / 3 * 4, '\0');  // libcrypto writes the zero behind it, too
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                    static_cast<int>(bytes.size()));
    return text;
}

void write_html(const std::vector<fs::path>& results, const fs::path& file) { write_whole(file, html_text(results)); }

}  // namespace pb::report
