#include "patchbench/device/device.hpp"

#include "device/processors.hpp"

#include "patchbench/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

namespace pb::device {
namespace {

TEST(Device, TheListIsEmptyExactlyWhenThereIsAReason) {
    EXPECT_EQ(visible_cuda_devices().empty(), !why_no_cuda_device().empty());
}

/// What the kernel's driver shows, without CUDA: its version, its devices.
const std::filesystem::path kDriver = "/proc/driver/nvidia";

TEST(Device, WithoutADriverThereIsNoneAndTheReasonSaysSo) {
    if (std::filesystem::exists(kDriver) || std::filesystem::exists("/dev/dxg")) GTEST_SKIP() << "there is a driver";
    EXPECT_TRUE(visible_cuda_devices().empty());
    EXPECT_THAT(why_no_cuda_device(), testing::AnyOf("no NVIDIA driver", testing::HasSubstr("built without CUDA")));
}

TEST(Device, NoMoreAreListedThanTheDriverHas) {
    if (!std::filesystem::exists(kDriver / "gpus")) GTEST_SKIP() << "the kernel shows no NVIDIA devices";
    const std::filesystem::directory_iterator first(kDriver / "gpus");
    EXPECT_LE(std::ssize(visible_cuda_devices()), std::distance(first, std::filesystem::directory_iterator()));
}

TEST(Device, CudaDevicesAreNumberedInOrder) {
    const auto devices = visible_cuda_devices();
    if (devices.empty()) GTEST_SKIP() << why_no_cuda_device();
    for (size_t i = 0; i < devices.size(); ++i) {
        EXPECT_EQ(devices[i].id, (DeviceId{DeviceKind::cuda, static_cast<int>(i)}));
        EXPECT_EQ(devices[i].uuid.size(), 40U) << devices[i].uuid;
        EXPECT_GE(devices[i].pci_bus_id.size(), 12U) << devices[i].pci_bus_id;
        EXPECT_GT(devices[i].memory_bytes, 0);
    }
}

TEST(Device, AnAbsentDeviceIsAnErrorThatSaysSo) {
    const int beyond = static_cast<int>(visible_cuda_devices().size());
    EXPECT_THROW(select_device({DeviceKind::cuda, beyond}), Error);
    EXPECT_NO_THROW(select_device({}));
    EXPECT_NO_THROW(synchronise_device({}));
}

TEST(Device, TheProcessorIsDescribed) {
    const DeviceInfo info = cpu_device();
    EXPECT_EQ(info.id, DeviceId{});
    EXPECT_FALSE(info.name.empty());
    EXPECT_FALSE(info.capability.empty());
    EXPECT_TRUE(info.uuid.empty());
    EXPECT_TRUE(info.pci_bus_id.empty());
    EXPECT_EQ(info.memory_bytes, device_memory({}).total_bytes);
}

TEST(Device, FreeMemoryIsPartOfTheTotal) {
    const DeviceMemory memory = device_memory({});
    EXPECT_GT(memory.free_bytes, 0);
    EXPECT_LE(memory.free_bytes, memory.total_bytes);
}

TEST(Device, TheWidestInstructionSetIsNamed) {
    EXPECT_EQ(instruction_set("fpu sse2 avx avx2"), "AVX2");
    EXPECT_EQ(instruction_set("avx avx2 avx512f avx512bw"), "AVX-512");
    EXPECT_EQ(instruction_set("avx2 avx512f avx512_bf16"), "AVX512_BF16");
    EXPECT_EQ(instruction_set("avx512f avx512_bf16 amx_bf16 amx_tile"), "AMX_BF16");
    EXPECT_EQ(instruction_set("fp asimd"), "NEON");
    EXPECT_EQ(instruction_set("avx512fx notavx"), "baseline");
    EXPECT_EQ(instruction_set(""), "baseline");
}

TEST(Device, CudaVersionsNameTheRuntimeAndTheDriver) {
    const auto versions = cuda_versions();
    if (versions.empty()) GTEST_SKIP() << why_no_cuda_device();
    ASSERT_EQ(versions.size(), 2U);
    EXPECT_EQ(versions[0].library, "cuda_runtime");
    EXPECT_THAT(versions[0].header, testing::MatchesRegex("[0-9]+\\.[0-9]")) << "as 13.0";
    EXPECT_FALSE(versions[0].loaded.empty());
    EXPECT_EQ(versions[1].library, "cuda_driver");
    EXPECT_TRUE(visible_cuda_devices().empty() || !versions[1].loaded.empty());
}

}  // namespace
}  // namespace pb::device
