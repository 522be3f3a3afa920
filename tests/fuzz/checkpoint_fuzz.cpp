// safetensors and .pth, zip and legacy: the reader goes by the first bytes. Then the search for a network in what was
// read.
#include "fuzz/memory_file.hpp"

#include "patchbench/engine/weights.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    pb::test::expect_value_or_error(bytes, count, [](const auto& file) {
        const pb::engine::StateDict tensors = pb::engine::load_state_dict(file);
        try {
            (void)pb::engine::recognise_weights(tensors, "file");
        } catch (const pb::UsageError&) {  // few tensors are those of a network
        }
    });
    return 0;
}
