// A CPU as the device of a pipeline, or an engine that takes windows from host memory to a device of its own. It
// computes inside submit(), so one slot is enough. Windows are converted to f32 channels_last while they are cut, and
// cores back while they are written. A network of another type or layout has its values in buffers of its own.
#include "base/stopwatch.hpp"
#include "engine/memory.hpp"
#include "run/pipeline/slot_device.hpp"

#include <utility>
#include <vector>

namespace pb::run {

namespace {

class HostDevice final : public SlotDevice {
  public:
    /// `crop`: of the windows; null: all of each is computed.
    HostDevice(engine::Denoiser& denoiser, const BatchViews& views, const network::WindowCrop* crop)
        : denoiser_(denoiser), views_(views), slot_views_(as_f32(views)), crop_(crop), stream_(views.options.device) {}

    [[nodiscard]] DeviceTraits traits() const override {
        DeviceTraits traits;
        traits.fused = views_.options.conversion;
        traits.window_in_bytes = slot_views_.in(nullptr, 1).bytes();
        traits.window_out_bytes = slot_views_.out(nullptr, 1).bytes();
        return traits;
    }

    [[nodiscard]] SlotMemory add_slot(int64_t n) override {
        in_ = engine::EngineBuffer(views_.options.device, in(n).bytes());
        out_ = engine::EngineBuffer(views_.options.device, out(n).bytes());
        denoiser_.prepare(in(n), out(n), stream_);
        if (crop_ != nullptr) pass_ = denoiser_.make_crop_pass(*crop_, n, stream_);
        if (takes_f32()) return {static_cast<std::byte*>(in_.pointer()), static_cast<std::byte*>(out_.pointer())};
        slot_.resize(slot_views_.in(nullptr, n).bytes());
        return {slot_.data(), slot_.data()};
    }

    void after_cutting(size_t /*slot*/, int64_t n) override {
        if (!takes_f32()) device::samples_to_network(slot_views_.in(slot_.data(), n), in(n), {}, stream_);
    }

    void set_cores(size_t /*slot*/, std::span<const Rect> cores) override { cores_ = cores; }

    void submit(size_t /*slot*/, int64_t n) override {
        begin_s_ = monotonic_seconds();
        forward(n);
        end_s_ = monotonic_seconds();
    }

    void wait(size_t /*slot*/, int64_t number, PassLog& log) override {
        const auto [to_device_s, to_host_s] = denoiser_.copies_of_call();
        const double forward_s = begin_s_ + to_device_s, to_host_begin_s = end_s_ - to_host_s;
        if (to_device_s > 0) add(log, {record::Stage::h2d, number, begin_s_, forward_s});
        add(log, {record::Stage::forward, number, forward_s, to_host_begin_s});
        if (to_host_s > 0) add(log, {record::Stage::d2h, number, to_host_begin_s, end_s_});
    }

    void before_writing(size_t /*slot*/, int64_t n) override {
        if (!takes_f32()) device::network_to_samples(out(n), slot_views_.out(slot_.data(), n), {}, stream_);
    }

    double forward_call(size_t /*slot*/, int64_t n) override {
        const Stopwatch watch;
        forward(n);
        return watch.seconds();
    }

    [[nodiscard]] ProfiledCall profiled_call(size_t /*slot*/, int64_t n) override {
        const Stopwatch watch;
        auto steps =
            pass_ ? pass_->run_by_steps(in(n), out(n), cores_) : denoiser_.forward_by_steps(in(n), out(n), stream_);
        return {n, n * views_.window.pixels(), watch.seconds(), std::move(steps)};
    }

  private:
    static BatchViews as_f32(BatchViews views) {
        views.options.values = DType::f32;
        views.options.layout = Layout::channels_last;
        return views;
    }
    [[nodiscard]] bool takes_f32() const {
        return views_.options.values == DType::f32 && views_.options.layout == Layout::channels_last;
    }
    void forward(int64_t n) {
        if (pass_)
            pass_->run(in(n), out(n), cores_);
        else
            denoiser_.forward(in(n), out(n), stream_);
    }
    [[nodiscard]] BatchView in(int64_t n) const { return views_.in(in_.pointer(), n); }
    [[nodiscard]] BatchView out(int64_t n) const { return views_.out(out_.pointer(), n); }

    engine::Denoiser& denoiser_;
    BatchViews views_, slot_views_;
    const network::WindowCrop* crop_;
    device::Stream stream_;
    std::unique_ptr<engine::CropPass> pass_;  // null: all of each window is computed
    std::span<const Rect> cores_;
    engine::EngineBuffer in_, out_;
    std::vector<std::byte> slot_;     // of a network that does not take f32 channels_last
    double begin_s_ = 0, end_s_ = 0;  // times of the last batch
};

}  // namespace

std::unique_ptr<Pipeline> make_host_pipeline(engine::Denoiser& denoiser, const Work& work,
                                             const PipelineOptions& options, int64_t channels, DType sample_type) {
    PipelineOptions in_host_memory = options;
    in_host_memory.device = {};
    const BatchViews views{work.window, channels, sample_type, in_host_memory};
    return make_slot_pipeline(std::make_unique<HostDevice>(denoiser, views, work.crop.get()), work);
}

}  // namespace pb::run
