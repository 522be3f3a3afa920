// How the values of this layer name their fields. Each struct has one function `fields(visitor, value)` that calls
// visitor("key", member) for every member, in the order of results.jsonl. The visitors produce the row that MPI sends
// (row.hpp), JSON (json_writer.hpp, json_reader.hpp) and, in tests/support, the JSON schema (json_schema.hpp).
//
// A visitor also offers `group(key, function)`, an object inside the object, and `columns(values)`, which writes a list
// of structs as one array per field. A third argument is the field's description in the schema.
//
// A member whose JSON form differs from its type is wrapped in one of the forms below. A reader accepts that a value
// that may be null is missing: older files have fewer fields.
#pragma once

#include "patchbench/base/enum_names.hpp"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pb::record {

/// `T` is `Record` or `const Record`. It lets readers and writers share one function `fields`.
template <class T, class Record>
concept Like = std::same_as<std::remove_const_t<T>, Record>;

/// The range of a number; `positive` excludes 0.
enum class Sign : uint8_t { any, not_negative, positive };

/// Writes T{} as null: an empty text or list, a time of 0 s (a stage that did not run), the enumerator for none.
template <class T>
struct OrNull {
    T& value;
};
/// A text of 64 hexadecimal digits, or null when it is empty.
template <class T>
struct Sha256 {
    T& value;
};
/// Null unless `present`. A reader reads null as T{}.
template <class T>
struct When {
    T& value;
    bool present;
};
/// A whole number (or optional) of at least `least`. With `short_count`, the largest value is that of an int.
template <class T>
struct Whole {
    T& value;
    int64_t least;
    bool short_count;
};
/// A number (or optional). The schema states the sign; readers do not check it.
template <class T>
struct Amount {
    T& value;
    Sign sign;
};
/// Bytes, written in MiB; 0 is null.
template <class T>
struct Mib {
    T& value;
};
/// Decibels; infinity (equal images) is null.
template <class T>
struct Decibels {
    T& value;
};
/// Seconds, rounded to 0.1 microseconds: precise enough for a drawing.
template <class T>
struct DrawnSeconds {
    T& value;
};
/// A non-negative number with three significant digits.
template <class T>
struct ThreeDigits {
    T& value;
};
/// A field that files of earlier versions lack. It then keeps its default.
template <class T>
struct Later {
    T& value;
};
/// A field that ranks send but JSON does not contain: `complete` derives it from the others, or it has its default.
template <class T>
struct Unwritten {
    T& value;
};
/// A field that JSON contains but that is not read or sent: the writer computes it from the others.
template <class F>
struct Derived {
    F compute;
};
/// Repetitions of arrays indexed by an enum, as an object with one list per enumerator that is not always 0.
/// `repetitions` is any container with one entry per repetition.
template <class E, class T, class U>
struct ByName {
    T& value;
    U& repetitions;
};
/// One member of each rank, as {"ranks": [{"rank": 0, ...}, ...]}. Null when the member is empty on every rank.
template <class Ranks, class Member>
struct ByRank {
    Ranks& value;
    Member part;
};

// clang-format off
template <class T> OrNull<T> or_null(T& value) { return {value}; }
template <class T> Sha256<T> sha256_text(T& value) { return {value}; }
template <class T> When<T> when(bool present, T& value) { return {value, present}; }
template <class T> Whole<T> whole(T& value, int64_t least = 0) { return {value, least, false}; }
template <class T> Whole<T> count(T& value, int64_t least = 0) { return {value, least, true}; }
template <class T> Amount<T> amount(T& value) { return {value, Sign::not_negative}; }
template <class T> Amount<T> positive_amount(T& value) { return {value, Sign::positive}; }
template <class T> Mib<T> mib(T& value) { return {value}; }
template <class T> Decibels<T> decibels(T& value) { return {value}; }
template <class T> DrawnSeconds<T> drawn_seconds(T& value) { return {value}; }
template <class T> ThreeDigits<T> three_digits(T& value) { return {value}; }
template <class T> Later<T> later(T& value) { return {value}; }
template <class T> Unwritten<T> unwritten(T& value) { return {value}; }
template <class F> Derived<F> derived(F compute) { return {std::move(compute)}; }
template <class E, class T, class U> ByName<E, T, U> by_name(T& value, U& repetitions) { return {value, repetitions}; }
template <class Ranks, class Member> ByRank<Ranks, Member> by_rank(Ranks& ranks, Member part) { return {ranks, part}; }
// clang-format on

/// A visitor for the concept HasFields, which tests whether a type has fields.
struct AnyVisitor {
    void operator()(auto&&...) {}
    void group(auto&&...) {}
    void columns(auto&&...) {}
};
template <class T>
concept HasFields = requires(AnyVisitor visitor, T& value) {
    fields(visitor, value);
};

/// Names and values, written as an object.
template <class T>
using Pairs = std::vector<std::pair<std::string, T>>;
using TextPairs = Pairs<std::string>;

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

/// Whether a value that may be null is written as null.
template <class T>
[[nodiscard]] bool is_none(const T& value) {
    if constexpr (requires { value.empty(); })
        return value.empty();
    else
        return value == T{};
}

}  // namespace pb::record
