// A value inside a line of results.jsonl together with the place it stands at: reading it as the wrong type is an error
// that says where, whatever the file holds.
#pragma once

#include "record/json.hpp"

#include "patchbench/base/enum_names.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pb {

/// Refers to a Json that must outlive it. All readers throw UsageError "results.jsonl:3: summary.reasons: ...".
class JsonField {
  public:
    JsonField(const Json& value, std::string line, std::string path = "")
        : value_(&value), line_(std::move(line)), path_(std::move(path)) {}

    [[nodiscard]] JsonField operator[](std::string_view key) const;                // must be there
    [[nodiscard]] std::optional<JsonField> find(std::string_view key) const;       // nothing when missing or null
    [[nodiscard]] std::vector<JsonField> items() const;                            // of an array
    [[nodiscard]] JsonField item(size_t index) const;                              // of an array that is as long
    [[nodiscard]] size_t size() const;                                             // of an array
    [[nodiscard]] std::vector<std::pair<std::string, JsonField>> entries() const;  // of an object, in its order

    [[nodiscard]] const Json& json() const { return *value_; }
    [[nodiscard]] bool is_null() const { return value_->is_null(); }
    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::string text_or_empty() const;  // null: empty
    [[nodiscard]] double number() const;
    [[nodiscard]] std::optional<double> number_or_none() const;  // null: none
    [[nodiscard]] int64_t integer() const;
    [[nodiscard]] int count() const;  // 0 or more
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] std::vector<std::string> texts() const;
    [[nodiscard]] std::vector<double> numbers() const;  // null becomes NaN
    template <NamedEnum E>
    [[nodiscard]] E named() const {
        const std::string name = text();
        for (const auto& [enumerator, known] : EnumNames<E>::names)
            if (known == name) return enumerator;
        fail("'" + name.substr(0, kShown) + "' is none of: " + names_of<E>());
    }

    [[noreturn]] void fail(const std::string& message) const;

  private:
    static constexpr size_t kShown = 60;  // characters of a wrong value that a message quotes
    [[noreturn]] void wrong_type(const char* expected) const;

    const Json* value_;
    std::string line_;  // "results.jsonl:3"
    std::string path_;  // "summary.reasons"
};

}  // namespace pb
