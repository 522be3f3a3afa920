#include "comm/node_memory.hpp"

#include "comm/collective_step.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/base/shard.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace pb::comm {
namespace {

/// Reserves this rank's share of the pages; the shares cover the file.
void reserve_share(const SharedFile& file, size_t bytes, const Communicator& node) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const Range pages = shard(static_cast<int64_t>((bytes - 1) / page + 1), node.rank(), node.size());
    file.reserve(static_cast<size_t>(pages.begin) * page, std::min(static_cast<size_t>(pages.end) * page, bytes));
}

}  // namespace

SharedFile make_node_file(const Communicator& node, size_t bytes) {
    SharedFile file;
    SharedFileAddress address;
    mpi::step_together(node, [&] {
        if (!node.is_root()) return;
        require_host_memory(bytes);
        file = SharedFile(bytes);
        address = file.address();
    });
    node.broadcast(std::as_writable_bytes(std::span(&address, 1)));
    mpi::step_together(node, [&] {
        require(address.bytes == bytes,
                fmt::format("shared memory of {} bytes was asked for where rank 0 of the node asked for {}", bytes,
                            address.bytes));
        if (!node.is_root()) file = SharedFile(address);
    });
    mpi::step_together(node, [&] { reserve_share(file, bytes, node); });
    return file;
}

NodeMemory::NodeMemory(const Communicator& node, size_t bytes) {
    if (node.max(static_cast<double>(bytes)) == 0) return;
    const SharedFile file = make_node_file(node, bytes);
    mpi::step_together(node, [&] { mapping_ = file.map(); });
}

}  // namespace pb::comm
