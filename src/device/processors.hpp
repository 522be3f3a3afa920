// The host's processors as the kernel describes them: name and instruction set, cores and memory nodes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pb::device {

/// The widest instruction set that matters here, from the flags of /proc/cpuinfo: "AMX_BF16", "AVX512_BF16", "AVX-512",
/// "AVX2", "SVE", ...; "baseline" when none is known.
[[nodiscard]] std::string instruction_set(const std::string& flags);

/// Processors this process may run on (sched_getaffinity), ascending.
[[nodiscard]] std::vector<int> affinity();

/// How many threads of this process can run at a time: as many as it may use processors, or as many whole processors as
/// its control group has time for where these are fewer; at least 1.
[[nodiscard]] int usable_processors();

// Which cores and memory nodes processors belong to, as the kernel tells under /sys (Linux). A processor is a hardware
// thread; a core, which may have several, is known by the first of them.

/// The processors in a list of the kernel, or of runs_text(.., ","): "0-3,8" -> 0 1 2 3 8. What is no such list is
/// empty.
[[nodiscard]] std::vector<int> parse_processors(const std::string& text);

class ProcessorLayout {
  public:
    explicit ProcessorLayout(std::filesystem::path sys = "/sys") : sys_(std::move(sys)) {}

    /// All that are online.
    [[nodiscard]] std::vector<int> processors() const;
    /// Cores of these processors, ascending, each once. Where the kernel tells nothing every processor is a core.
    [[nodiscard]] std::vector<int> cores_of(const std::vector<int>& processors) const;
    /// Memory nodes (NUMA) beside these processors, ascending; empty where the kernel tells nothing.
    [[nodiscard]] std::vector<int> memory_nodes_of(const std::vector<int>& processors) const;
    /// The one that a device on the PCI bus hangs on ("0000:3b:00.0"); none where there is one only or it is unknown.
    [[nodiscard]] std::optional<int> memory_node_of_device(const std::string& pci_bus_id) const;

  private:
    std::filesystem::path sys_;
};

}  // namespace pb::device
