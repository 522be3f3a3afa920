#include "image/tiff/imagej.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <sstream>
#include <utility>

namespace pb::image {
namespace {

/// The lines after the first one, in their order.
using Entries = std::vector<std::pair<std::string, std::string>>;

Entries entries_of(std::string_view description) {
    Entries entries;
    std::istringstream lines{std::string(description)};
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line))
        if (const size_t equals = line.find('='); equals != std::string::npos)
            entries.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    return entries;
}

bool is_one_of(std::string_view key, std::initializer_list<std::string_view> keys) {
    return std::ranges::find(keys, key) != keys.end();
}

int64_t count_in(std::string_view digits) {
    int64_t count = 1;
    std::from_chars(digits.data(), digits.data() + digits.size(), count);
    return count;
}

/// Those along which the stack has more than one image.
std::vector<std::string> axes_of(const Entries& entries) {
    std::vector<std::string> axes;
    for (const auto& [key, value] : entries)
        if (is_one_of(key, {"channels", "slices", "frames"}) && count_in(value) > 1) axes.push_back(key);
    return axes;
}

bool follow_each_other(std::span<const int64_t> pages) { return pages.back() - pages.front() + 1 == std::ssize(pages); }

}  // namespace

int64_t images_in_imagej_text(std::string_view description) {
    if (!is_imagej_text(description)) return 1;
    const Entries entries = entries_of(description);
    const auto images = std::ranges::find(entries, "images", &Entries::value_type::first);
    return images == entries.end() ? 1 : count_in(images->second);
}

PartOfStack describe_part(std::string_view description, std::span<const int64_t> pages) {
    const Entries entries = entries_of(description);
    const auto axes = axes_of(entries);
    const bool is_hyperstack = axes.size() > 1;
    PartOfStack part{.description = fmt::format("{}\n", description.substr(0, description.find('\n')))};
    if (pages.size() > 1) part.description += fmt::format("images={}\n", pages.size());
    if (pages.size() > 1 && axes.size() == 1) part.description += fmt::format("{}={}\n", axes.front(), pages.size());
    if (is_hyperstack) part.lost = axes;
    for (const auto& [key, value] : entries) {
        if (is_one_of(key, {"images", "channels", "slices", "frames", "hyperstack"})) continue;
        const bool is_step = is_one_of(key, {"spacing", "finterval", "fps"});
        if ((is_step && (is_hyperstack || !follow_each_other(pages))) || (is_hyperstack && key == "mode"))
            part.lost.push_back(key);
        else
            part.description += fmt::format("{}={}\n", key, value);
    }
    return part;
}

}  // namespace pb::image
