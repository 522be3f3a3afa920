#include "device/processor_energy.hpp"

#include "device/kernel_text.hpp"

#include <fstream>
#include <string>
#include <system_error>

namespace pb::device {
namespace {

namespace fs = std::filesystem;

std::string first_word(const fs::path& file) {
    std::string word;
    std::ifstream(file) >> word;
    return word;
}

bool is_package(const fs::path& zone) {
    // A part of a package is "intel-rapl:0:1", and "intel-rapl-mmio:0" counts the same package again.
    const std::string name = zone.filename().string();
    const std::string prefix = "intel-rapl:";
    return name.starts_with(prefix) && name.find(':', prefix.size()) == std::string::npos &&
           first_word(zone / "name").starts_with("package-");
}

}  // namespace

ProcessorEnergy::ProcessorEnergy(const fs::path& folder) {
    std::error_code absent;
    for (const auto& zone : fs::directory_iterator(folder, absent)) {
        if (!is_package(zone.path())) continue;
        const auto range_uj = find_number(zone.path() / "max_energy_range_uj");
        const auto now_uj = find_number(zone.path() / "energy_uj");
        readable_ = readable_ && range_uj && now_uj;
        packages_.push_back({zone.path() / "energy_uj", range_uj.value_or(0), now_uj.value_or(0)});
    }
}

std::optional<double> ProcessorEnergy::joules() {
    if (packages_.empty() || !readable_) return std::nullopt;
    for (auto& package : packages_) {
        const auto now_uj = find_number(package.counter);
        if (!now_uj) return std::nullopt;
        const int64_t wrapped_uj = *now_uj < package.last_uj ? package.range_uj : 0;
        total_uj_ += static_cast<double>(*now_uj - package.last_uj + wrapped_uj);
        package.last_uj = *now_uj;
    }
    return total_uj_ * 1e-6;
}

}  // namespace pb::device
