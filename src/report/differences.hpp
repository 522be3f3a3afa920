// Finds what differs between the environments of two sessions or files, and between the settings of two points.
// `--resume` refuses to go on because of such differences, and `compare` warns of them. Pure.
#pragma once

#include "plan/plan.hpp"
#include "record/environment.hpp"
#include "report/results/results_file.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pb::report {

struct Difference {
    std::string what;  // a setting, "git_sha", "library torch (loaded)", "device_name of rank 3"
    std::string before, after;
    /// True when the difference can change the figures. False when only the place differs but is of the same kind (host
    /// names, device UUIDs, affinity masks, job numbers): a resumed job rarely gets the same nodes.
    bool decisive = true;

    [[nodiscard]] std::string text() const;  // "git_sha: 0123abcd -> 89abcdef"
};

/// Compares everything except the time and the command line. A difference that several ranks share is listed once.
[[nodiscard]] std::vector<Difference> environment_differences(const record::Environment& before,
                                                              const record::Environment& after);

/// Returns only the differences that are decisive.
[[nodiscard]] std::vector<Difference> decisive_differences(const record::Environment& before,
                                                           const record::Environment& after);

/// Keys and values; always the same keys in the same order.
using SettingTexts = std::vector<std::pair<std::string, std::string>>;

/// Returns the settings that decide what is measured, among them the number of ranks. Points that differ in them are
/// not compared.
[[nodiscard]] SettingTexts work_texts(const plan::Point& point);

/// Returns the settings that decide how it is measured.
[[nodiscard]] SettingTexts protocol_texts(const plan::Point& point);

/// Settings are always decisive.
[[nodiscard]] std::vector<Difference> differences(const SettingTexts& here, const SettingTexts& there);

// The same measurement in several results files, and in a plan.

/// Names what points measure. Equal measurements have equal names, also where their files (image, weights, network)
/// were moved to another folder: a file counts by its name. Only where one plan has two files of the same name do their
/// folders count as well. Bytes that are not UTF-8 count as what results have in their place.
class PointIdentities {
  public:
    /// Add all plans and results files before asking for a name. Each session of a file is a plan.
    void add(const plan::Plan& plan);
    void add(const ResultsFile& file);
    [[nodiscard]] std::string of(const plan::Point& point) const;

  private:
    void add(const std::vector<const plan::Point*>& points);

    std::set<std::string> ambiguous_;  // names that stand for several files of one plan
};

/// Returns the settings that make two points different measurements: files count by their names if that makes a
/// difference.
[[nodiscard]] std::vector<Difference> work_differences(const plan::Point& here, const plan::Point& there);

}  // namespace pb::report
