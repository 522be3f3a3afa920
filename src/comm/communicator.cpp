#include "comm/communicator.hpp"

#include "comm/mpi_calls.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

namespace pb::comm {

struct Communicator::Impl {
    MPI_Comm handle = MPI_COMM_NULL;
    int rank = 0;
    int size = 0;

    /// Takes ownership of `owned`.
    explicit Impl(MPI_Comm owned) : handle(owned) {
        mpi::check(MPI_Comm_set_errhandler(handle, MPI_ERRORS_RETURN));
        mpi::check(MPI_Comm_rank(handle, &rank));
        mpi::check(MPI_Comm_size(handle, &size));
    }
    /// After MPI_Finalize there is nothing left to free.
    ~Impl() {
        if (mpi::is_running()) MPI_Comm_free(&handle);
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
};

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// `Row`: a string or a vector.
template <class Row>
std::vector<Row> rows_as(const mpi::RowsOfBytes& rows) {
    std::vector<Row> converted;
    converted.reserve(rows.size());
    for (const auto& bytes : rows) {
        Row& row = converted.emplace_back(bytes.size() / sizeof(typename Row::value_type), typename Row::value_type{});
        if (!row.empty()) std::memcpy(row.data(), bytes.data(), row.size() * sizeof(typename Row::value_type));
    }
    return converted;
}

/// MPI does not define the maximum of NaN, and it may differ between ranks. Here a NaN on any rank gives NaN on all.
double reduce_to_max(double value, MPI_Comm communicator) {
    const bool is_nan = std::isnan(value);
    const std::array<double, 2> mine{is_nan ? 1.0 : 0.0, is_nan ? 0.0 : value};
    std::array<double, 2> largest{};
    mpi::check(MPI_Allreduce(mine.data(), largest.data(), 2, MPI_DOUBLE, MPI_MAX, communicator));
    return largest[0] > 0 ? std::numeric_limits<double>::quiet_NaN() : largest[1];
}

}  // namespace

Communicator::Communicator() = default;
Communicator::~Communicator() = default;
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::Communicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Communicator Communicator::world() {
    MPI_Comm copy = MPI_COMM_NULL;
    mpi::check(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    return Communicator(std::make_unique<Impl>(copy));
}

bool Communicator::is_null() const { return impl_ == nullptr; }

int Communicator::size() const { return is_null() ? 0 : impl_->size; }

const Communicator::Impl& Communicator::impl() const {
    require(!is_null(), "a null communicator was used: this rank belongs to no part of the split");
    return *impl_;
}

int Communicator::rank() const { return impl().rank; }

void* Communicator::native() const { return const_cast<MPI_Comm*>(&impl().handle); }

Communicator Communicator::split(int colour, int key) const {
    MPI_Comm part = MPI_COMM_NULL;
    mpi::check(MPI_Comm_split(impl().handle, colour < 0 ? MPI_UNDEFINED : colour, key, &part));
    return part == MPI_COMM_NULL ? Communicator() : Communicator(std::make_unique<Impl>(part));
}

Communicator Communicator::node() const {
    MPI_Comm part = MPI_COMM_NULL;
    mpi::check(MPI_Comm_split_type(impl().handle, MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &part));
    return Communicator(std::make_unique<Impl>(part));
}

void Communicator::barrier() const { mpi::check(MPI_Barrier(impl().handle)); }

void Communicator::sleeping_barrier() const {
    using std::chrono::microseconds;
    constexpr microseconds kShortest{1000};
    constexpr microseconds kLongest{10000};
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check(MPI_Ibarrier(impl().handle, &request));
    int done = 0;
    for (microseconds pause = kShortest;; pause = std::min(pause * 5 / 4, kLongest)) {
        mpi::check(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (done != 0) return;
        std::this_thread::sleep_for(pause);
    }
}

void Communicator::broadcast(std::span<std::byte> bytes, int root) const { mpi::broadcast_bytes(bytes, root, *this); }

std::string Communicator::broadcast(const std::string& text, int root) const {
    auto length = static_cast<int64_t>(text.size());
    mpi::check(MPI_Bcast(&length, 1, MPI_INT64_T, root, impl().handle));
    std::string shared = rank() == root ? text : std::string(static_cast<size_t>(length), '\0');
    broadcast(std::as_writable_bytes(std::span(shared)), root);
    return shared;
}

double Communicator::broadcast(double value, int root) const {
    mpi::check(MPI_Bcast(&value, 1, MPI_DOUBLE, root, impl().handle));
    return value;
}

double Communicator::max(double value) const { return reduce_to_max(value, impl().handle); }

double Communicator::min(double value) const { return -reduce_to_max(-value, impl().handle); }

double Communicator::sum(double value) const {
    double total = 0;
    mpi::check(MPI_Allreduce(&value, &total, 1, MPI_DOUBLE, MPI_SUM, impl().handle));
    return total;
}

std::vector<std::vector<double>> Communicator::gather(std::span<const double> values) const {
    return rows_as<std::vector<double>>(mpi::gather_bytes(std::as_bytes(values), 0, *this));
}

std::vector<std::vector<double>> Communicator::all_gather(std::span<const double> values) const {
    return rows_as<std::vector<double>>(mpi::gather_bytes(std::as_bytes(values), {}, *this));
}

std::vector<std::string> Communicator::gather(const std::string& text) const {
    return rows_as<std::string>(mpi::gather_bytes(bytes_of(text), 0, *this));
}

std::vector<std::string> Communicator::all_gather(const std::string& text) const {
    return rows_as<std::string>(mpi::gather_bytes(bytes_of(text), {}, *this));
}

void Communicator::send(std::span<const std::byte> bytes, int to, int tag) const {
    mpi::send_bytes(bytes, to, tag, *this);
}

void Communicator::receive(std::span<std::byte> bytes, int from, int tag) const {
    mpi::receive_bytes(bytes, from, tag, *this);
}

std::optional<std::string> Communicator::agree(const std::optional<std::string>& error) const {
    int mine = error ? 1 : 0;
    int any = 0;
    mpi::check(MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, impl().handle));
    if (any == 0) return std::nullopt;
    // First byte: whether there is an error at all; its text may be empty.
    if (size() == 1) return error;  // whose it is needs no words
    const auto texts = all_gather(error ? "!" + *error : "");
    const auto hosts = all_gather(error ? host_name() : "");
    std::vector<RankText> failed;
    for (size_t rank = 0; rank < texts.size(); ++rank)
        if (!texts[rank].empty()) failed.push_back({{static_cast<int>(rank), hosts[rank]}, texts[rank].substr(1)});
    return merge_texts(failed);
}

std::string merge_texts(const std::vector<RankText>& all) {
    struct Group {
        std::string text;
        std::vector<RankOnHost> ranks;
    };
    std::vector<Group> groups;
    for (const auto& [rank, text] : all) {
        auto same = std::ranges::find(groups, text, &Group::text);
        if (same == groups.end()) same = groups.insert(groups.end(), {text, {}});
        same->ranks.push_back(rank);
    }
    std::string merged;
    for (const auto& [text, ranks] : groups) add_item(merged, ranks_text(ranks) + ": " + text, "\n");
    return merged;
}

std::string host_name() {
    std::array<char, 256> name{};  // HOST_NAME_MAX is 64 on Linux, 255 in POSIX
    require(gethostname(name.data(), name.size() - 1) == 0, "gethostname failed: the name of this host is unknown");
    return name.data();
}

std::string name_of_rank(const Communicator& ranks) { return fmt::format("rank {}@{}", ranks.rank(), host_name()); }

}  // namespace pb::comm
