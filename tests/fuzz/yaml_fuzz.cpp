// Studies.
#include "config/load_yaml.hpp"
#include "fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    pb::test::expect_value_or_error(bytes, count, [](const auto& file) { (void)pb::config::load_config(file, {}); });
    return 0;
}
