// Writes a value with `fields` as a JSON object: JsonWriter(object) is the visitor, json_from(value) returns the whole
// object.
#pragma once

#include "record/fields.hpp"
#include "record/json.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

namespace pb::record {

template <class T>
[[nodiscard]] Json json_from(const T& value);

/// Adds the fields to `object`, in their order.
class JsonWriter {
  public:
    explicit JsonWriter(Json& object) : object_(object) {}

    template <class T>
    void operator()(std::string_view key, const T& value, const char* /*meaning*/ = "") {
        object_[std::string(key)] = json_from(value);
    }
    template <class T>
    void operator()(std::string_view /*key*/, const Unwritten<T>& /*value*/, const char* /*meaning*/ = "") {}

    void group(std::string_view key, const auto& members) {
        Json object = Json::object();
        JsonWriter inner(object);
        members(inner);
        object_[std::string(key)] = std::move(object);
    }
    template <class T>
    void columns(const std::vector<T>& values);

  private:
    Json& object_;
};

/// A list for each field; null where the field may be null (it is in a T without values) and no value has it.
template <class T>
void JsonWriter::columns(const std::vector<T>& values) {
    const Json none = json_from(T{});
    const Json rows = array_of(values, [](const T& value) { return json_from(value); });
    const auto is_null = [](const Json& item) { return item.is_null(); };
    for (const auto& field : none.items()) {
        const std::string& key = field.key();
        Json column = array_of(rows, [&](const Json& row) { return row.at(key); });
        const bool says_nothing = field.value().is_null() && std::all_of(column.begin(), column.end(), is_null);
        object_[key] = says_nothing ? Json(nullptr) : std::move(column);
    }
}

// ---- values of each type, and of each form

/// Rounds to a multiple of `1 / per_unit`, which keeps the text of drawings short.
[[nodiscard]] inline Json rounded(double value, double per_unit) {
    return number(std::round(value * per_unit) / per_unit);
}

[[nodiscard]] inline Json to_three_digits(double value) {
    if (value == 0 || !std::isfinite(value)) return number(value);
    return rounded(value, std::pow(10.0, 2 - std::floor(std::log10(std::abs(value)))));
}

template <class T>
[[nodiscard]] Json value_json(const T& value) {
    if constexpr (kIsOptional<T>)
        return value ? json_from(*value) : Json(nullptr);
    else if constexpr (NamedEnum<T>)
        return name_of(value);
    else if constexpr (std::is_floating_point_v<T>)
        return number(value);
    else if constexpr (HasFields<const T>) {
        Json object = Json::object();
        JsonWriter writer(object);
        fields(writer, value);
        return object;
    } else if constexpr (requires { value.value; })  // a form that is written as its value
        return json_from(value.value);
    else
        return value;
}
template <class T>
[[nodiscard]] Json value_json(const std::vector<T>& values) {
    return array_of(values, [](const T& value) { return json_from(value); });
}
template <class T>
[[nodiscard]] Json value_json(const Pairs<T>& pairs) {
    Json all = Json::object();
    for (const auto& [name, value] : pairs) all[name] = json_from(value);
    return all;
}
template <class T>
[[nodiscard]] Json value_json(const OrNull<T>& form) {
    return is_none(form.value) ? Json(nullptr) : json_from(form.value);
}
template <class T>
[[nodiscard]] Json value_json(const Sha256<T>& form) {
    return is_none(form.value) ? Json(nullptr) : json_from(form.value);
}
template <class T>
[[nodiscard]] Json value_json(const When<T>& form) {
    return form.present ? json_from(form.value) : Json(nullptr);
}
template <class T>
[[nodiscard]] Json value_json(const Mib<T>& form) {
    return form.value > 0 ? number(static_cast<double>(form.value) / kMiB) : Json(nullptr);
}
template <class T>
[[nodiscard]] Json value_json(const DrawnSeconds<T>& form) {
    constexpr double kPerSecond = 1e7;
    return rounded(form.value, kPerSecond);
}
template <class T>
[[nodiscard]] Json value_json(const ThreeDigits<T>& form) {
    return array_of(form.value, to_three_digits);
}
template <class F>
[[nodiscard]] Json value_json(const Derived<F>& form) {
    return json_from(form.compute());
}
template <class E, class T, class U>
[[nodiscard]] Json value_json(const ByName<E, T, U>& form) {
    Json all = Json::object();
    for (const auto& [enumerator, name] : enum_table<E>()) {
        const auto index = static_cast<size_t>(enumerator);
        const auto took_place = [=](const auto& repetition) { return repetition[index] != 0; };
        if (std::ranges::none_of(form.value, took_place)) continue;
        for (const auto& repetition : form.value) all[std::string(name)].push_back(number(repetition[index]));
    }
    return all;
}
template <class Ranks, class Member>
[[nodiscard]] Json value_json(const ByRank<Ranks, Member>& form) {
    bool says_nothing = true;
    Json ranks = Json::array();
    for (const auto& rank : form.value) {
        const auto& part = rank.*form.part;
        Json object{{"rank", rank.rank}};
        JsonWriter writer(object);
        fields(writer, part);
        ranks.push_back(std::move(object));
        if constexpr (requires { part.empty(); }) says_nothing = says_nothing && part.empty();
    }
    using Part = std::remove_cvref_t<decltype(std::declval<Ranks&>().front().*form.part)>;
    if constexpr (requires(const Part& part) { part.empty(); })
        if (says_nothing) return nullptr;
    return {{"ranks", std::move(ranks)}};
}

template <class T>
Json json_from(const T& value) {
    return value_json(value);
}

}  // namespace pb::record
