#include "engine/memory.hpp"
#include "engine/torch_library.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

namespace pb::engine {
namespace {

constexpr double kBriefly = 0.01;  // s

EngineOptions options_for(Precision precision, int threads = 1) {
    EngineOptions options;
    options.precision = precision;
    options.threads = threads;
    return options;
}

TEST(ComputeRates, AreThoseOfAProcessor) {
    for (const auto precision : {Precision::fp32, Precision::bf16})
        for (const int threads : {1, 2}) {
            for (const double tflops : {torch_library().matmul_tflops(options_for(precision, threads), kBriefly),
                                        torch_library().conv_tflops(options_for(precision, threads), kBriefly)}) {
                EXPECT_GT(tflops, 1e-5);
                EXPECT_LT(tflops, 100);
            }
        }
}

TEST(ComputeRates, LeaveNothingInTheAllocator) {
    (void)torch_library().conv_tflops(options_for(Precision::fp32), kBriefly);
    const int64_t before = allocator_counters({}).allocated_bytes;
    (void)torch_library().matmul_tflops(options_for(Precision::fp32), kBriefly);
    (void)torch_library().conv_tflops(options_for(Precision::fp32), kBriefly);
    EXPECT_EQ(allocator_counters({}).allocated_bytes, before);
}

TEST(ComputeRates, WithoutMemoryTheyAreOutOfMemory) {
    set_memory_limit({}, 1 << 20);
    EXPECT_THROW((void)torch_library().conv_tflops(options_for(Precision::fp32), kBriefly), OutOfMemory);
    set_memory_limit({}, 0);
    EXPECT_GT(torch_library().conv_tflops(options_for(Precision::fp32), kBriefly), 0) << "the next one works";
}

TEST(ComputeRates, WhatTheDeviceCannotDoIsRefused) {
    EXPECT_THROW((void)torch_library().matmul_tflops(options_for(Precision::fp16), kBriefly), UsageError);
    EXPECT_THROW((void)torch_library().conv_tflops(options_for(Precision::tf32), kBriefly), UsageError);
}

}  // namespace
}  // namespace pb::engine
