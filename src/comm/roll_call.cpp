#include "roll_call.hpp"

#include "mpi_check.hpp"
#include "rank_texts.hpp"

#include "patchbench/comm/metric_reduction.hpp"

#include <chrono>
#include <thread>
#include <vector>

namespace pb::mpi {
namespace {

constexpr int kHereTag = 0x5043;

/// Rank 0's side: one open receive for each other rank.
class Roll {
  public:
    explicit Roll(const Communicator& communicator)
        : requests_(static_cast<size_t>(communicator.size()), MPI_REQUEST_NULL) {
        for (int rank = 1; rank < communicator.size(); ++rank)
            check(MPI_Irecv(nullptr, 0, MPI_BYTE, rank, kHereTag, native(communicator),
                            &requests_[static_cast<size_t>(rank)]));
    }
    ~Roll() {
        for (MPI_Request& request : requests_) {
            if (request == MPI_REQUEST_NULL) continue;
            MPI_Cancel(&request);
            MPI_Request_free(&request);
        }
    }
    Roll(const Roll&) = delete;
    Roll& operator=(const Roll&) = delete;

    /// Ranks that have not come yet.
    [[nodiscard]] std::vector<int> missing() {
        std::vector<int> ranks;
        for (size_t rank = 1; rank < requests_.size(); ++rank) {
            int here = 0;
            check(MPI_Test(&requests_[rank], &here, MPI_STATUS_IGNORE));
            if (here == 0) ranks.push_back(static_cast<int>(rank));
        }
        return ranks;
    }

  private:
    std::vector<MPI_Request> requests_;
};

void call(Roll& roll, const std::string& what, double timeout_s, const std::vector<std::string>& hosts) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
    for (;;) {
        const std::vector<int> missing = roll.missing();
        if (missing.empty()) return;
        if (std::chrono::steady_clock::now() > deadline) {
            std::vector<RankText> absent;
            absent.reserve(missing.size());
            for (const int rank : missing) absent.push_back({rank, hosts[static_cast<size_t>(rank)], ""});
            throw RanksMissing(what + ": no answer within " + std::to_string(static_cast<int>(timeout_s)) + " s from " +
                               (absent.size() > 1 ? "ranks " : "rank ") + rank_list(absent));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace

RollCall::RollCall(const Communicator& communicator)
    : communicator_(communicator.split(0, communicator.rank())), hosts_(communicator_.all_gather(host_name())) {}

void RollCall::operator()(const std::string& what, double timeout_s) const {
    if (communicator_.is_root()) {
        Roll roll(communicator_);
        call(roll, what, timeout_s, hosts_);
    } else {
        check(MPI_Send(nullptr, 0, MPI_BYTE, 0, kHereTag, native(communicator_)));
    }
    communicator_.barrier();
}

}  // namespace pb::mpi
