#include "comm/rows/transfer_channel.hpp"

#include "comm/mpi_calls.hpp"
#include "comm/nccl/backend.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pb::comm {
namespace {

constexpr int kTag = 17;
constexpr size_t kMessageBytes = size_t{4} << 20;
constexpr size_t kUnderWay = 4;  // messages of one rank at a time, so that the next is there when one is done

/// Rows as an MPI type, so that they are sent without a copy.
class RowsType {
  public:
    explicit RowsType(const Rows& rows) {
        mpi::check(MPI_Type_create_hvector(static_cast<int>(rows.count), static_cast<int>(rows.bytes),
                                           static_cast<MPI_Aint>(rows.stride), MPI_BYTE, &type_));
        mpi::check(MPI_Type_commit(&type_));
    }
    ~RowsType() { MPI_Type_free(&type_); }  // MPI keeps it until pending messages are done
    RowsType(const RowsType&) = delete;
    RowsType& operator=(const RowsType&) = delete;
    [[nodiscard]] MPI_Datatype native() const { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// The messages from one rank to the root, on either side.
class Channel {
  public:
    Channel(const Communicator& ranks, const RowTransfer& transfer)
        : ranks_(ranks), from_(transfer.from), messages_(cut_rows(transfer.rows, kMessageBytes)) {}

    /// Starts the next message and returns its bytes; 0 when none is left.
    size_t start(MPI_Request& request) {
        if (next_ == messages_.size()) return 0;
        const Rows& rows = messages_[next_++];
        const RowsType type(rows);
        const MPI_Comm native = mpi::native(ranks_);
        mpi::check(ranks_.is_root() ? MPI_Irecv(rows.first, 1, type.native(), from_, kTag, native, &request)
                                    : MPI_Isend(rows.first, 1, type.native(), 0, kTag, native, &request));
        return rows.total();
    }

    void check_length(MPI_Status& status, size_t expected) const {
        if (!ranks_.is_root()) return;  // sent, not received
        int received = 0;
        mpi::check(MPI_Get_elements(&status, MPI_BYTE, &received));
        require(static_cast<size_t>(received) == expected,
                fmt::format("rank {} sent {} bytes of its output where {} were expected", from_, received, expected));
    }

  private:
    const Communicator& ranks_;
    int from_;
    std::vector<Rows> messages_;
    size_t next_ = 0;
};

/// The root receives from all senders at the same time, directly into the rows.
class MpiChannel final : public TransferChannel {
  public:
    explicit MpiChannel(const Communicator& ranks) : ranks_(ranks.split(0, ranks.rank())) {}

    [[nodiscard]] std::string_view name() const override { return "MPI"; }

    void transfer(std::span<const RowTransfer> transfers) override {
        std::vector<Channel> channels;
        for (const RowTransfer& transfer : transfers) channels.emplace_back(ranks_, transfer);
        std::vector<MPI_Request> requests(kUnderWay * channels.size(), MPI_REQUEST_NULL);
        std::vector<size_t> lengths(requests.size());
        for (size_t i = 0; i < requests.size(); ++i) lengths[i] = channels[i / kUnderWay].start(requests[i]);
        for (;;) {
            int index = MPI_UNDEFINED;
            MPI_Status status;
            mpi::check(MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, &status));
            if (index == MPI_UNDEFINED) return;
            const auto i = static_cast<size_t>(index);
            channels[i / kUnderWay].check_length(status, lengths[i]);
            lengths[i] = channels[i / kUnderWay].start(requests[i]);
        }
    }

  private:
    Communicator ranks_;  // messages of its own
};

}  // namespace

void require_nccl_for_exchange(const Communicator& ranks, DeviceId device, bool own_device) {
    if (const auto obstacle = ranks.agree(find_nccl_obstacle(device, own_device)))
        throw UsageError("exchange: nccl is not possible\n" + *obstacle);
}

std::unique_ptr<TransferChannel> make_transfer_channel(const Communicator& ranks, const std::vector<int>& senders,
                                                       ExchangeKind kind, DeviceId device, bool own_device,
                                                       double timeout_s) {
    if (kind != ExchangeKind::nccl) return std::make_unique<MpiChannel>(ranks);
    require_nccl_for_exchange(ranks, device, own_device);
    return make_nccl_channel(ranks, senders, device, timeout_s);
}

std::vector<Rows> cut_rows(std::span<const Rows> rows, size_t limit) {
    std::vector<Rows> parts;
    for (const Rows& all : rows) {
        const size_t rows_a_part = limit / std::max<size_t>(all.bytes, 1);
        for (size_t row = 0; rows_a_part > 0 && row < all.count; row += rows_a_part)
            parts.push_back(
                {all.first + row * all.stride, std::min(rows_a_part, all.count - row), all.bytes, all.stride});
        for (size_t row = 0; rows_a_part == 0 && row < all.count; ++row)
            for (size_t begin = 0; begin < all.bytes; begin += limit) {
                const size_t bytes = std::min(limit, all.bytes - begin);
                parts.push_back({all.first + row * all.stride + begin, 1, bytes, bytes});
            }
    }
    return parts;
}

RowStream::RowStream(std::span<const Rows> rows) {
    std::vector<Rows> filled(rows.begin(), rows.end());
    std::erase_if(filled, [](const Rows& each) { return each.total() == 0; });
    for (const Rows& each : filled) left_ += each.total();
    rows_ = std::make_shared<const std::vector<Rows>>(std::move(filled));
}

template <class Copy>
void RowStream::advance(size_t bytes, Copy&& copy) {
    require(bytes <= left_, "a stream of rows was asked for more bytes than it has");
    left_ -= bytes;
    for (size_t done = 0; done < bytes;) {
        const Rows& rows = (*rows_)[index_];
        const size_t run = std::min(bytes - done, rows.bytes - offset_);
        copy(rows.first + row_ * rows.stride + offset_, done, run);
        done += run;
        offset_ += run;
        if (offset_ == rows.bytes) offset_ = 0, ++row_;
        if (row_ == rows.count) row_ = 0, ++index_;
    }
}

void RowStream::read(std::span<std::byte> next) {
    advance(next.size(), [&](const std::byte* place, size_t offset, size_t bytes) {
        std::copy_n(place, bytes, next.data() + offset);
    });
}

void RowStream::write(std::span<const std::byte> next) {
    advance(next.size(),
            [&](std::byte* place, size_t offset, size_t bytes) { std::copy_n(next.data() + offset, bytes, place); });
}

void RowStream::skip(size_t bytes) {
    advance(bytes, [](const std::byte*, size_t, size_t) {});
}

}  // namespace pb::comm
