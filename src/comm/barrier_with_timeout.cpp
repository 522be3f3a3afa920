#include "comm/barrier_with_timeout.hpp"

#include "base/rank_list.hpp"
#include "comm/metric_reduction.hpp"
#include "comm/mpi_check.hpp"

#include <fmt/format.h>

#include <chrono>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace pb::mpi {
namespace {

constexpr int kHereTag = 0x5043;

/// One open receive for each rank that is to come.
class Roll {
  public:
    Roll(const Communicator& communicator, std::vector<int> awaited)
        : awaited_(std::move(awaited)), requests_(awaited_.size(), MPI_REQUEST_NULL) {
        for (size_t i = 0; i < awaited_.size(); ++i)
            check(MPI_Irecv(nullptr, 0, MPI_BYTE, awaited_[i], kHereTag, native(communicator), &requests_[i]));
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
        for (size_t i = 0; i < requests_.size(); ++i) {
            int here = 0;
            check(MPI_Test(&requests_[i], &here, MPI_STATUS_IGNORE));
            if (here == 0) ranks.push_back(awaited_[i]);
        }
        return ranks;
    }

  private:
    std::vector<int> awaited_;
    std::vector<MPI_Request> requests_;
};

/// Waits for the ranks of `roll`; throws RanksMissing that names those which do not come.
void call(Roll& roll, const std::string& what, double timeout_s, const std::vector<std::string>& hosts) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
    for (;;) {
        const std::vector<int> missing = roll.missing();
        if (missing.empty()) return;
        if (std::chrono::steady_clock::now() > deadline) {
            std::vector<RankOnHost> absent;
            absent.reserve(missing.size());
            for (const int rank : missing) absent.push_back({rank, hosts[static_cast<size_t>(rank)]});
            throw RanksMissing(fmt::format("{}: no answer within {} s from {}", what, static_cast<int>(timeout_s),
                                           ranks_text(absent)));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void answer(int rank, const Communicator& communicator) {
    check(MPI_Send(nullptr, 0, MPI_BYTE, rank, kHereTag, native(communicator)));
}

std::vector<int> all_but_the_root(const Communicator& communicator) {
    std::vector<int> ranks(static_cast<size_t>(communicator.size()) - 1);
    std::iota(ranks.begin(), ranks.end(), 1);
    return ranks;
}

}  // namespace

BarrierWithTimeout::BarrierWithTimeout(const Communicator& communicator)
    : communicator_(communicator.split(0, communicator.rank())), hosts_(communicator_.all_gather(host_name())) {}

void BarrierWithTimeout::operator()(const std::string& what, double timeout_s) const {
    if (communicator_.is_root()) {
        Roll roll(communicator_, all_but_the_root(communicator_));
        call(roll, what, timeout_s, hosts_);
        if (communicator_.size() > 1) answer(1, communicator_);
    } else {
        answer(0, communicator_);
    }
    if (communicator_.rank() == 1) {  // rank 0 may itself be the one that hangs
        Roll roll(communicator_, {0});
        call(roll, what, 2 * timeout_s, hosts_);
    }
    communicator_.barrier();
}

}  // namespace pb::mpi
