// Types of settings beside numbers and texts (named choices, counts that may be left to the program), and the
// description of a setting. A type that may hold a number, or a word instead, has `number()`.
#pragma once

#include "patchbench/base/choices.hpp"
#include "patchbench/base/enum_names.hpp"
#include "patchbench/base/shape.hpp"
#include "patchbench/network/network_card.hpp"
#include "patchbench/network/network_shape.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace pb::config {

/// Legal values of a number, both ends included. For a count or a halo they apply to the number, not to auto, all,
/// exact, carried, exchanged.
struct Limits {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
};

inline constexpr double kMaxEdge = 1 << 30;  // px: keeps all products of extents within int64
inline constexpr double kMaxCount = 1 << 20;
inline constexpr double kMaxSeconds = 86400;

/// Description of a setting: dotted key in YAML, unit ("" for none), range of a number, meaning in one sentence.
struct FieldName {
    const char* key;
    const char* unit;
    Limits limits;
    const char* meaning;
};
[[nodiscard]] constexpr FieldName setting(const char* key, const char* unit, const Limits& limits,
                                          const char* meaning) {
    return {key, unit, limits, meaning};
}
[[nodiscard]] constexpr FieldName setting(const char* key, const char* unit, const char* meaning) {
    return {key, unit, {}, meaning};
}

/// `halo: none | <pixels> | exact | carried | exchanged | auto`.
struct HaloSetting {
    enum class Kind : uint8_t { pixels, exact, carried, exchanged, automatic };
    Kind kind = Kind::exact;
    int64_t pixels = 0;
    [[nodiscard]] std::optional<int64_t> number() const {
        return kind == Kind::pixels ? std::optional(pixels) : std::nullopt;
    }
    friend bool operator==(const HaloSetting&, const HaloSetting&) = default;
};

/// A count that may be left to the program: `<n> | auto` (threads) or `<n> | all` (ranks).
struct CountSetting {
    int64_t count = 0;                         // 0: auto, all
    std::string_view automatic_word = "auto";  // how 0 is written; a string literal
    [[nodiscard]] bool is_automatic() const { return count == 0; }
    [[nodiscard]] std::optional<int64_t> number() const { return is_automatic() ? std::nullopt : std::optional(count); }
    friend bool operator==(const CountSetting& a, const CountSetting& b) { return a.count == b.count; }
};

/// `network: <name> | <file>`. It compares and converts like its kind, which is kCustomKind for a file.
struct NetworkSetting {
    network::NetworkKind kind = network::kind_of<network::DncnnShape>();
    std::string file;  // of a network that the user brings; empty: one of the list
    /// What is known of the network in `file`; none until it was looked at. It follows from the file and is not
    /// compared.
    std::optional<network::NetworkCard> card;
    std::string obstacle;  // why the layers of an ONNX model are not known: its first node that is no operation of ours

    NetworkSetting() = default;
    NetworkSetting(network::NetworkKind known) : kind(known) {}  // NOLINT(google-explicit-constructor)
    operator network::NetworkKind() const { return kind; }       // NOLINT(google-explicit-constructor)
    [[nodiscard]] bool is_custom() const { return !file.empty(); }
    /// Whether all operations are known: of the list, or in a file that has no others.
    [[nodiscard]] bool has_layers() const { return !is_custom() || (card && card->layers); }
    /// What is known of the network in `file`, without its layers: "channels 3, sigma none, ..". Empty for the others.
    [[nodiscard]] std::string card_text() const { return card ? network::to_text(*card) : ""; }
    /// For labels, which become names of files: that of the list, or that of the file without its extension.
    [[nodiscard]] std::string name() const;
    friend bool operator==(const NetworkSetting& a, const NetworkSetting& b) {
        return a.kind == b.kind && a.file == b.file;
    }
    friend bool operator==(const NetworkSetting& setting, network::NetworkKind other) { return setting.kind == other; }
};

/// Whether `text`, a value of the setting `network`, names a file: by its ending or a slash.
[[nodiscard]] bool names_network_file(std::string_view text);

/// The value of the setting `weights` for the file that the model card names.
constexpr std::string_view kDefaultWeights = "default";
/// Whether `text`, a value of the setting `weights`, is "seed:<n>": untrained.
[[nodiscard]] bool is_seed(std::string_view text);
/// The n of "seed:<n>". Throws UsageError when it is no whole number from 0 on.
[[nodiscard]] uint64_t seed_of(std::string_view text);
/// Whether such a value names a file: it is neither that nor "default".
[[nodiscard]] bool names_weights_file(std::string_view text);

/// `engine: <name> | python:<file> | auto`. It compares and converts like its kind.
struct EngineSetting {
    EngineKind kind = EngineKind::torch;  // of auto, until the plan chooses
    std::string file;                     // the adapter of the engine `python`
    bool is_automatic = false;
    EngineSetting() = default;
    EngineSetting(EngineKind known) : kind(known) {}  // NOLINT(google-explicit-constructor)
    [[nodiscard]] static EngineSetting automatic() {
        EngineSetting setting;
        setting.is_automatic = true;
        return setting;
    }
    operator EngineKind() const { return kind; }  // NOLINT(google-explicit-constructor)
    friend bool operator==(const EngineSetting&, const EngineSetting&) = default;
    friend bool operator==(const EngineSetting& setting, EngineKind other) { return setting.kind == other; }
};

/// `layout: <name> | auto`. It converts like its kind.
struct LayoutSetting {
    Layout kind = Layout::channels_last;  // of auto, until the plan chooses
    bool is_automatic = true;
    LayoutSetting() = default;
    LayoutSetting(Layout known) : kind(known), is_automatic(false) {}  // NOLINT(google-explicit-constructor)
    operator Layout() const { return kind; }                           // NOLINT(google-explicit-constructor)
    friend bool operator==(const LayoutSetting&, const LayoutSetting&) = default;
    friend bool operator==(const LayoutSetting& setting, Layout other) { return setting.kind == other; }
};

/// `batch: <n> | auto | largest`.
struct BatchSetting {
    int64_t count = 4;     // 0: found by measuring
    bool largest = false;  // when 0: the largest that fits instead of the fastest
    [[nodiscard]] bool is_open() const { return count == 0; }
    [[nodiscard]] std::optional<int64_t> number() const { return is_open() ? std::nullopt : std::optional(count); }
    friend bool operator==(const BatchSetting&, const BatchSetting&) = default;
};

/// `sigma: <noise level> | auto`. Auto takes image.noise_sigma.
struct NoiseLevelSetting {
    double level = -1;  // < 0: auto
    NoiseLevelSetting() = default;
    NoiseLevelSetting(double known) : level(known) {}  // NOLINT(google-explicit-constructor): a level is one
    [[nodiscard]] bool is_automatic() const { return level < 0; }
    [[nodiscard]] std::optional<double> number() const { return is_automatic() ? std::nullopt : std::optional(level); }
    friend bool operator==(const NoiseLevelSetting&, const NoiseLevelSetting&) = default;
};

enum class DeviceChoice : uint8_t { automatic, cpu, cuda };
enum class Workload : uint8_t { tiles, whole };
enum class LastBatch : uint8_t { pad, ragged };
enum class SharingRule : uint8_t { error, allow };
enum class VerifyMode : uint8_t { probes, full, off };
/// Which of the started ranks take part in a point: those of as few nodes as possible, or of as many.
enum class Placement : uint8_t { compact, scatter };
/// contiguous: each rank owns one range of windows. dynamic: a rank takes the next batch when it is ready.
enum class Schedule : uint8_t { contiguous, dynamic };
/// Where the output is assembled. memory: in memory shared by the ranks of a node, sent to the root, then saved. file:
/// each rank writes its part of the file. checksum: nowhere. automatic: file when the image takes more than half of a
/// host's free memory and the output can be such a file, otherwise memory.
enum class OutputKind : uint8_t { automatic, memory, file, checksum };

}  // namespace pb::config
