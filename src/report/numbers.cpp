#include "report/numbers.hpp"

#include <fmt/format.h>

#include <cmath>

namespace pb::report {

std::string readable(std::optional<double> value) {
    if (!value) return "-";
    const double size = std::abs(*value);
    if (size == 0) return "0";
    if (!std::isfinite(size)) return fmt::format("{}", *value);
    if (size >= 1000 && size < 1e6) return fmt::format("{:.0f}", *value);
    return size < 1e-3 || size >= 1e6 ? fmt::format("{:.2g}", *value) : fmt::format("{:#.4g}", *value);
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

}  // namespace pb::report
