#include "record/json.hpp"

#include "base/mapped.hpp"
#include "base/text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <limits>

namespace pb::record {

void JsonField::fail(const std::string& message) const {
    throw UsageError(line_ + ": " + (path_.empty() ? "" : path_ + ": ") + message +
                     "; take the damaged line out, or measure again");
}

void JsonField::wrong_type(const char* expected) const {
    fail(std::string(expected) + " is expected here, not " + value_->type_name());
}

std::optional<JsonField> JsonField::find(std::string_view key) const {
    if (!value_->is_object()) wrong_type("an object");
    const auto found = value_->find(std::string(key));
    if (found == value_->end() || found->is_null()) return std::nullopt;
    return JsonField(*found, line_, path_.empty() ? std::string(key) : path_ + "." + std::string(key));
}

JsonField JsonField::operator[](std::string_view key) const {
    if (!value_->is_object()) wrong_type("an object");
    const auto found = value_->find(std::string(key));
    if (found == value_->end()) fail("the key '" + std::string(key) + "' is missing");
    return {*found, line_, path_.empty() ? std::string(key) : path_ + "." + std::string(key)};
}

size_t JsonField::size() const {
    if (!value_->is_array()) wrong_type("an array");
    return value_->size();
}

std::vector<JsonField> JsonField::items() const {
    std::vector<JsonField> all;
    all.reserve(size());
    for (size_t i = 0; i < size(); ++i) all.push_back(item(i));
    return all;
}

JsonField JsonField::item(size_t index) const { return {(*value_)[index], line_, fmt::format("{}[{}]", path_, index)}; }

std::vector<std::pair<std::string, JsonField>> JsonField::entries() const {
    if (!value_->is_object()) wrong_type("an object");
    std::vector<std::pair<std::string, JsonField>> all;
    for (const auto& [key, value] : value_->items()) all.emplace_back(key, JsonField(value, line_, path_ + "." + key));
    return all;
}

std::string JsonField::text() const {
    if (!value_->is_string()) wrong_type("a text");
    // A file from elsewhere must not steer the terminal. Line breaks are kept.
    return without_controls(value_->get<std::string>(), '?', "\n");
}

double JsonField::number() const {
    if (!value_->is_number()) wrong_type("a number");
    return value_->get<double>();
}

int64_t JsonField::integer() const {
    if (!value_->is_number_integer()) wrong_type("a whole number");
    constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (value_->is_number_unsigned() && value_->get<uint64_t>() > kLargest) fail("this number is too large");
    return value_->get<int64_t>();
}

int JsonField::count() const {
    const int64_t value = integer();
    if (value < 0 || value > std::numeric_limits<int>::max()) fail("a count is expected here");
    return static_cast<int>(value);
}

bool JsonField::boolean() const {
    if (!value_->is_boolean()) wrong_type("true or false");
    return value_->get<bool>();
}

std::vector<std::string> JsonField::texts() const { return mapped(items(), &JsonField::text); }

std::vector<double> JsonField::numbers() const {
    if (!value_->is_array()) wrong_type("an array");
    std::vector<double> all;
    all.reserve(value_->size());
    for (const auto& item : *value_) {
        if (!item.is_number() && !item.is_null()) fail("an array of numbers is expected here");
        all.push_back(item.is_null() ? std::numeric_limits<double>::quiet_NaN() : item.get<double>());
    }
    return all;
}

}  // namespace pb::record
