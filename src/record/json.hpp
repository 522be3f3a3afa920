// JSON of results: a figure that is absent, NaN or infinite is null. A value together with its place in results.jsonl,
// so that reading it as the wrong type throws an error that names the place.
#pragma once

#include "patchbench/base/enum_names.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pb::record {

/// Keeps the order in which keys are added, so that a line begins with the settings and ends with the results.
using Json = nlohmann::ordered_json;

[[nodiscard]] inline Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
[[nodiscard]] inline Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

template <class Values, class ToJson>
[[nodiscard]] Json array_of(const Values& values, ToJson to_json) {
    Json all = Json::array();
    for (const auto& value : values) all.push_back(to_json(value));
    return all;
}

/// Refers to a Json that must outlive it. All readers throw UsageError such as "results.jsonl:3: summary.reasons: ...".
class JsonField {
  public:
    JsonField(const Json& value, std::string line, std::string path = "")
        : value_(&value), line_(std::move(line)), path_(std::move(path)) {}

    [[nodiscard]] JsonField operator[](std::string_view key) const;           // the key must exist
    [[nodiscard]] std::optional<JsonField> find(std::string_view key) const;  // nothing when missing or null
    [[nodiscard]] std::vector<JsonField> items() const;                       // for an array
    [[nodiscard]] JsonField item(size_t index) const;  // for an array with more than `index` items
    [[nodiscard]] size_t size() const;                 // for an array
    [[nodiscard]] std::vector<std::pair<std::string, JsonField>> entries() const;  // for an object, in its order

    [[nodiscard]] const Json& json() const { return *value_; }
    [[nodiscard]] bool is_null() const { return value_->is_null(); }
    [[nodiscard]] std::string text() const;
    [[nodiscard]] double number() const;
    [[nodiscard]] int64_t integer() const;
    [[nodiscard]] int count() const;  // at least 0
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] std::vector<std::string> texts() const;
    [[nodiscard]] std::vector<double> numbers() const;  // null becomes NaN
    template <NamedEnum E>
    [[nodiscard]] E named() const {
        const std::string name = text();
        for (const auto& [enumerator, known] : enum_table<E>())
            if (known == name) return enumerator;
        fail("'" + name.substr(0, kShown) + "' is none of: " + names_of<E>());
    }

    [[noreturn]] void fail(const std::string& message) const;

  private:
    static constexpr size_t kShown = 60;  // characters of a wrong value that an error message quotes
    [[noreturn]] void wrong_type(const char* expected) const;

    const Json* value_;
    std::string line_;  // "results.jsonl:3"
    std::string path_;  // "summary.reasons"
};

}  // namespace pb::record
