// main of the tests that run on several MPI ranks: only rank 0 prints, the verdict is reduced so that all ranks exit
// alike, and 77 means that every test was skipped.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <iostream>

namespace {

/// Prints failures of ranks other than 0, whose default printer is removed.
class FailurePrinter : public testing::EmptyTestEventListener {
  public:
    explicit FailurePrinter(int rank) : rank_(rank) {}
    void OnTestPartResult(const testing::TestPartResult& result) override {
        if (result.failed())
            std::cerr << "rank " << rank_ << ": " << result.file_name() << ":" << result.line_number() << ": "
                      << result.summary() << std::endl;
    }

  private:
    int rank_;
};

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);  // as the program: other tests run beside this one
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (rank != 0) {
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new FailurePrinter(rank));
    }
    const int failed = RUN_ALL_TESTS();
    const auto& unit = *testing::UnitTest::GetInstance();
    const bool skipped = unit.test_to_run_count() > 0 && unit.skipped_test_count() == unit.test_to_run_count();
    std::array<int, 2> any{failed != 0 ? 1 : 0, skipped ? 0 : 1};  // failed, ran a test
    MPI_Allreduce(MPI_IN_PLACE, any.data(), 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return any[0] != 0 ? 1 : any[1] != 0 ? 0 : 77;
}
