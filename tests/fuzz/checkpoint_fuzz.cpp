// safetensors and .pth, zip and legacy: the reader goes by the first bytes. Then the search for a network in what was
// read.
#include "engine/checkpoint/checkpoint_file.hpp"
#include "fuzz/memory_file.hpp"

#include "patchbench/engine/weights.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    pb::test::expect_value_or_error(bytes, count, [](const auto& file) {
        const pb::engine::StateDict tensors =
            pb::engine::read_checkpoint(pb::engine::read_file(file), file.string()).tensors;
        try {
            (void)pb::engine::recognise_weights(tensors, "file");
        } catch (const pb::UsageError&) {  // few tensors are those of a network
        }
    });
    return 0;
}
