// Border rows from GPU to GPU, Note [Rows by NCCL]. Not run on several GPUs so far.
#include "comm/nccl/backend.hpp"
#include "comm/nccl/communicator.hpp"
#include "comm/rows/border_channel.hpp"
#include "comm/watchdog.hpp"

#include "patchbench/device/device.hpp"

#include <array>
#include <vector>

namespace pb::comm {
namespace {

constexpr const char* kByNccl = "border rows by NCCL";
constexpr double kCallTimeouts = 2;  // a call that returns ends by its own time-out

/// The byte that a rank sends to each neighbour before both give NCCL the rows between them.
struct Handshake {
    std::array<std::byte, 1> mine{}, other{};
    [[nodiscard]] BorderRows message() { return {mine, other}; }
};

class NcclBorderChannel final : public BorderChannel {
  public:
    NcclBorderChannel(nccl::NcclRanks& ranks, CallLimit& limit, const NeighbourRanks& neighbours,
                      device::Stream& stream)
        : ranks_(ranks), limit_(limit), stream_(stream), control_(ranks.ranks(), neighbours, 1) {}

    void begin_pass(int64_t num_exchanges) override {
        while (std::ssize(ends_) < num_exchanges) ends_.emplace_back(stream_.device());
        control_.begin_pass(num_exchanges);
        num_enqueued_ = num_ended_ = 0;
        bytes_sent_ = 0;
    }

    void start(const BorderRows& above, const BorderRows& below) override {
        rows_ = {above, below};
        control_.start(handshakes_[0].message(), handshakes_[1].message());
        is_started_ = true;
    }

    void finish() override {
        enqueue();
        control_.require_alive();
    }

    /// Each exchange has a time-out of its own, because the arithmetic of a pass may take longer.
    void finish_pass() override {
        or_end_job(name_, kByNccl, [&] {
            for (; num_ended_ < num_enqueued_; ++num_ended_)
                ranks_.nccl().wait_for(ends_[num_ended_], "their transfer");
        });
    }

    void give_up() noexcept override {
        if (is_started_) enqueue();
        control_.give_up();
        finish_pass();
    }

    [[nodiscard]] int64_t bytes_sent() const override { return bytes_sent_; }

  private:
    /// Gives NCCL the rows between this rank and each neighbour whose byte has come.
    void enqueue() noexcept {
        control_.wait();
        is_started_ = false;
        or_end_job(name_, kByNccl, [&] {
            device::select_device(ranks_.device());
            const auto messages = messages_to(control_.alive());
            if (!messages.empty()) limit_([&] { ranks_.nccl().exchange(messages, cuda_stream()); });
            ends_[num_enqueued_].record(stream_);
            ++num_enqueued_;
        });
    }

    [[nodiscard]] std::vector<nccl::DeviceBytes> messages_to(const std::array<std::optional<int>, 2>& neighbours) {
        std::vector<nccl::DeviceBytes> messages;
        for (size_t side = 0; side < rows_.size(); ++side) {
            if (!neighbours[side]) continue;
            const auto& [sent, received] = rows_[side];
            messages.push_back({.peer = *neighbours[side], .sent = sent.data(), .bytes = sent.size()});
            messages.push_back({.peer = *neighbours[side], .received = received.data(), .bytes = received.size()});
            bytes_sent_ += static_cast<int64_t>(sent.size());
        }
        return messages;
    }

    [[nodiscard]] cudaStream_t cuda_stream() const { return static_cast<cudaStream_t>(stream_.native()); }

    nccl::NcclRanks& ranks_;
    CallLimit& limit_;
    device::Stream& stream_;
    Neighbours control_;
    std::string name_ = name_of_rank(ranks_.ranks());
    std::array<Handshake, 2> handshakes_;  // above, below
    std::array<BorderRows, 2> rows_;
    std::vector<device::Event> ends_;  // of the exchanges of a pass
    size_t num_enqueued_ = 0, num_ended_ = 0;
    bool is_started_ = false;
    int64_t bytes_sent_ = 0;
};

class NcclBorders final : public DeviceBorders {
  public:
    NcclBorders(const Communicator& ranks, DeviceId device, double timeout_s)
        : ranks_(ranks.split(0, ranks.rank()), device, timeout_s),
          limit_(name_of_rank(ranks), std::string(kByNccl) + ": a call", kCallTimeouts * timeout_s) {}

    [[nodiscard]] std::unique_ptr<BorderChannel> open(const NeighbourRanks& neighbours,
                                                      device::Stream& stream) override {
        return std::make_unique<NcclBorderChannel>(ranks_, limit_, neighbours, stream);
    }

  private:
    nccl::NcclRanks ranks_;
    CallLimit limit_;
};

}  // namespace

std::unique_ptr<DeviceBorders> make_nccl_borders(const Communicator& ranks, DeviceId device, double timeout_s) {
    return std::make_unique<NcclBorders>(ranks, device, timeout_s);
}

}  // namespace pb::comm
