#include "communicator.hpp"

#include "fake_stream.hpp"

#include <mpi.h>

#include <cstring>
#include <map>
#include <optional>

namespace fake {
namespace {

constexpr int kFirstTag = 1000;  // messages, greetings and tables of a communicator have tags of their own
constexpr int kMaxRanks = 64;    // of a job

struct Id {
    int maker = 0;  // in MPI_COMM_WORLD
    int number = 0;
};

struct Greeting {
    int rank = 0;
    int world_rank = 0;
    int version = 0;
};

std::map<ncclComm_t, Shared>& all() {
    static std::map<ncclComm_t, Shared> communicators;
    return communicators;
}

Bytes bytes_of(const std::vector<Greeting>& greetings) {
    Bytes bytes(greetings.size() * sizeof(Greeting));
    std::memcpy(bytes.data(), greetings.data(), bytes.size());
    return bytes;
}

std::vector<Greeting> greetings_in(const Bytes& bytes) {
    std::vector<Greeting> greetings(bytes.size() / sizeof(Greeting));
    std::memcpy(greetings.data(), bytes.data(), bytes.size());
    return greetings;
}

/// NCCL's own words and code for it (init.cc).
void check_versions(ncclComm& communicator, const std::vector<Greeting>& ranks) {
    for (const Greeting& each : ranks)
        if (each.version != ranks[0].version)
            communicator.fail(ncclInvalidUsage, "Mismatched NCCL version detected : rank " + std::to_string(each.rank) +
                                                    " version " + std::to_string(each.version) + " rank 0 version " +
                                                    std::to_string(ranks[0].version));
}

/// Whoever made the id collects the greetings and sends all of them to each.
class Meeting {
  public:
    Meeting(Shared communicator, int num_ranks, const Id& id)
        : communicator_(std::move(communicator)), id_(id), table_(static_cast<size_t>(num_ranks)) {}

    bool go_on() {
        if (id_.maker == world_rank() && !collect()) return false;
        const auto table = receive(id_.maker, communicator_->tag + 2);
        if (!table) return false;
        const std::vector<Greeting> ranks = greetings_in(*table);
        for (const Greeting& each : ranks) communicator_->world.push_back(each.world_rank);
        check_versions(*communicator_, ranks);
        return true;
    }

  private:
    /// True once all have come and were told.
    bool collect() {
        while (num_come_ < table_.size()) {
            const auto greeting = receive(MPI_ANY_SOURCE, communicator_->tag + 1);
            if (!greeting) return false;
            const Greeting who = greetings_in(*greeting).front();
            table_[static_cast<size_t>(who.rank)] = who;
            if (++num_come_ == table_.size())
                for (const Greeting& each : table_) send(each.world_rank, communicator_->tag + 2, bytes_of(table_));
        }
        return true;
    }

    Shared communicator_;
    Id id_;
    std::vector<Greeting> table_;
    size_t num_come_ = 0;
};

}  // namespace

Shared find(ncclComm_t handle) {
    const auto found = all().find(handle);
    return found == all().end() ? nullptr : found->second;
}

ncclComm_t keep(Shared communicator) {
    const ncclComm_t handle = communicator.get();
    all()[handle] = std::move(communicator);
    return handle;
}

void forget(ncclComm_t handle) { all().erase(handle); }

ncclResult_t begin(ncclComm& communicator, std::function<bool()> rest) {
    communicator.patience = random_patience();
    communicator.rest = std::move(rest);
    return communicator.state = ncclInProgress;
}

ncclResult_t look_at(ncclComm& communicator) {
    if (communicator.state != ncclInProgress || --communicator.patience > 0) return communicator.state;
    if (communicator.rest() && communicator.state == ncclInProgress) communicator.state = ncclSuccess;
    return communicator.state;
}

ncclUniqueId make_id() {
    static int number = 0;
    const Id id{world_rank(), number++};
    ncclUniqueId made{};
    std::memcpy(made.internal, &id, sizeof id);
    return made;
}

ncclResult_t join(const Shared& communicator, int num_ranks, const ncclUniqueId& made, int version) {
    Id id;
    std::memcpy(&id, made.internal, sizeof id);
    communicator->tag = kFirstTag + 3 * (id.number * kMaxRanks + id.maker);
    send(id.maker, communicator->tag + 1, bytes_of({{communicator->rank, world_rank(), version}}));
    const auto meeting = std::make_shared<Meeting>(communicator, num_ranks, id);
    return begin(*communicator, [meeting] { return meeting->go_on(); });
}

}  // namespace fake
