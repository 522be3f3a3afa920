// A file of a checkpoint: its bytes with a reading position, where every read is checked and every error names the file
// and the byte offset; the element types that checkpoints hold, with their conversion to float; and the readers of the
// three formats. Each gets the whole file in memory and its name for messages.
#pragma once

#include "patchbench/engine/weights.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace pb::engine {

using Bytes = std::span<const std::byte>;

/// The whole file. Throws UsageError when it cannot be read, or is larger than any checkpoint of these networks.
[[nodiscard]] std::vector<std::byte> read_file(const std::filesystem::path& file);

/// `text` for a message: in quotes, with control characters replaced, shortened. Use it for all names from a file.
[[nodiscard]] std::string shown(std::string_view text);

/// Little-endian values from memory that stays valid while the reader is used.
class ByteReader {
  public:
    /// Messages call these bytes `name`.
    ByteReader(Bytes bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

    [[nodiscard]] size_t left() const { return bytes_.size() - position_; }
    [[nodiscard]] size_t offset() const { return position_; }
    [[nodiscard]] const std::string& name() const { return name_; }

    /// The next `count` bytes; throws UsageError when the file ends before.
    [[nodiscard]] Bytes take(uint64_t count);

    [[nodiscard]] std::string_view take_text(uint64_t count);

    /// The text up to the next newline, which is skipped.
    [[nodiscard]] std::string_view take_line();

    template <class T>
    requires std::is_integral_v<T>
    [[nodiscard]] T take_integer() {
        T value{};  // the file and all supported machines are little-endian
        std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
        return value;
    }

    /// Throws UsageError: `<name>, byte <offset>: <reason>`.
    [[noreturn]] void fail(const std::string& reason) const;

  private:
    Bytes bytes_;
    std::string name_;
    size_t position_ = 0;
};

enum class ElementType : uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

[[nodiscard]] size_t size_of(ElementType type);
/// Booleans, too.
[[nodiscard]] constexpr bool is_integer(ElementType type) { return type >= ElementType::i64; }

/// `F32`, `BF16`, `I64`, ... as in a safetensors header.
[[nodiscard]] std::optional<ElementType> find_safetensors_type(std::string_view name);

/// `FloatStorage`, `HalfStorage`, ... of the Python module `torch`.
[[nodiscard]] std::optional<ElementType> find_storage_type(std::string_view name);

/// Element `index` of little-endian `bytes`, at any alignment; rounded to nearest when float is narrower.
[[nodiscard]] float element_at(Bytes bytes, ElementType type, size_t index);

/// All elements of `bytes`.
[[nodiscard]] std::vector<float> to_floats(Bytes bytes, ElementType type);

/// The product of `shape`; nullopt when an extent is negative or the product does not fit.
[[nodiscard]] std::optional<int64_t> checked_elements(const std::vector<int64_t>& shape);

/// https://github.com/huggingface/safetensors: 8 bytes length, a JSON header, the tensors without gaps.
[[nodiscard]] Checkpoint read_safetensors(Bytes file, const std::string& name);

/// torch.save since 1.6: a zip archive of stored records `<root>/data.pkl` and `<root>/data/<key>`.
[[nodiscard]] Checkpoint read_zip_pth(Bytes file, const std::string& name);

/// torch.save before 1.6: five pickles, then the storages one after the other.
[[nodiscard]] Checkpoint read_legacy_pth(Bytes file, const std::string& name);

/// Reads any of the three formats; the format is told by the first bytes, never by the name. Nested dicts under the
/// usual names (`state_dict`, `model_state_dict`, `params`, `model`, ..) are followed, averaged weights (`params_ema`,
/// `model_ema`, `ema`, ..) first; keys are those of `without_wrappers`. Throws UsageError that names the file, the
/// place (byte offset or key) and the reason. Never allocates more than a small multiple of the file's size.
[[nodiscard]] Checkpoint read_checkpoint(Bytes file, const std::string& name);

[[nodiscard]] bool is_safetensors(Bytes file);
[[nodiscard]] bool is_zip(Bytes file);
[[nodiscard]] bool is_legacy_pth(Bytes file);

}  // namespace pb::engine
