// A test whose ranks have a GPU each. Skipped where there are fewer GPUs than ranks.
#pragma once

#include "comm/communicator.hpp"

#include "patchbench/device/device.hpp"

#include <gtest/gtest.h>

namespace pb::test {

class DeviceOfRank : public testing::Test {
  protected:
    /// All ranks skip or none: one that skipped alone would leave the others waiting.
    void SetUp() override {
        const auto visible = device::visible_cuda_devices();
        if (world.min(static_cast<double>(visible.size())) < world.size())
            GTEST_SKIP() << "needs " << world.size()
                         << " CUDA devices: " << (visible.empty() ? device::why_no_cuda_device() : "");
        device = visible[static_cast<size_t>(world.rank())].id;
    }

    const comm::Communicator world = comm::Communicator::world();
    DeviceId device;
};

}  // namespace pb::test
