// The host's processor as the kernel describes it.
#pragma once

#include <cstdint>
#include <string>

namespace pb::device {

/// MemTotal of the host in bytes.
[[nodiscard]] int64_t host_memory_bytes();

/// The widest instruction set that matters here, from the flags of /proc/cpuinfo: "AMX_BF16", "AVX512_BF16", "AVX-512",
/// "AVX2", "SVE", ...; "baseline" when none is known.
[[nodiscard]] std::string instruction_set(const std::string& flags);

}  // namespace pb::device
