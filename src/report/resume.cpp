#include "report/resume.hpp"

#include "base/mapped.hpp"
#include "report/differences.hpp"
#include "report/results/json_values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::report {

namespace {

/// True for ok, oom and index_limit: measuring again would give the same result. Points with failed, interrupted or
/// skipped run again, and those whose output was wrong.
bool is_finished(const measure::Summary& point) {
    return point.verification != record::Verification::Outcome::failed &&
           (point.status == record::PointStatus::ok || point.status == record::PointStatus::oom ||
            point.status == record::PointStatus::index_limit);
}

class Matching {
  public:
    Matching(const ResultsFile& former, const plan::Plan& plan) : former_(former), plan_(plan) {
        resumption_.finished.assign(plan.points.size(), false);
        identities_.add(plan);
        identities_.add(former);
        keys_ = mapped(plan.points, [this](const plan::Point& point) { return identities_.of(point); });
    }

    Resumption run() {
        resumption_.lines.push_back(former_.sessions.front().json);
        note_study_changes();
        for (const auto& point : former_.points)
            if (is_finished(point.summary)) keep(point);
        if (!repeated_.empty())
            throw UsageError(former_.file.string() + " holds the finished point " + repeated_ +
                             " more often than this study has it: take the line that repeats it out, or choose another "
                             "folder with --out");
        if (unknown_ > 0)
            throw UsageError(fmt::format(
                "{} holds {} finished points that this study does not have ({}{}, ...); --resume goes on "
                "with the same study: choose another folder with --out",
                former_.file.string(), unknown_, first_unknown_->summary.label, nearest_to(*first_unknown_)));
        return std::move(resumption_);
    }

  private:
    /// Returns the plan's point for a recorded one: the point of the same index, otherwise the first free one that
    /// measures the same.
    [[nodiscard]] std::optional<size_t> find(const RecordedPoint& recorded) const {
        const std::string key = identities_.of(recorded.trace.point);
        const auto is_free = [&](size_t i) { return keys_[i] == key && !resumption_.finished[i]; };
        const auto same = static_cast<size_t>(recorded.summary.index);
        if (same < keys_.size() && is_free(same)) return same;
        for (size_t i = 0; i < keys_.size(); ++i)
            if (is_free(i)) return i;
        return std::nullopt;
    }

    void keep(const RecordedPoint& recorded) {
        const auto index = find(recorded);
        if (!index) return note_unplaced(recorded);
        resumption_.finished[*index] = true;
        if (recorded.session != session_) {
            session_ = recorded.session;
            resumption_.lines.push_back(former_.sessions[static_cast<size_t>(session_)].json);
        }
        const plan::Point& planned = plan_.points[*index];
        resumption_.lines.push_back(line_at(recorded, planned.index));
        resumption_.kept.push_back({&recorded, &planned});
        note_changes(recorded, planned);
    }

    void note_unplaced(const RecordedPoint& recorded) {
        const bool is_known = std::ranges::find(keys_, identities_.of(recorded.trace.point)) != keys_.end();
        if (is_known)
            repeated_ = recorded.summary.label;
        else if (unknown_++ == 0)
            first_unknown_ = &recorded;
    }

    /// Says in what the point of the study that is most like a recorded one differs from it.
    [[nodiscard]] std::string nearest_to(const RecordedPoint& recorded) const {
        std::optional<std::vector<Difference>> fewest;
        for (size_t i = 0; i < keys_.size(); ++i) {
            if (resumption_.finished[i]) continue;
            auto all = work_differences(recorded.trace.point, plan_.points[i]);
            if (!fewest || all.size() < fewest->size()) fewest = std::move(all);
        }
        if (!fewest) return "";
        std::string text;  // empty where another device or another image makes the difference
        for (const auto& [key, before, now, decisive] : *fewest)
            text += fmt::format("{}{} = {}, now {}", text.empty() ? ": " : "; ", key, before, now);
        return text;
    }

    /// Returns the recorded line. If the study has grown since, the line gets the point's new index.
    static std::string line_at(const RecordedPoint& recorded, int64_t index) {
        if (recorded.summary.index == index) return recorded.json;
        record::Json line = record::Json::parse(recorded.json);
        line["index"] = index;
        return line_of(line);
    }

    /// Notes the settings of the study on which figures depend. Others have no effect on points that are finished.
    void note_study_changes() {
        const record::Json before = record::Json::parse(former_.sessions.front().json).value("config", record::Json{});
        const record::Json now = settings_json(plan_.study);
        for (const std::string key : {"devices.sharing", "metrics.reduction", "exchange"}) {
            const record::Json was = setting_in(before, key), is = setting_in(now, key);
            if (!was.is_null() && was != is)
                resumption_.changes.push_back(fmt::format("{}: {} -> {}", key, was.dump(), is.dump()));
        }
    }

    void note_changes(const RecordedPoint& recorded, const plan::Point& planned) {
        const auto texts_of = [](const plan::Point& point) {
            SettingTexts texts = protocol_texts(point);
            texts.insert(texts.begin(), {"card of the network", point.settings.network.card_text()});
            return texts;
        };
        for (const auto& [key, before, now, decisive] : differences(texts_of(recorded.trace.point), texts_of(planned)))
            resumption_.changes.push_back(fmt::format("{} of {}: {} -> {}", key, recorded.summary.label, before, now));
    }

    const ResultsFile& former_;
    const plan::Plan& plan_;
    PointIdentities identities_;
    std::vector<std::string> keys_;  // of the plan's points
    Resumption resumption_;
    int64_t session_ = 0;
    int64_t unknown_ = 0;
    const RecordedPoint* first_unknown_ = nullptr;
    std::string repeated_;
};

}  // namespace

Resumption make_resumption(const ResultsFile& former, const plan::Plan& plan) { return Matching(former, plan).run(); }

}  // namespace pb::report
