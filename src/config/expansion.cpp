#include "base/text.hpp"
#include "config/study_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace pb::config {

namespace {

constexpr double kMaxPoints = 100'000;
constexpr size_t kMaxExclusions = 100;  // each is compared with every point

/// Settings that advance together: a single one, or the members of a zip.
using Axis = std::vector<const Assignment*>;

size_t size_of(const Axis& axis) { return axis.front()->values.size(); }

bool has_key(const Assignments& assignments, const std::string& key) {
    return std::ranges::any_of(assignments, [&](const auto& each) { return each.key == key; });
}

/// The point settings of a group: the defaults that it does not override, then its own.
Assignments merged(const Assignments& top, const Assignments& group) {
    Assignments all;
    for (const Assignment& assignment : top)
        if (is_point_key(assignment.key) && !has_key(group, assignment.key)) all.push_back(assignment);
    all.insert(all.end(), group.begin(), group.end());
    return all;
}

/// The axes, in the order of their first members.
std::vector<Axis> axes_of(const Assignments& assignments) {
    std::vector<Axis> axes;
    for (const Assignment& assignment : assignments) {
        const auto partner = std::ranges::find_if(
            axes, [&](const Axis& axis) { return assignment.zip != 0 && axis.front()->zip == assignment.zip; });
        if (partner == axes.end())
            axes.push_back({&assignment});
        else
            partner->push_back(&assignment);
    }
    return axes;
}

void check_size(const std::vector<Axis>& axes, size_t num_points) {
    double product = 1;
    std::string factors;
    for (const Axis& axis : axes) {
        if (size_of(axis) == 1) continue;
        product *= static_cast<double>(size_of(axis));
        add_item(factors, fmt::format("{} ({})", axis.front()->key, size_of(axis)), " x ");
    }
    if (static_cast<double>(num_points) + product <= kMaxPoints) return;
    const Place place = axes.empty() ? Place{} : axes.back().back()->place;
    throw UsageError(fmt::format("{}: the study expands to at least {:.6g} points, 100000 are allowed{}", place.text(),
                                 static_cast<double>(num_points) + product,
                                 factors.empty() ? "" : "; this group: " + factors));
}

/// An exclusion with its values in the form of text_by_key, so that `0` and `none` are the same halo.
class Rule {
  public:
    explicit Rule(const Exclusion& exclusion) : place_(exclusion.place.text()) {
        for (const Assignment& assignment : exclusion.keys) {
            auto& texts = keys_.emplace_back(assignment.key, std::set<std::string>{}).second;
            PointSettings scratch;
            for (const PlacedText& value : assignment.values) {
                set_at(scratch, assignment.key, value);
                texts.insert(text_by_key(scratch, assignment.key));
            }
        }
    }

    [[nodiscard]] bool matches(const PointSettings& point) const {
        return std::ranges::all_of(keys_,
                                   [&](const auto& key) { return key.second.contains(text_by_key(point, key.first)); });
    }

    [[nodiscard]] const std::string& place() const { return place_; }

  private:
    std::string place_;
    std::vector<std::pair<std::string, std::set<std::string>>> keys_;
};

void add_rules(const GroupText& group, std::vector<Rule>& rules) {
    if (!group.exclusions) return;
    for (const Exclusion& exclusion : *group.exclusions) {
        if (rules.size() == kMaxExclusions)
            throw UsageError(exclusion.place.text() + ": exclude: at most 100 for one group");
        rules.emplace_back(exclusion);
    }
}

class Expansion {
  public:
    explicit Expansion(const StudyText& study) : study_(study) {}

    void run(Config& config) {
        if (study_.groups.empty()) add_group({});
        for (const GroupText& group : study_.groups) add_group(group);
        if (points_.empty()) throw UsageError(exclusion_place_.text() + ": exclude: leaves no point of the study");
        config.points = std::move(points_);
        std::ranges::copy_if(exclusions_, std::back_inserter(config.unmatched_exclusions),
                             [&](const std::string& place) { return !matched_.contains(place); });
    }

  private:
    void add_group(const GroupText& group) {
        std::vector<Rule> rules;
        add_rules(study_.top, rules);
        add_rules(group, rules);
        for (const Rule& rule : rules)
            if (std::ranges::count(exclusions_, rule.place()) == 0) exclusions_.push_back(rule.place());
        for (const GroupText* text : {&study_.top, &group})
            if (text->exclusions && !text->exclusions->empty()) exclusion_place_ = text->exclusions->front().place;
        const Assignments assignments = merged(study_.top.settings, group.settings);
        const std::vector<Axis> axes = axes_of(assignments);
        check_size(axes, num_expanded_);
        add_product(axes, rules);
    }

    void add_product(const std::vector<Axis>& axes, const std::vector<Rule>& rules) {
        std::vector<size_t> chosen(axes.size(), 0);
        for (bool more = true; more;) {
            ++num_expanded_;
            PointSettings point;
            for (size_t i = 0; i < axes.size(); ++i)
                for (const Assignment* assignment : axes[i])
                    set_at(point, assignment->key, assignment->values[chosen[i]]);
            if (!is_excluded(point, rules)) points_.push_back(std::move(point));
            more = false;
            for (size_t axis = axes.size(); axis-- > 0 && !more;) {
                more = ++chosen[axis] < size_of(axes[axis]);
                if (!more) chosen[axis] = 0;
            }
        }
    }

    bool is_excluded(const PointSettings& point, const std::vector<Rule>& rules) {
        bool is_matched = false;
        for (const Rule& rule : rules) {
            if (!rule.matches(point)) continue;
            is_matched = true;
            matched_.insert(rule.place());
        }
        return is_matched;
    }

    const StudyText& study_;
    std::vector<PointSettings> points_;
    std::vector<std::string> exclusions_;  // their places, in order
    std::set<std::string> matched_;        // the places of those that match a point
    size_t num_expanded_ = 0;              // before exclusions, which limits the work as well
    Place exclusion_place_;
};

}  // namespace

void expand_points(const StudyText& study, Config& config) { Expansion(study).run(config); }

}  // namespace pb::config
