// The JSON schema of a value with `fields`: SchemaWriter is the visitor, schema_of(value) returns the whole schema.
// Only the types of the values matter.
#pragma once

#include "record/fields.hpp"
#include "record/json.hpp"

#include <string>
#include <type_traits>

namespace pb::record {

template <class T>
[[nodiscard]] Json schema_of(const T& value);

[[nodiscard]] inline Json or_null_schema(Json schema) {
    if (schema.contains("enum"))
        schema["enum"].push_back(nullptr);
    else if (schema.contains("type") && schema["type"].is_string())
        schema["type"] = {schema["type"], "null"};
    return schema;
}

/// The schema of an object that has all of its fields and no others.
class SchemaWriter {
  public:
    template <class T>
    void operator()(std::string_view key, const T& value, const char* meaning = "") {
        add(key, schema_of(value), meaning);
    }
    template <class T>
    void operator()(std::string_view /*key*/, const Unwritten<T>& /*value*/, const char* /*meaning*/ = "") {}

    void group(std::string_view key, const auto& members) {
        SchemaWriter inner;
        members(inner);
        add(key, inner.object(), "");
    }
    template <class T>
    void columns(const std::vector<T>& values);

    void add(std::string_view key, const Json& schema, const char* meaning) {
        Json& property = properties_[std::string(key)] = Json::object();
        if (*meaning != '\0') property["description"] = meaning;
        property.update(schema);
        required_.push_back(key);
    }
    [[nodiscard]] Json object() const {
        return {
            {"type", "object"}, {"properties", properties_}, {"required", required_}, {"additionalProperties", false}};
    }

  private:
    Json properties_ = Json::object(), required_ = Json::array();
};

[[nodiscard]] inline Json list_schema(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }

/// The schema of columns: each field is a list, which may be null where the field may be null.
class ColumnSchema {
  public:
    explicit ColumnSchema(SchemaWriter& object) : object_(object) {}

    template <class T>
    void operator()(std::string_view key, const T& value, const char* meaning = "") {
        object_.add(key, list_schema(schema_of(value)), meaning);
    }
    template <class T>
    void operator()(std::string_view key, const Amount<std::optional<T>>& value, const char* meaning = "") {
        object_.add(key, or_null_schema(list_schema(schema_of(value))), meaning);
    }

  private:
    SchemaWriter& object_;
};

template <class T>
void SchemaWriter::columns(const std::vector<T>& /*values*/) {
    T none;
    ColumnSchema columns(*this);
    fields(columns, none);
}

// ---- values of each type, and of each form

template <NamedEnum E>
[[nodiscard]] Json names_schema(const E* left_out = nullptr) {
    Json names = Json::array();
    for (const auto& [enumerator, name] : enum_table<E>())
        if (left_out == nullptr || enumerator != *left_out) names.push_back(name);
    return {{"enum", names}};
}

[[nodiscard]] inline Json number_schema(Sign sign) {
    Json schema{{"type", {"number", "null"}}};
    if (sign == Sign::not_negative) schema["minimum"] = 0;
    if (sign == Sign::positive) schema["exclusiveMinimum"] = 0;
    return schema;
}

template <class T>
[[nodiscard]] Json value_schema(const T& value) {
    if constexpr (kIsOptional<T>)
        return or_null_schema(schema_of(typename T::value_type{}));
    else if constexpr (NamedEnum<T>)
        return names_schema<T>();
    else if constexpr (std::is_same_v<T, bool>)
        return {{"type", "boolean"}};
    else if constexpr (std::is_floating_point_v<T>)
        return number_schema(Sign::any);
    else if constexpr (std::is_integral_v<T>)
        return {{"type", "integer"}, {"minimum", 0}};
    else if constexpr (std::is_same_v<T, std::string>)
        return {{"type", "string"}};
    else if constexpr (HasFields<T>) {
        SchemaWriter writer;
        T none;
        fields(writer, none);
        return writer.object();
    } else  // a form with the schema of its value
        return schema_of(value.value);
}
template <class T>
[[nodiscard]] Json value_schema(const std::vector<T>& /*values*/) {
    return list_schema(schema_of(T{}));
}
template <class T>
[[nodiscard]] Json value_schema(const Pairs<T>& /*pairs*/) {
    return {{"type", "object"}, {"additionalProperties", schema_of(T{})}};
}
template <class T>
[[nodiscard]] Json value_schema(const OrNull<T>& form) {
    using Value = std::remove_const_t<T>;
    if constexpr (std::is_floating_point_v<Value>)
        return number_schema(Sign::positive);
    else if constexpr (NamedEnum<Value>) {
        constexpr Value kNone{};
        return or_null_schema(names_schema<Value>(&kNone));
    } else
        return or_null_schema(schema_of(form.value));
}
template <class T>
[[nodiscard]] Json value_schema(const Sha256<T>& /*form*/) {
    return {{"type", {"string", "null"}}, {"pattern", "^[0-9a-f]{64}$"}};
}
template <class T>
[[nodiscard]] Json value_schema(const When<T>& form) {
    return or_null_schema(schema_of(form.value));
}
template <class T>
[[nodiscard]] Json value_schema(const Whole<T>& form) {
    const Json schema{{"type", "integer"}, {"minimum", form.least}};
    return kIsOptional<std::remove_const_t<T>> ? or_null_schema(schema) : schema;
}
template <class T>
[[nodiscard]] Json value_schema(const Amount<T>& form) {
    return number_schema(form.sign);
}
template <class T>
[[nodiscard]] Json value_schema(const Mib<T>& /*form*/) {
    return number_schema(Sign::positive);
}
template <class T>
[[nodiscard]] Json value_schema(const ThreeDigits<T>& /*form*/) {
    return list_schema(number_schema(Sign::not_negative));
}
template <class F>
[[nodiscard]] Json value_schema(const Derived<F>& form) {
    return schema_of(form.compute());
}
template <class E, class T, class U>
[[nodiscard]] Json value_schema(const ByName<E, T, U>& /*form*/) {
    return {{"type", "object"},
            {"propertyNames", names_schema<E>()},
            {"additionalProperties", list_schema(number_schema(Sign::any))}};
}
template <class Ranks, class Member>
[[nodiscard]] Json value_schema(const ByRank<Ranks, Member>& form) {
    typename Ranks::value_type rank;
    SchemaWriter part, ranks;
    part("rank", count(rank.rank));
    fields(part, rank.*form.part);
    ranks.add("ranks", list_schema(part.object()), "");
    if constexpr (requires { (rank.*form.part).empty(); }) return or_null_schema(ranks.object());
    return ranks.object();
}

template <class T>
Json schema_of(const T& value) {
    return value_schema(value);
}

}  // namespace pb::record
