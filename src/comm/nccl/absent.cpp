#include "comm/nccl/backend.hpp"

#include "patchbench/base/error.hpp"

namespace pb::comm {
namespace {
[[noreturn]] void refuse() { throw UsageError("this build has no NCCL: configure with -DPATCHBENCH_CUDA=ON"); }
}  // namespace

bool nccl_is_built_in() { return false; }

std::unique_ptr<MetricReduction> make_nccl_reduction(const Communicator&, DeviceId, double) { refuse(); }

std::unique_ptr<TransferChannel> make_nccl_channel(const Communicator&, const std::vector<int>&, DeviceId, double) {
    refuse();
}

std::unique_ptr<DeviceBorders> make_nccl_borders(const Communicator&, DeviceId, double) { refuse(); }

std::string nccl_header_version() { return "absent"; }
std::string nccl_loaded_version() { return "absent"; }

}  // namespace pb::comm
