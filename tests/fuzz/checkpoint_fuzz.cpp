// safetensors and .pth, zip and legacy: the reader goes by the first bytes.
#include "fuzz/memory_file.hpp"

#include "patchbench/engine/state_dict.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    pb::test::expect_value_or_error(bytes, count, [](const auto& file) { (void)pb::engine::load_state_dict(file); });
    return 0;
}
