// Energy of this host's processors, where the kernel counts it (Linux powercap, intel-rapl; AMD processors too). The
// counters wrap and, on most systems, only root may read them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace pb::device {

class ProcessorEnergy {
  public:
    /// Opens the zones `intel-rapl:<n>` of `folder` that are called package-<n>. Psys and parts of a package are left
    /// out: they would be counted twice.
    explicit ProcessorEnergy(const std::filesystem::path& folder);

    /// Joules since construction, of all packages together; none when there is no package or one cannot be read. To be
    /// called at least once each time a counter wraps (minutes).
    [[nodiscard]] std::optional<double> joules();

  private:
    struct Package {
        std::filesystem::path counter;
        int64_t range_uj = 0;
        int64_t last_uj = 0;
    };
    std::vector<Package> packages_;
    bool readable_ = true;
    double total_uj_ = 0;
};

}  // namespace pb::device
