// Reads safetensors, as strictly as the reference implementation: every byte after the header must belong to exactly
// one tensor.
#include "engine/checkpoint/checkpoint_file.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>

namespace pb::engine {
namespace {

using nlohmann::json;

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kLongestHeader = uint64_t{4} << 20;  // these networks need some 15 kB
constexpr size_t kMostDimensions = 8;
constexpr size_t kMostTensors = 4096;  // these networks have some hundred

struct Entry {
    std::string key;
    ElementType type = ElementType::f32;
    std::vector<int64_t> shape;
    uint64_t begin = 0;  // bytes after the header
    uint64_t end = 0;
};

class Header {
  public:
    Header(std::string_view text, std::string name) : name_(std::move(name)), root_(parse(text)) {}

    [[nodiscard]] std::map<std::string, std::string> metadata() const {
        std::map<std::string, std::string> strings;
        if (!root_.contains("__metadata__")) return strings;
        const json& metadata = root_["__metadata__"];
        if (!metadata.is_object()) fail("__metadata__", "is no object");
        for (const auto& [key, value] : metadata.items()) {
            if (!value.is_string()) fail("__metadata__", "holds " + shown(key) + ", which is no string");
            strings[key] = value.get<std::string>();
        }
        return strings;
    }

    [[nodiscard]] std::vector<Entry> entries() const {
        std::vector<Entry> all;
        for (const auto& [key, value] : root_.items())
            if (key != "__metadata__") all.push_back(entry(key, value));
        if (all.size() > kMostTensors) fail("", fmt::format("lists {} tensors", all.size()));
        return all;
    }

    [[noreturn]] void fail(const std::string& key, const std::string& reason) const {
        fail("header entry " + shown(key) + " " + reason);
    }
    [[noreturn]] void fail(const std::string& what) const {
        throw UsageError(name_ + ", " + what + ": the file is damaged or not safetensors");
    }

  private:
    // Duplicate keys and deep nesting are refused during parsing: the parsed object would hide duplicates, and nesting
    // would take memory.
    [[nodiscard]] json parse(std::string_view text) const {
        constexpr int kDeepest = 3;
        std::array<std::set<std::string>, kDeepest + 1> keys;
        const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
            if (depth > kDeepest) fail("the header is nested too deeply");
            const auto level = static_cast<size_t>(depth);
            if (event == json::parse_event_t::object_start && depth < kDeepest) keys[level + 1].clear();
            if (event == json::parse_event_t::key && !keys[level].insert(parsed.get<std::string>()).second)
                fail(parsed.get<std::string>(), "is there twice");
            return true;
        };
        try {
            json root = json::parse(text, check);
            if (!root.is_object()) fail("the header is no object");
            return root;
        } catch (const json::exception& error) {
            throw UsageError(name_ + ": the safetensors header is no JSON: " + error.what());
        }
    }

    [[nodiscard]] Entry entry(const std::string& key, const json& value) const {
        if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
            !value.contains("data_offsets"))
            fail(key, "does not consist of dtype, shape and data_offsets");
        Entry read{.key = key};
        const auto type =
            value["dtype"].is_string() ? find_safetensors_type(value["dtype"].get<std::string>()) : std::nullopt;
        if (!type) fail(key, "has a dtype that is not supported (F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL)");
        read.type = *type;
        for (const uint64_t extent : numbers(key, value["shape"], kMostDimensions))
            read.shape.push_back(static_cast<int64_t>(extent));
        const auto offsets = numbers(key, value["data_offsets"], 2);
        if (offsets.size() != 2 || offsets[0] > offsets[1]) fail(key, "has data_offsets that are no range");
        read.begin = offsets[0];
        read.end = offsets[1];
        const auto elements = checked_elements(read.shape);
        const uint64_t bytes = read.end - read.begin;
        if (!elements || bytes % size_of(*type) != 0 || bytes / size_of(*type) != static_cast<uint64_t>(*elements))
            fail(key, fmt::format("has a shape that does not fit its {} bytes", bytes));
        return read;
    }

    [[nodiscard]] std::vector<uint64_t> numbers(const std::string& key, const json& value, size_t most) const {
        constexpr uint64_t kLargest = uint64_t{1} << 62;
        if (!value.is_array() || value.size() > most) fail(key, "has a shape or offsets that are no short array");
        std::vector<uint64_t> all;
        for (const json& number : value) {
            if (!number.is_number_unsigned() || number.get<uint64_t>() > kLargest)
                fail(key, "has a shape or offsets that are no sizes");
            all.push_back(number.get<uint64_t>());
        }
        return all;
    }

    std::string name_;
    json root_;
};

// Sorts tensors by their place in the file, so that one comparison with the end of the previous one finds overlaps and
// gaps.
void check_places(const Header& header, std::vector<Entry>& entries, uint64_t bytes) {
    std::ranges::sort(entries, {}, [](const Entry& entry) { return std::pair(entry.begin, entry.end); });
    uint64_t reached = 0;
    for (const Entry& entry : entries) {
        if (entry.begin != reached)
            header.fail(entry.key, entry.begin < reached ? "overlaps another tensor" : "follows a gap");
        if (entry.end > bytes)
            header.fail(entry.key, fmt::format("ends at byte {} of the data, which has {} bytes", entry.end, bytes));
        reached = entry.end;
    }
    if (reached != bytes)
        header.fail(fmt::format("the last {} bytes belong to no tensor of the header", bytes - reached));
}

}  // namespace

bool is_safetensors(Bytes file) { return file.size() > kLengthBytes && file[kLengthBytes] == std::byte{'{'}; }

Checkpoint read_safetensors(Bytes file, const std::string& name) {
    ByteReader reader(file, name);
    const auto length = reader.take_integer<uint64_t>();
    if (length > kLongestHeader) reader.fail(fmt::format("a header of {} bytes: damaged, or too large", length));
    const Header header(reader.take_text(length), name);
    std::vector<Entry> entries = header.entries();
    const Bytes data = reader.take(reader.left());
    check_places(header, entries, data.size());
    Checkpoint checkpoint{.metadata = header.metadata()};
    for (Entry& entry : entries)
        checkpoint.tensors[entry.key] = {std::move(entry.shape),
                                         to_floats(data.subspan(entry.begin, entry.end - entry.begin), entry.type),
                                         is_integer(entry.type)};
    return checkpoint;
}

}  // namespace pb::engine
