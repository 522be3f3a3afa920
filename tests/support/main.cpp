// main of the tests that need no MPI: exits with 77 when every test was skipped.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    const int failed = RUN_ALL_TESTS();
    const auto& unit = *testing::UnitTest::GetInstance();
    const bool all_skipped = unit.test_to_run_count() > 0 && unit.skipped_test_count() == unit.test_to_run_count();
    return failed != 0 ? failed : all_skipped ? 77 : 0;
}
