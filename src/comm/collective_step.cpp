#include "comm/collective_step.hpp"

#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "comm/mpi_calls.hpp"

#include <fmt/format.h>

#include <chrono>
#include <new>
#include <numeric>
#include <thread>
#include <utility>

namespace pb::comm::mpi {

StepOutcome try_step(const std::function<void()>& step) {
    try {
        step();
        return {};
    } catch (const OutOfMemory& error) {
        return {error.what(), true};
    } catch (const std::bad_alloc&) {
        return {"host memory ran out (std::bad_alloc)", true};
    } catch (const std::exception& error) {
        return {error.what(), false};
    }
}

void agree_on_step(const Communicator& communicator, const StepOutcome& outcome) {
    const auto agreed = communicator.agree(outcome.error);
    if (!agreed) return;
    const bool out_of_memory = communicator.max(outcome.out_of_memory ? 1 : 0) > 0;
    if (outcome.error && out_of_memory) throw OutOfMemory(*outcome.error);
    if (outcome.error) throw Error(*outcome.error);
    if (out_of_memory) throw Elsewhere<OutOfMemory>(*agreed);
    throw Elsewhere<Error>(*agreed);
}

void step_together(const Communicator& communicator, const std::function<void()>& step) {
    agree_on_step(communicator, try_step(step));
}

namespace {

constexpr int kArrivalTag = 0x5043;

/// One open receive for each rank that must arrive.
class Arrivals {
  public:
    Arrivals(const Communicator& communicator, std::vector<int> awaited)
        : awaited_(std::move(awaited)), requests_(awaited_.size(), MPI_REQUEST_NULL) {
        for (size_t i = 0; i < awaited_.size(); ++i)
            check(MPI_Irecv(nullptr, 0, MPI_BYTE, awaited_[i], kArrivalTag, native(communicator), &requests_[i]));
    }
    ~Arrivals() {
        for (MPI_Request& request : requests_) {
            if (request == MPI_REQUEST_NULL) continue;
            MPI_Cancel(&request);
            MPI_Request_free(&request);
        }
    }
    Arrivals(const Arrivals&) = delete;
    Arrivals& operator=(const Arrivals&) = delete;

    /// Ranks that have not arrived yet.
    [[nodiscard]] std::vector<int> missing() {
        std::vector<int> ranks;
        for (size_t i = 0; i < requests_.size(); ++i) {
            int has_arrived = 0;
            check(MPI_Test(&requests_[i], &has_arrived, MPI_STATUS_IGNORE));
            if (has_arrived == 0) ranks.push_back(awaited_[i]);
        }
        return ranks;
    }

  private:
    std::vector<int> awaited_;
    std::vector<MPI_Request> requests_;
};

/// Throws RanksMissing, which names the ranks that do not arrive within `timeout_s`.
void wait_for(Arrivals& arrivals, const std::string& what, double timeout_s, const std::vector<std::string>& hosts) {
    const Stopwatch watch;
    for (;;) {
        const std::vector<int> missing = arrivals.missing();
        if (missing.empty()) return;
        if (watch.seconds() > timeout_s) {
            std::vector<RankOnHost> absent;
            absent.reserve(missing.size());
            for (const int rank : missing) absent.push_back({rank, hosts[static_cast<size_t>(rank)]});
            throw RanksMissing(fmt::format("{}: no answer within {} s from {}", what, timeout_s, ranks_text(absent)));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void announce_to(int rank, const Communicator& communicator) {
    check(MPI_Send(nullptr, 0, MPI_BYTE, rank, kArrivalTag, native(communicator)));
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
        Arrivals others(communicator_, all_but_the_root(communicator_));
        wait_for(others, what, timeout_s, hosts_);
        if (communicator_.size() > 1) announce_to(1, communicator_);
    } else {
        announce_to(0, communicator_);
    }
    if (communicator_.rank() == 1) {  // rank 0 may itself be the one that hangs
        Arrivals root(communicator_, {0});
        wait_for(root, what, 2 * timeout_s, hosts_);
    }
    communicator_.barrier();
}

}  // namespace pb::comm::mpi
