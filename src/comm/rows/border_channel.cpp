#include "comm/rows/border_channel.hpp"

#include "comm/mpi_calls.hpp"
#include "comm/nccl/backend.hpp"
#include "comm/watchdog.hpp"

#include <fmt/format.h>

#include <limits>
#include <vector>

namespace pb::comm {

std::unique_ptr<DeviceBorders> make_device_borders(const Communicator& ranks, ExchangeKind kind, DeviceId device,
                                                   bool own_device, double timeout_s) {
    if (kind != ExchangeKind::nccl) return nullptr;
    require_nccl_for_exchange(ranks, device, own_device);
    return make_nccl_borders(ranks, device, timeout_s);
}

namespace {

constexpr int kBorderTag = 0x5244;
constexpr const char* kWhat = "border rows";

}  // namespace

struct Neighbours::Impl {
    /// One side. Its requests are open from start() until finish().
    struct Border {
        std::optional<int> rank;
        bool has_failed = false;
        size_t expected = 0;              // bytes; 0: any
        std::vector<std::byte> unwanted;  // rows of a neighbour that does not know yet that this rank has failed
        std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};

        [[nodiscard]] bool is_open() const { return rank && !has_failed; }
    };

    void start(Border& border, const BorderRows& message) {
        if (!border.is_open()) return;
        border.expected = message.received.size();
        mpi::check(MPI_Irecv(message.received.data(), static_cast<int>(message.received.size()), MPI_BYTE, *border.rank,
                             kBorderTag, communicator, &border.requests[0]));
        mpi::check(MPI_Isend(message.sent.data(), static_cast<int>(message.sent.size()), MPI_BYTE, *border.rank,
                             kBorderTag, communicator, &border.requests[1]));
        bytes_sent += static_cast<int64_t>(message.sent.size());
    }

    /// Waits for both messages of a side. An empty one says that the neighbour has failed.
    static void finish(Border& border) {
        if (!border.is_open()) return;
        std::array<MPI_Status, 2> statuses{};
        mpi::check(MPI_Waitall(2, border.requests.data(), statuses.data()));
        int count = 0;
        mpi::check(MPI_Get_count(statuses.data(), MPI_BYTE, &count));
        border.has_failed = count == 0;
        if (count > 0 && border.expected > 0)
            require(static_cast<size_t>(count) == border.expected,
                    fmt::format("{} bytes came from rank {}, not {}", count, *border.rank, border.expected));
    }

    std::string name;  // of this rank
    MPI_Comm communicator = MPI_COMM_NULL;
    std::array<Border, 2> borders;  // above, below
    int64_t num_exchanges = 0, num_started = 0, bytes_sent = 0;
    bool in_flight = false;
};

Neighbours::Neighbours(const Communicator& all, const NeighbourRanks& ranks, size_t largest)
    : impl_(std::make_unique<Impl>()) {
    if (largest > static_cast<size_t>(std::numeric_limits<int>::max()))
        throw UsageError(
            fmt::format("halo = exchanged: a border row has {} bytes, MPI counts up to {}: choose a "
                        "narrower image, or halo: carried",
                        largest, std::numeric_limits<int>::max()));
    impl_->name = name_of_rank(all);
    impl_->communicator = mpi::native(all);
    impl_->borders[0].rank = ranks.above;
    impl_->borders[1].rank = ranks.below;
    for (Impl::Border& border : impl_->borders) border.unwanted.resize(border.rank ? largest : 0);
}

Neighbours::~Neighbours() = default;

void Neighbours::begin_pass(int64_t num_exchanges) {
    for (Impl::Border& border : impl_->borders) border.has_failed = false;
    impl_->num_exchanges = num_exchanges;
    impl_->num_started = 0;
    impl_->bytes_sent = 0;
}

void Neighbours::start(const BorderRows& above, const BorderRows& below) {
    require(!impl_->in_flight && impl_->num_started < impl_->num_exchanges, "border rows: an exchange too many");
    ++impl_->num_started;
    impl_->in_flight = true;
    or_end_job(impl_->name, kWhat, [&] {
        impl_->start(impl_->borders[0], above);
        impl_->start(impl_->borders[1], below);
    });
}

void Neighbours::finish() {
    wait();
    require_alive();
}

void Neighbours::wait() {
    or_end_job(impl_->name, kWhat, [&] {
        for (Impl::Border& border : impl_->borders) Impl::finish(border);
    });
    impl_->in_flight = false;
}

void Neighbours::require_alive() const {
    for (const Impl::Border& border : impl_->borders)
        if (border.has_failed) throw NeighbourFailed(fmt::format("rank {} has failed", *border.rank));
}

std::array<std::optional<int>, 2> Neighbours::alive() const {
    std::array<std::optional<int>, 2> ranks;
    for (size_t side = 0; side < ranks.size(); ++side)
        if (impl_->borders[side].is_open()) ranks[side] = impl_->borders[side].rank;
    return ranks;
}

void Neighbours::give_up() noexcept {
    if (impl_->in_flight) wait();
    if (impl_->num_started == impl_->num_exchanges) return;  // no neighbour waits
    ++impl_->num_started;
    or_end_job(impl_->name, kWhat, [&] {
        for (Impl::Border& border : impl_->borders) {
            impl_->start(border, {{}, border.unwanted});
            border.expected = 0;
        }
    });
    wait();
    impl_->num_exchanges = impl_->num_started;
}

int64_t Neighbours::bytes_sent() const { return impl_->bytes_sent; }

}  // namespace pb::comm
