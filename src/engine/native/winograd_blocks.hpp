// How a Winograd convolution is cut into work for threads.
#pragma once

#include "network/native_layout.hpp"

#include <cstdint>

namespace pb::engine::native {

/// Work items: item = block of tiles * num_groups + group of output channels. Each thread takes as many as the others,
/// or one more.
struct WinogradBlocks {
    int64_t num_blocks = 1;
    int64_t num_groups = 1;
    [[nodiscard]] int64_t num_items() const { return num_blocks * num_groups; }
};

/// The cut with which the busiest thread takes least time. Blocks hold at most network::winograd_tiles. `tiles`: of all
/// windows. `rows`: tiles that a product computes together (Kernels::rows), of which a full block holds a multiple.
[[nodiscard]] WinogradBlocks winograd_blocks(const network::NativeConvolution& layer, int64_t tiles, int64_t threads,
                                             int64_t rows);

}  // namespace pb::engine::native
