#include "report/tables/text.hpp"

#include "base/mapped.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace pb::report {

std::string readable(std::optional<double> value) {
    if (!value) return "-";
    const double size = std::abs(*value);
    if (size == 0) return "0";
    if (!std::isfinite(size)) return fmt::format("{}", *value);
    if (size >= 1000 && size < 1e6) return fmt::format("{:.0f}", *value);
    return size < 1e-3 || size >= 1e6 ? fmt::format("{:.2g}", *value) : fmt::format("{:#.4g}", *value);
}

std::string with_interval(std::optional<double> value, const std::optional<Interval>& interval) {
    if (!interval) return readable(value);
    return readable(value) + " [" + readable(interval->low) + ", " + readable(interval->high) + "]";
}

std::string fixed(std::optional<double> value, int digits) {
    return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string readable_mib(std::optional<double> mib) { return fixed(mib, mib && *mib < 10 ? 1 : 0); }

std::string few_names(const std::vector<std::string>& names) {
    constexpr size_t kMost = 4;
    if (names.size() > kMost) return fmt::format("{} points, e.g. {}", names.size(), names.front());
    return fmt::format("{}", fmt::join(names, ", "));
}

void Remarks::add(const std::string& remark, const std::string& label) {
    auto known = std::ranges::find(remarks_, remark, &Remark::text);
    if (known == remarks_.end()) known = remarks_.insert(known, {remark, {}});
    known->labels.push_back(label);
}

std::vector<std::string> Remarks::lines(size_t num_points) const {
    return mapped(remarks_, [&](const Remark& remark) {
        const bool of_all = remark.labels.size() == num_points && num_points > 1;
        return fmt::format("{}: {}", of_all ? "all points" : few_names(remark.labels), remark.text);
    });
}

namespace {

bool starts_character(char byte) { return (byte & 0xC0) != 0x80; }

/// Where the lines begin that continue `line`.
size_t continuation_indent(const std::string& line, size_t width) {
    constexpr size_t kFarthest = 32;
    const size_t first = std::min(line.find_first_not_of(' '), line.size());
    const size_t gap = line.find("  ", first);
    const size_t column = gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
    const bool has_column = column != std::string::npos && column <= std::min(kFarthest, width / 2);
    return has_column ? column : std::min(first + 2, width / 2);
}

/// The blank at which `line` is broken: the last one within `width`, or the first one after it; npos for none. Blanks
/// before `begin` are no place to break.
size_t find_break(const std::string& line, size_t begin, size_t width) {
    const size_t end = beginning_of(line, width + 1).size();
    const size_t last = line.rfind(' ', end - 1);
    return last != std::string::npos && last > begin ? last : line.find(' ', std::max(end, begin + 1));
}

std::string folded_line(std::string line, size_t width) {
    const std::string indent(continuation_indent(line, width), ' ');
    std::string all;
    size_t begin = std::min(line.find_first_not_of(' '), line.size());
    while (width_of(line) > width) {
        const size_t at = find_break(line, begin, width);
        const size_t next = at == std::string::npos ? at : line.find_first_not_of(' ', at);
        if (next == std::string::npos) break;
        all += line.substr(0, line.find_last_not_of(' ', at) + 1) + "\n";
        line.replace(0, next, indent);
        begin = indent.size();
    }
    return all + line;
}

}  // namespace

size_t width_of(const std::string& text) { return static_cast<size_t>(std::ranges::count_if(text, starts_character)); }

std::string beginning_of(const std::string& text, size_t width) {
    size_t end = 0;
    for (size_t characters = 0; end < text.size(); ++end)
        if (starts_character(text[end]) && characters++ == width) break;
    return text.substr(0, end);
}

std::string cut_to(const std::string& text, size_t width) {
    const std::string mark = " ...";
    if (width_of(text) <= width) return text;
    std::string beginning = beginning_of(text, width - std::min(width, mark.size()));
    beginning.erase(beginning.find_last_not_of(' ') + 1);
    return beginning + mark;
}

std::vector<std::string> broken_lines(const std::string& text, size_t width) {
    std::istringstream words(text);
    std::vector<std::string> lines;
    for (std::string word; words >> word;) {
        if (lines.empty() || width_of(lines.back()) + 1 + width_of(word) > width)
            lines.push_back(word);
        else
            lines.back() += " " + word;
    }
    return lines.empty() ? std::vector<std::string>{""} : lines;
}

std::string folded(const std::string& text, size_t width) {
    if (width == kAnyWidth) return text;
    std::string all;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        all += folded_line(text.substr(begin, end - begin), width);
        if (end < text.size()) all += '\n';
        begin = end + 1;
    }
    return all;
}

}  // namespace pb::report
