// How the values of this layer name their fields. Each struct has one function `fields(visitor, value)` that calls
// visitor("key", member) for every member, in the order of results.jsonl. Visitors make of that the row that MPI sends
// (row.hpp), JSON (json_writer.hpp, json_reader.hpp) and the JSON schema (json_schema.hpp).
//
// A visitor also offers `group(key, function)`, an object inside the object, and `columns(values)`, a list of structs
// as one array for each of their fields. A third argument says in the schema what a field means.
//
// A member whose JSON is not that of its type is wrapped in one of the forms below. A value that may be null may also
// be missing when it is read: older files have fewer fields.
#pragma once

#include "patchbench/base/enum_names.hpp"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pb {

/// `T` is `Record`, or const of it: for the one `fields` that both readers and writers call.
template <class T, class Record>
concept Like = std::same_as<std::remove_const_t<T>, Record>;

/// Legal values of a number; `positive` excludes 0.
enum class Sign : uint8_t { any, not_negative, positive };

/// T{} is null: an empty text or list, a time of 0 s (it did not take place), the enumerator for none.
template <class T>
struct OrNull {
    T& value;
};
/// A text or null as above: 64 hexadecimal digits.
template <class T>
struct Sha256 {
    T& value;
};
/// Null unless `present`; null is read as T{}.
template <class T>
struct When {
    T& value;
    bool present;
};
/// A whole number from `least` on, or an optional one. `short_count`: at most that of an int.
template <class T>
struct Whole {
    T& value;
    int64_t least;
    bool short_count;
};
/// A number, or an optional one. The sign is a promise of the schema; a reader takes any.
template <class T>
struct Amount {
    T& value;
    Sign sign;
};
/// Bytes as MiB; 0: null.
template <class T>
struct Mib {
    T& value;
};
/// Decibels: infinite (equal images) is null.
template <class T>
struct Decibels {
    T& value;
};
/// Seconds to a tenth of a microsecond: enough for a drawing.
template <class T>
struct DrawnSeconds {
    T& value;
};
/// Numbers of 0 or more to three digits.
template <class T>
struct ThreeDigits {
    T& value;
};
/// A flag as one of two words.
template <class T>
struct Words {
    T& value;
    const char* if_true;
    const char* if_false;
};
/// Not in files of earlier versions: it then keeps its default.
template <class T>
struct Later {
    T& value;
};
/// Sent, but not written: it follows from others (`complete`).
template <class T>
struct Unwritten {
    T& value;
};
/// Written, but not read or sent: it follows from others, and is computed by those alone who write it.
template <class F>
struct Derived {
    F compute;
};
/// Repetitions of arrays indexed by an enum, as an object with a list for each enumerator that is not always 0.
/// `repetitions`: something with as many entries.
template <class E, class T, class U>
struct ByName {
    T& value;
    U& repetitions;
};
/// A part of each rank, as {"ranks": [{"rank": 0, ...}, ...]}. Null where no rank's part says anything.
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
template <class T> Words<T> words(T& value, const char* if_true, const char* if_false) { return {value, if_true, if_false}; }
template <class T> Later<T> later(T& value) { return {value}; }
template <class T> Unwritten<T> unwritten(T& value) { return {value}; }
template <class F> Derived<F> derived(F compute) { return {std::move(compute)}; }
template <class E, class T, class U> ByName<E, T, U> by_name(T& value, U& repetitions) { return {value, repetitions}; }
template <class Ranks, class Member> ByRank<Ranks, Member> by_rank(Ranks& ranks, Member part) { return {ranks, part}; }
// clang-format on

/// Stands for any visitor where a type is asked whether it has fields.
struct AnyVisitor {
    void operator()(auto&&...) {}
    void group(auto&&...) {}
    void columns(auto&&...) {}
};
template <class T>
concept HasFields = requires(AnyVisitor visitor, T& value) {
    fields(visitor, value);
};

/// Names and texts, as an object.
using TextPairs = std::vector<std::pair<std::string, std::string>>;

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// Whether a value stands for none where it may be null.
template <class T>
[[nodiscard]] bool is_none(const T& value) {
    if constexpr (requires { value.empty(); })
        return value.empty();
    else
        return value == T{};
}

}  // namespace pb
