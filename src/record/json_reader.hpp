// Reads a value with `fields` from a JSON object; the strict counterpart of json_writer.hpp. All functions throw
// UsageError with the place, as JsonField does. The values must be default-constructed before they are read.
#pragma once

#include "base/text.hpp"
#include "record/fields.hpp"
#include "record/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

namespace pb::record {

template <class T>
void read(const JsonField& json, T& value);

// ---- values that may be null, and may then also be missing

template <class T>
inline constexpr bool kMayBeNull = kIsOptional<T> || std::is_floating_point_v<T>;
// clang-format off
template <class T> inline constexpr bool kMayBeNull<OrNull<T>> = true;
template <class T> inline constexpr bool kMayBeNull<Sha256<T>> = true;
template <class T> inline constexpr bool kMayBeNull<When<T>> = true;
template <class T> inline constexpr bool kMayBeNull<Amount<T>> = true;
template <class T> inline constexpr bool kMayBeNull<Mib<T>> = true;
template <class T> inline constexpr bool kMayBeNull<Decibels<T>> = true;
template <class T> inline constexpr bool kMayBeNull<DrawnSeconds<T>> = true;
template <class T> inline constexpr bool kMayBeNull<Later<T>> = true;
template <class T> inline constexpr bool kMayBeNull<Whole<T>> = kIsOptional<T>;
template <class Ranks, class Member> inline constexpr bool kMayBeNull<ByRank<Ranks, Member>> = true;
// clang-format on

template <class T>
void read_null(T& /*value*/) {}
template <class T>
void read_null(Decibels<T>& form) {
    form.value = HUGE_VAL;
}
template <class T>
void read_null(DrawnSeconds<T>& form) {
    form.value = std::numeric_limits<double>::quiet_NaN();
}

// ---- visitors

/// Reads the fields from an object.
class JsonReader {
  public:
    explicit JsonReader(const JsonField& object) : object_(object) {}

    template <class T>
    void operator()(std::string_view key, T&& value, const char* /*meaning*/ = "") {
        using Value = std::remove_cvref_t<T>;
        if constexpr (kMayBeNull<Value>) {
            if (const auto json = object_.find(key))
                read(*json, value);
            else
                read_null(value);
        } else
            read(object_[key], value);
    }
    template <class T>
    void operator()(std::string_view /*key*/, Unwritten<T>&& /*value*/, const char* /*meaning*/ = "") {}
    template <class T>
    void operator()(std::string_view /*key*/, Derived<T>&& /*value*/, const char* /*meaning*/ = "") {}

    void group(std::string_view key, const auto& members) {
        const JsonField object = object_[key];
        JsonReader inner(object);
        members(inner);
    }
    template <class T>
    void columns(std::vector<T>& values);

  private:
    const JsonField& object_;
};

/// Checks that the columns of an object have equal lengths, and returns this length.
class ColumnLength {
  public:
    explicit ColumnLength(const JsonField& object) : object_(object) {}

    template <class T>
    void operator()(std::string_view key, const T& /*value*/, const char* /*meaning*/ = "") {
        add_item(keys_, key);
        const auto column = kMayBeNull<T> ? object_.find(key) : object_[key];
        if (!column) return;
        const size_t length = column->size();
        is_equal_ = is_equal_ && (!length_ || *length_ == length);
        length_ = length;
    }
    [[nodiscard]] size_t length() const {
        if (!is_equal_) object_.fail(keys_ + " must be equally long");
        return length_.value_or(0);
    }

  private:
    const JsonField& object_;
    std::string keys_;
    std::optional<size_t> length_;
    bool is_equal_ = true;
};

/// Reads the fields of one value from the columns.
class ColumnReader {
  public:
    ColumnReader(const JsonField& object, size_t index) : object_(object), index_(index) {}

    template <class T>
    void operator()(std::string_view key, T&& value, const char* /*meaning*/ = "") {
        const auto column = object_.find(key);
        if (!column) return;
        const JsonField item = column->item(index_);
        if (kMayBeNull<std::remove_cvref_t<T>> && item.is_null())
            read_null(value);
        else
            read(item, value);
    }

  private:
    const JsonField& object_;
    size_t index_;
};

template <class T>
void JsonReader::columns(std::vector<T>& values) {
    T none;
    ColumnLength length(object_);
    fields(length, none);
    values.resize(length.length());
    for (size_t i = 0; i < values.size(); ++i) {
        ColumnReader reader(object_, i);
        fields(reader, values[i]);
    }
}

// ---- values of each type, and of each form

template <class T>
void read_value(const JsonField& json, T& value) {
    if constexpr (kIsOptional<T>)
        read(json, value.emplace());
    else if constexpr (NamedEnum<T>)
        value = json.named<T>();
    else if constexpr (std::is_same_v<T, bool>)
        value = json.boolean();
    else if constexpr (std::is_floating_point_v<T>)
        value = json.number();
    else if constexpr (std::is_unsigned_v<T>)  // an index
        value = static_cast<T>(json.count());
    else if constexpr (std::is_integral_v<T>)
        value = json.integer();
    else if constexpr (std::is_same_v<T, std::string>)
        value = json.text();
    else if constexpr (requires { value.value; })  // a form that is read as its value
        read(json, value.value);
    else {
        JsonReader reader(json);
        fields(reader, value);
        if constexpr (requires { complete(value); })
            if (const char* fault = complete(value)) json.fail(fault);
    }
}
template <class T>
void read_value(const JsonField& json, std::vector<T>& values) {
    values.clear();
    for (const auto& item : json.items()) read(item, values.emplace_back());
}
inline void read_value(const JsonField& json, std::vector<double>& values) { values = json.numbers(); }
inline void read_value(const JsonField& json, TextPairs& pairs) {
    for (const auto& [name, value] : json.entries()) pairs.emplace_back(name, value.text());
}
template <class T>
void read_value(const JsonField& json, Whole<T>& form) {
    const int64_t value = form.short_count || std::is_same_v<T, int> ? json.count() : json.integer();
    if (value < form.least) json.fail(fmt::format("at least {} is expected here", form.least));
    if constexpr (kIsOptional<T>)
        form.value = value;
    else
        form.value = static_cast<T>(value);
}
template <class T>
void read_value(const JsonField& json, Mib<T>& form) {
    constexpr double kLargestMib = 1e12;
    const double mib = json.number();
    if (!(mib >= 0 && mib < kLargestMib)) json.fail("no memory is that large");
    form.value = std::llround(mib * kMiB);
}
template <class E, class T, class U>
void read_value(const JsonField& json, ByName<E, T, U>& form) {
    form.value.assign(form.repetitions.size(), {});
    for (const auto& [name, samples] : json.entries()) {
        const std::vector<double> numbers = samples.numbers();
        if (numbers.size() != form.value.size()) samples.fail("needs a number for each repetition");
        for (const auto& [enumerator, known] : enum_table<E>())
            for (size_t i = 0; known == name && i < numbers.size(); ++i)
                form.value[i][static_cast<size_t>(enumerator)] = numbers[i];
    }
}
template <class Ranks, class Member>
void read_value(const JsonField& json, ByRank<Ranks, Member>& form) {
    for (const auto& item : json["ranks"].items()) {
        const int number = item["rank"].count();
        for (auto& rank : form.value)
            if (rank.rank == number) {
                rank.*form.part = {};
                read(item, rank.*form.part);
            }
    }
}

template <class T>
void read(const JsonField& json, T& value) {
    read_value(json, value);
}

}  // namespace pb::record
