// Tests that docs/results.schema.json agrees with the fields of the values.
#include "support/results_schema.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace pb::report {
namespace {

TEST(ResultsSchema, IsThatOfTheValues) {
    std::ifstream file(PATCHBENCH_SOURCE_DIR "/docs/results.schema.json");
    const record::Json committed = record::Json::parse(file)["$defs"];
    const record::Json schema = results_schema();  // outlives items(), which refers to it
    for (const auto& [name, definition] : schema.items()) {
        ASSERT_TRUE(committed.contains(name)) << name;
        EXPECT_TRUE(nlohmann::json(committed[name]) == nlohmann::json(definition))  // too long to be printed
            << name << ": run build/tests/write_results --schema docs/results.schema.json";
    }
}

}  // namespace
}  // namespace pb::report
