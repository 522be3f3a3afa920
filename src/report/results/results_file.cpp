#include "report/results/results_file.hpp"

#include "base/mapped.hpp"
#include "base/text.hpp"
#include "base/user_paths.hpp"
#include "report/results/json_values.hpp"
#include "report/results/jsonl_writer.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <system_error>

namespace pb::report {

LineReader::LineReader(const std::filesystem::path& file) : file_(file) {
    require_regular_file(file);
    errno = 0;
    stream_.open(file, std::ios::binary);
    if (!stream_) require_descriptors(file);
    if (!stream_) throw UsageError("cannot read " + file.string() + ": " + reason_of(errno != 0 ? errno : EIO));
}

bool LineReader::fill() {
    constexpr size_t kChunk = size_t{1} << 16;
    chunk_.resize(kChunk);
    stream_.read(chunk_.data(), kChunk);
    chunk_.resize(static_cast<size_t>(stream_.gcount()));
    position_ = 0;
    if (stream_.bad()) throw UsageError("cannot read " + file_.string() + ": " + reason_of(errno));
    return !chunk_.empty();
}

std::optional<LineReader::Line> LineReader::next() {
    Line line;
    line.number = ++number_;
    while (position_ < chunk_.size() || fill()) {
        const size_t end = chunk_.find('\n', position_);
        line.text.append(chunk_, position_, end == std::string::npos ? end : end - position_);
        if (line.text.size() > kMaxLineBytes)
            throw UsageError(fmt::format("{}:{}: a line above 256 MiB; this is no results.jsonl of patchbench",
                                         file_.string(), number_));
        position_ = end == std::string::npos ? chunk_.size() : end + 1;
        if (end != std::string::npos) return line;
    }
    line.ended = false;
    return line.text.empty() ? std::nullopt : std::optional(line);
}

namespace {

constexpr int kMaxDepth = 64;

/// Finds deep nesting before parsing, because a parser or a destructor could overflow the stack.
bool nests_too_deep(std::string_view text) {
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > kMaxDepth) return true;
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return false;
}

class Reader {
  public:
    explicit Reader(const std::filesystem::path& file) { results_.file = file; }

    ResultsFile read() {
        LineReader lines(results_.file);
        while (const auto line = lines.next()) {
            place_ = fmt::format("{}:{}", results_.file.string(), line->number);
            if (line->text.find_first_not_of(" \t\r") != std::string::npos) take(*line);
        }
        if (results_.sessions.empty())
            throw UsageError(results_.file.string() +
                             ": holds no complete line; it was made by a run that was stopped at once, or is no "
                             "results.jsonl of patchbench");
        return std::move(results_);
    }

  private:
    void take(const LineReader::Line& line) {
        const record::Json json = nests_too_deep(line.text) ? record::Json(record::Json::value_t::discarded)
                                                            : record::Json::parse(line.text, nullptr, false);
        if (json.is_discarded() && !line.ended) {
            results_.torn = line.text;
            return;
        }
        if (json.is_discarded() && results_.sessions.empty())
            throw UsageError(place_ + ": not a JSON object; expected is the results.jsonl of a run");
        if (json.is_discarded())
            throw UsageError(place_ +
                             ": not JSON, or nested too deep; the file was damaged after it was written: take the "
                             "line out, or measure again");
        add(record::JsonField(json, place_), line);
    }

    void add(const record::JsonField& field, const LineReader::Line& line) {
        const std::string type = field["type"].text();
        if (results_.end) field.fail("nothing may follow the end of a study");
        if (results_.sessions.empty() != (type == "study"))
            field.fail(results_.sessions.empty() ? "the first line must be the study" : "only one line may be a study");
        if (type == "study")
            add_study(field, line.text);
        else if (type == "resume")
            results_.sessions.push_back({environment_from(field["environment"]), line.text});
        else if (type == "point")
            add_point(field, line);
        else if (type == "study_summary")
            results_.study_summary = line.text;
        else if (type == "end")
            results_.end = RecordedEnd{verdict_from(field), line.text};
        else
            field["type"].fail("study, resume, point, study_summary or end is expected here");
    }

    void add_study(const record::JsonField& field, const std::string& text) {
        const std::string version = field["schema_version"].text();
        const std::string known = kResultsSchemaVersion;
        if (version.substr(0, version.find('.')) != known.substr(0, known.find('.')))
            throw UsageError(
                fmt::format("{}: schema {}; this patchbench reads {}: read it with the patchbench that "
                            "wrote it",
                            place_, version.substr(0, 20), known));
        if (const auto name = field["config"].find("name")) results_.name = name->text();
        results_.sessions.push_back({environment_from(field["environment"]), text});
    }

    void add_point(const record::JsonField& field, const LineReader::Line& line) {
        RecordedPoint point = point_from(field);
        const auto [first, is_new] = lines_.try_emplace(point.summary.index, line.number);
        if (!is_new) field["index"].fail(fmt::format("line {} holds this point, too", first->second));
        point.session = static_cast<int64_t>(results_.sessions.size()) - 1;
        point.line = line.number;
        point.json = line.text;
        const auto& places = results_.sessions.back().environment.topology.ranks;
        for (auto& rank : point.trace.ranks)
            if (static_cast<size_t>(rank.rank) < places.size()) rank.host = places[static_cast<size_t>(rank.rank)].host;
        results_.points.push_back(std::move(point));
    }

    ResultsFile results_;
    std::string place_;
    std::map<int64_t, int64_t> lines_;  // of the points, by their indices
};

/// The results.jsonl in a study's folder; any other name is returned unchanged.
std::filesystem::path results_in(const std::filesystem::path& name) {
    std::error_code ignored;
    return std::filesystem::is_directory(name, ignored) ? name / kResultsName : name;
}

constexpr std::string_view kLaunchPrefix = "launch-";

}  // namespace

ResultsFile load_results(const std::filesystem::path& file) { return Reader(file).read(); }

std::filesystem::path launch_folder(const std::filesystem::path& folder, int64_t launch) {
    return folder / fmt::format("{}{}", kLaunchPrefix, launch);
}

int64_t launch_number(const std::filesystem::path& launch) {
    const std::string name = launch.filename().string();
    int64_t number = 0;
    const bool is_launch = name.starts_with(kLaunchPrefix) && read_number(name.substr(kLaunchPrefix.size()), number) &&
                           launch == launch_folder(launch.parent_path(), number);
    return is_launch ? std::max<int64_t>(number, 0) : 0;
}

std::vector<std::filesystem::path> launch_folders_in(const std::filesystem::path& folder) {
    std::error_code ignored;
    std::vector<std::filesystem::path> launches;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
        if (entry.is_directory(ignored) && launch_number(entry.path()) > 0) launches.push_back(entry.path());
    std::ranges::sort(launches, {}, launch_number);
    return launches;
}

std::vector<std::filesystem::path> launches_in(const std::filesystem::path& name) {
    std::error_code ignored;
    std::vector<std::filesystem::path> launches = launch_folders_in(name);
    for (auto& launch : launches) launch /= kResultsName;
    if (launches.empty()) return {results_in(name)};
    if (std::filesystem::exists(results_in(name), ignored))
        throw UsageError(name.string() +
                         ": holds launches and a results.jsonl beside them; name the one that is meant");
    return launches;
}

const plan::Topology& ResultsFile::topology_of(const RecordedPoint& point) const {
    return sessions.at(static_cast<size_t>(point.session)).environment.topology;
}

std::vector<const RecordedPoint*> ResultsFile::in_order() const {
    auto all = mapped(points, [](const RecordedPoint& point) { return &point; });
    std::ranges::stable_sort(all, {}, [](const RecordedPoint* point) { return point->summary.index; });
    return all;
}

std::vector<const plan::Point*> ResultsFile::planned_points(int64_t session) const {
    std::vector<const plan::Point*> all;
    for (const auto& point : points)
        if (point.session == session) all.push_back(&point.trace.point);
    return all;
}

measure::StudyPoints ResultsFile::study_points() const {
    return mapped(in_order(), [](const auto* point) { return measure::StudyPoint{&point->trace, &point->summary}; });
}

std::vector<measure::Summary> ResultsFile::summaries() const { return mapped(points, &RecordedPoint::summary); }

std::vector<std::string_view> ResultsFile::lines() const {
    std::vector<std::string_view> all;
    auto point = points.begin();
    for (int64_t session = 0; session < std::ssize(sessions); ++session) {
        all.emplace_back(sessions[static_cast<size_t>(session)].json);
        for (; point != points.end() && point->session == session; ++point) all.emplace_back(point->json);
    }
    if (!study_summary.empty()) all.emplace_back(study_summary);
    if (end) all.emplace_back(end->json);
    return all;
}

std::string ResultsFile::torn_remark() const {
    return file.string() + ": the last line was cut short (the run was killed while it wrote); it is left out";
}

std::vector<std::string> ResultsFile::remarks() const {
    std::vector<std::string> all;
    if (!torn.empty()) all.push_back(torn_remark());
    if (!end)
        all.push_back(name +
                      ": has no end line: the run was cut short or still goes on; `patchbench run --resume` "
                      "measures the rest");
    return all;
}

}  // namespace pb::report
