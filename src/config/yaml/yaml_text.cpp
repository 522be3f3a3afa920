#include "config/yaml/yaml_text.hpp"

#include "base/text.hpp"
#include "base/user_paths.hpp"
#include "config/text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

namespace pb::config {

namespace {

constexpr size_t kMaxFileBytes = 1 << 20;
constexpr size_t kMaxTextBytes = 4096;
constexpr int64_t kMaxRangeEnd = int64_t{1} << 53;
const std::vector<std::string> kRangeKeys{"from", "to", "step", "factor"};

/// Records where the last document starts and ignores its contents.
class DocumentStart final : public YAML::EventHandler {
  public:
    YAML::Mark mark;
    void OnDocumentStart(const YAML::Mark& start) override { mark = start; }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
    void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
    void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  const std::string& /*value*/) override {}
    void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                         YAML::EmitterStyle::value /*style*/) override {}
    void OnSequenceEnd() override {}
    void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                    YAML::EmitterStyle::value /*style*/) override {}
    void OnMapEnd() override {}
};

/// YAML::LoadAll is not used: at a stray comma it makes empty documents without end (yaml-cpp 0.7).
std::optional<YAML::Mark> find_second_document(const std::string& text) {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    DocumentStart start;
    parser.HandleNextDocument(start);
    return parser.HandleNextDocument(start) ? std::optional(start.mark) : std::nullopt;
}

}  // namespace

std::string read_yaml_file(const std::filesystem::path& file) {
    const auto refuse = [&](const std::string& why) { throw UsageError(file.string() + ": " + why); };
    require_regular_file(file);
    std::ifstream stream(file, std::ios::binary);
    if (!stream) require_descriptors(file);
    if (!stream) refuse("cannot be read: " + std::string(std::strerror(errno)));
    std::string text(kMaxFileBytes + 1, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(stream.gcount()));
    if (text.size() > kMaxFileBytes) refuse("larger than 1 MiB: not a study");
    if (text.empty()) refuse("the file is empty");
    return text;
}

void YamlText::fail(const YAML::Mark& mark, const std::string& message) const {
    throw UsageError(place(mark).text() + ": " + message);
}

void YamlText::placing(const YAML::Mark& mark, const std::string& prefix, const std::function<void()>& read) const {
    try {
        read();
    } catch (const UsageError& error) {
        fail(mark, prefix + error.what());
    }
}

YAML::Node YamlText::parse(const std::string& text) const {
    try {
        YAML::Node document = YAML::Load(text);
        if (const auto second = find_second_document(text))
            fail(*second, "a second document (---), or a comma out of place: one study a file");
        if (document.IsNull()) throw UsageError(*origin_ + ": the file is empty");
        return document;
    } catch (const YAML::DeepRecursion& error) {
        fail(error.mark, "nested too deeply");
    } catch (const YAML::Exception& error) {
        const bool may_be_indented = error.msg == "illegal map value" || error.msg == "end of map not found";
        fail(error.mark,
             "not valid YAML: " + error.msg +
                 (may_be_indented ? ": keys of one group begin in the same column, after blanks, not tabs" : ""));
    }
}

void YamlText::count_value(const YAML::Mark& mark, const std::string& key) {
    if (--values_left_ < 0) fail(mark, key + ": a study has at most 200000 values: take a larger step or factor");
}

PlacedText YamlText::scalar(const YAML::Node& node, const std::string& key) {
    count_value(node.Mark(), key);
    if (node.IsNull()) fail(node.Mark(), key + ": has no value");
    if (!node.IsScalar())
        fail(node.Mark(), key + ": must be a single value here, not a " + (node.IsMap() ? "map" : "list"));
    if (node.Scalar().size() > kMaxTextBytes) fail(node.Mark(), key + ": the value is longer than 4096 bytes");
    if (has_controls(node.Scalar())) fail(node.Mark(), key + ": the value holds control characters");
    return {node.Scalar(), place(node.Mark())};
}

std::string YamlText::key_of(const YAML::Node& node, const std::string& prefix, Seen& seen) {
    std::string key = prefix + scalar(node, "a key").text;
    if (key == prefix + "<<") fail(node.Mark(), "merge keys (<<) are not supported: write the settings out");
    const auto [first, is_new] = seen.emplace(key, node.Mark().line + 1);
    if (!is_new) fail(node.Mark(), fmt::format("duplicate key '{}': first written on line {}", key, first->second));
    return key;
}

void YamlText::add_range(const std::string& key, const YAML::Node& range, std::vector<PlacedText>& values) {
    Seen seen;
    std::map<std::string, int64_t> numbers;
    for (const auto& entry : range) {
        const std::string word = key_of(entry.first, "", seen);
        if (std::ranges::find(kRangeKeys, word) == kRangeKeys.end()) {
            const std::string nearest = nearest_word(word, kRangeKeys);
            fail(entry.first.Mark(), fmt::format("{}: a range has from, to and step or factor, not '{}'{}", key, word,
                                                 did_you_mean(nearest)));
        }
        const PlacedText text = scalar(entry.second, fmt::format("{}.{}", key, word));
        placing(entry.second.Mark(), fmt::format("{}, {}: ", key, word),
                [&] { parse_setting(text.text, numbers[word]); });
    }
    const auto refuse = [&](const std::string& why) { fail(range.Mark(), key + ": " + why); };
    if (numbers.size() != 3 || !numbers.contains("from") || !numbers.contains("to"))
        refuse("a range is {from: 64, to: 512, step: 64} or {from: 1, to: 16, factor: 2}");
    const int64_t from = numbers["from"], to = numbers["to"];
    const bool is_sum = numbers.contains("step");
    if (from < (is_sum ? 0 : 1) || to < from) refuse(fmt::format("a range goes up, from {} or more", is_sum ? 0 : 1));
    if (to > kMaxRangeEnd) refuse(fmt::format("a range ends at {} at most", kMaxRangeEnd));
    if (is_sum ? numbers["step"] < 1 : numbers["factor"] < 2) refuse("step must be at least 1, factor at least 2");
    for (int64_t value = from; value <= to;) {
        count_value(range.Mark(), key);
        values.push_back({std::to_string(value), place(range.Mark())});
        if (!is_sum && value > to / numbers["factor"]) break;
        value = is_sum ? value + std::min(numbers["step"], kMaxRangeEnd) : value * numbers["factor"];
    }
}

Assignment YamlText::assignment(const std::string& key, const YAML::Node& key_node, const YAML::Node& value) {
    if (value.IsNull()) fail(key_node.Mark(), key + ": has no value");  // the value's own place is that of what follows
    Assignment read{key, place(key_node.Mark()), !value.IsScalar(), {}};
    const auto add = [&](const YAML::Node& item) {
        if (item.IsMap())
            add_range(key, item, read.values);
        else
            read.values.push_back(scalar(item, key));
    };
    if (value.IsSequence())
        for (const YAML::Node& item : value) add(item);
    else
        add(value);
    return read;
}

}  // namespace pb::config
