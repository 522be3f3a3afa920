// A slab on a CUDA device. Border rows go straight from its memory (NCCL), or through page-locked memory of the host,
// from where MPI sends them.
#include "run/pipeline/device_rows.hpp"
#include "run/pipeline/slab_device.hpp"

#include <algorithm>
#include <array>

namespace pb::run {

namespace {

/// Border rows in memory of the device, exchanged in memory of the host.
class StagedExchange final : public engine::RowExchange {
  public:
    /// `memory`: room for the rows of each side that are sent, and of each that are received, `largest` bytes each.
    StagedExchange(engine::RowExchange& hosts, std::byte* memory, size_t largest, device::Stream& stream)
        : hosts_(hosts), memory_(memory), largest_(largest), stream_(stream) {}

    void start(const engine::BorderRows& above, const engine::BorderRows& below) override {
        there_ = {above, below};
        std::array<engine::BorderRows, 2> here;
        for (size_t side = 0; side < here.size(); ++side) {
            const auto& [sent, received] = there_[side];
            here[side] = {{place(side), sent.size()}, {place(2 + side), received.size()}};
            if (!sent.empty()) device::copy_to_host(place(side), sent.data(), sent.size(), stream_);
        }
        // The rows are here, and those of the exchange before have left this memory.
        stream_.synchronise();
        hosts_.start(here[0], here[1]);
    }

    void finish() override {
        hosts_.finish();
        for (size_t side = 0; side < there_.size(); ++side) {
            const auto& received = there_[side].received;
            if (!received.empty()) device::copy_to_device(received.data(), place(2 + side), received.size(), stream_);
        }
    }

  private:
    [[nodiscard]] std::byte* place(size_t number) const { return memory_ + number * largest_; }

    engine::RowExchange& hosts_;
    std::byte* memory_;
    size_t largest_;
    device::Stream& stream_;
    std::array<engine::BorderRows, 2> there_;
};

class StreamSlab final : public SlabDevice {
  public:
    StreamSlab(engine::Denoiser& denoiser, const network::ExchangedSlab& slab, const BatchViews& row)
        : slab_(slab),
          largest_(static_cast<size_t>(slab.traffic().largest)),
          is_staged_(row.options.device_borders == nullptr),
          borders_(row.options.device, is_staged_ ? std::max<size_t>(1, 4 * largest_) : 1),
          rows_(row, slab.held(0).size(), slab.shape().rows.size()),
          pass_(denoiser.make_slab_pass(slab, rows_.stream())) {}
    /// The maps of the pass are in use until then.
    ~StreamSlab() override { rows_.finish(); }
    StreamSlab(const StreamSlab&) = delete;
    StreamSlab& operator=(const StreamSlab&) = delete;

    void cut(const Rect& rows, WindowSource& input) override { rows_.cut(rows, input); }

    void run(engine::RowExchange* exchange, StageWatch& watch) override {
        rows_.send(slab_.held(0).size(), watch);
        if (exchange == nullptr || !is_staged_) {
            pass_->run(rows_.in(), rows_.out(), exchange);
        } else {
            StagedExchange staged(*exchange, borders_.pointer(), largest_, rows_.stream());
            pass_->run(rows_.in(), rows_.out(), &staged);
        }
    }

    void receive(std::span<const Rect> cores, StageWatch& watch) override {
        rows_.receive(slab_.shape().rows.size(), cores, watch);
    }

    void write(size_t number, const plan::Tile& band, CoreSink& output) override { rows_.write(number, band, output); }

    void compute() override {
        pass_->run(rows_.in(), rows_.out(), nullptr);
        rows_.stream().synchronise();
    }

    [[nodiscard]] device::Stream& stream() override { return rows_.stream(); }

  private:
    const network::ExchangedSlab& slab_;
    size_t largest_;  // bytes of a message
    bool is_staged_;
    device::PinnedBuffer borders_;  // in use where it is staged
    DeviceRows rows_;
    std::unique_ptr<engine::SlabPass> pass_;
};

}  // namespace

std::unique_ptr<SlabDevice> make_stream_slab(engine::Denoiser& denoiser, const network::ExchangedSlab& slab,
                                             const PipelineOptions& options, int64_t channels, DType sample_type) {
    const BatchViews row{{1, slab.shape().image.w}, channels, sample_type, options};
    return std::make_unique<StreamSlab>(denoiser, slab, row);
}

}  // namespace pb::run
