// results.jsonl, as `--resume`, `compare` and the reports read it.
#include "fuzz/memory_file.hpp"
#include "report/results/results_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    pb::test::expect_value_or_error(bytes, count,
                                    [](const auto& file) { (void)pb::report::load_results(file).remarks(); });
    return 0;
}
