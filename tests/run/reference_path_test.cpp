// The engine that verifies a network of which the layers are not known.
#include "run/verify/reference_path.hpp"

#include <gtest/gtest.h>

namespace pb::run {
namespace {

TEST(CustomReference, TheMemoryLimitIsForTheEngineThatIsMeasured) {
    engine::Weights weights;
    weights.source = "network.onnx";
    engine::EngineOptions measured{.engine = EngineKind::onnxruntime, .precision = Precision::bf16};
    measured.worker.memory_limit_bytes = 1 << 20;
    int num_made = 0;
    const ReferenceEngine reference =
        make_custom_reference(weights, measured, [&](const engine::EngineOptions& options) {
            ++num_made;
            EXPECT_EQ(options.worker.memory_limit_bytes, 0);
            EXPECT_EQ(options.precision, Precision::fp32);
            return nullptr;
        });
    EXPECT_EQ(num_made, 1);
    EXPECT_FALSE(reference.note.empty());
}

}  // namespace
}  // namespace pb::run
