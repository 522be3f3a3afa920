// Converts a value to a row of numbers and back. Ranks send their measurements and facts in this form.
#pragma once

#include "record/fields.hpp"
#include "record/rank.hpp"

#include "patchbench/base/shape.hpp"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace pb::record {

/// The numbers whose memory holds a text of `length` bytes.
[[nodiscard]] constexpr size_t numbers_for_text(size_t length) {
    return (length + sizeof(double) - 1) / sizeof(double);
}

template <class T>
inline constexpr bool kIsMap = requires {
    typename T::mapped_type;
};

/// Appends numbers. An absent value is NaN. A list or map begins with its length; so does a text, whose bytes fill the
/// memory of the numbers that follow.
class RowWriter {
  public:
    explicit RowWriter(std::vector<double>& row) : row_(row) {}

    template <class T>
    void operator()(std::string_view /*key*/, const T& value, const char* /*meaning*/ = "") {
        put(value);
    }
    template <class F>
    void operator()(std::string_view /*key*/, Derived<F>&& /*value*/, const char* /*meaning*/ = "") {}
    void group(std::string_view /*key*/, const auto& members) { members(*this); }
    void columns(const auto& values) { put(values); }

    template <class T>
    void put(const T& value) {
        if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
            row_.push_back(static_cast<double>(value));
        else if constexpr (kIsOptional<T>)
            row_.push_back(value ? static_cast<double>(*value) : std::numeric_limits<double>::quiet_NaN());
        else if constexpr (HasFields<const T>)
            fields(*this, value);
        else if constexpr (std::is_same_v<T, std::string>)
            put_text(value);
        else if constexpr (std::is_same_v<T, std::filesystem::path>)
            put_text(value.string());
        else if constexpr (requires { value.value; })  // a form
            put(value.value);
        else if constexpr (kIsMap<T>)
            put_map(value);
        else {
            if constexpr (kIsVector<T>) row_.push_back(static_cast<double>(value.size()));
            for (const auto& item : value) put(item);
        }
    }

  private:
    void put_text(const std::string& text) {
        row_.push_back(static_cast<double>(text.size()));
        const size_t begin = row_.size();
        row_.resize(begin + numbers_for_text(text.size()));
        std::memcpy(row_.data() + begin, text.data(), text.size());
    }

    void put_map(const auto& map) {
        row_.push_back(static_cast<double>(map.size()));
        for (const auto& [key, value] : map) {
            put(key);
            put(value);
        }
    }

    std::vector<double>& row_;
};

/// Reads the numbers of a row that a RowWriter made. Numbers that follow them are ignored.
class RowReader {
  public:
    explicit RowReader(std::span<const double> row) : row_(row) {}

    template <class T>
    void operator()(std::string_view /*key*/, T&& value, const char* /*meaning*/ = "") {
        take(value);
    }
    template <class F>
    void operator()(std::string_view /*key*/, Derived<F>&& /*value*/, const char* /*meaning*/ = "") {}
    void group(std::string_view /*key*/, const auto& members) { members(*this); }
    void columns(auto& values) { take(values); }

    template <class T>
    void take(T& value) {
        if constexpr (std::is_enum_v<T>)
            value = static_cast<T>(static_cast<int>(next()));
        else if constexpr (std::is_arithmetic_v<T>)
            value = static_cast<T>(next());
        else if constexpr (kIsOptional<T>)
            take_optional(value);
        else if constexpr (HasFields<T>)
            fields(*this, value);
        else if constexpr (std::is_same_v<T, std::string>)
            take_text(value);
        else if constexpr (std::is_same_v<T, std::filesystem::path>)
            take_path(value);
        else if constexpr (requires { value.value; })
            take(value.value);
        else if constexpr (kIsMap<T>)
            take_map(value);
        else {
            if constexpr (kIsVector<T>) value.resize(static_cast<size_t>(next()));
            for (auto& item : value) take(item);
        }
    }

  private:
    double next() {
        const double number = row_.front();
        row_ = row_.subspan(1);
        return number;
    }

    template <class T>
    void take_optional(std::optional<T>& value) {
        const double number = next();
        value = std::isnan(number) ? std::nullopt : std::optional(static_cast<T>(number));
    }

    void take_text(std::string& text) {
        text.resize(static_cast<size_t>(next()));
        std::memcpy(text.data(), row_.data(), text.size());
        row_ = row_.subspan(numbers_for_text(text.size()));
    }

    void take_path(std::filesystem::path& path) {
        std::string text;
        take_text(text);
        path = text;
    }

    template <class T>
    void take_map(T& map) {
        for (auto left = static_cast<size_t>(next()); left > 0; --left) {
            typename T::key_type key;
            take(key);
            take(map[std::move(key)]);
        }
    }

    std::span<const double> row_;
};

template <class V, Like<Range> R>
void fields(V& v, R& range) {
    v("begin", range.begin);
    v("end", range.end);
}

/// All fields that a rank sends: those of `fields`, and the parts that are elsewhere in the line of a point.
template <class V, Like<RankTrace> R>
void sent_fields(V& v, R& rank) {
    fields(v, rank);
    v("memory", rank.memory);
    v("telemetry", rank.telemetry);
    v("bounds", rank.bounds);
}
template <class V, class T>
void sent_fields(V& v, T& value) {
    if constexpr (HasFields<T>)
        fields(v, value);
    else
        v("", value);
}

template <class T>
[[nodiscard]] std::vector<double> pack(const T& value) {
    std::vector<double> row;
    RowWriter writer(row);
    sent_fields(writer, value);
    return row;
}

template <class T>
[[nodiscard]] T unpack(std::span<const double> row) {
    T value;
    RowReader reader(row);
    sent_fields(reader, value);
    return value;
}

}  // namespace pb::record
