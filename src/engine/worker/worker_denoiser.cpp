// The engines of other frameworks: a Denoiser that hands windows to a process (worker.hpp) and takes them back.
#include "base/half.hpp"
#include "base/stopwatch.hpp"
#include "engine/engines.hpp"
#include "engine/windows.hpp"
#include "engine/worker/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <type_traits>

namespace pb::engine::worker_engine {

namespace {

/// A value of one type in another: fp32, or bf16 as its bits.
template <class To, class From>
To as(From value) {
    if constexpr (std::is_same_v<To, From>)
        return value;
    else if constexpr (std::is_same_v<To, float>)
        return bf16_value(value);
    else
        return bf16_bits(value);
}

/// Copies a batch of `shape` and changes its layout and type on the way.
template <class From, class To>
void copy_batch(const From* from, Layout from_layout, To* to, Layout to_layout, const Shape& shape) {
    if (from_layout == to_layout) {
        std::transform(from, from + shape.elements(), to, [](From value) { return as<To>(value); });
        return;
    }
    const Strides source = strides_of(shape, from_layout), target = strides_of(shape, to_layout);
    const int64_t pixels = shape.h * shape.w;
    for (int64_t n = 0; n < shape.n; ++n, from += source.n, to += target.n)
        for (int64_t c = 0; c < shape.c; ++c)
            for (int64_t i = 0; i < pixels; ++i)
                to[c * target.c + i * target.w] = as<To>(from[c * source.c + i * source.w]);
}

void copy_in(const BatchView& in, float* to, Layout layout) {
    if (in.dtype == DType::bf16)
        copy_batch(static_cast<const uint16_t*>(in.pointer), in.layout, to, layout, in.shape);
    else
        copy_batch(static_cast<const float*>(in.pointer), in.layout, to, layout, in.shape);
}

void copy_out(const float* from, Layout layout, const BatchView& out) {
    if (out.dtype == DType::bf16)
        copy_batch(from, layout, static_cast<uint16_t*>(out.pointer), out.layout, out.shape);
    else
        copy_batch(from, layout, static_cast<float*>(out.pointer), out.layout, out.shape);
}

class WorkerDenoiser final : public Denoiser {
  public:
    WorkerDenoiser(const Weights& weights, const EngineOptions& options)
        : expected_(expected_views(weights, options)),
          device_(options.device),
          name_(name_of(options.engine)),
          worker_(weights, options) {
        expected_.device = {};
    }

    /// The first call on a shape compiles, plans and allocates in most frameworks: it is made here.
    void prepare(const BatchView& in, const BatchView& out, device::Stream&) override {
        check_views(expected_, in, out);
        worker_.reserve(in.shape, out.shape);
        std::fill_n(worker_.input(), in.shape.elements(), 0.0F);
        (void)worker_.run(in.shape, out.shape);
    }

    void forward(const BatchView& in, const BatchView& out, device::Stream&) override {
        check_views(expected_, in, out);
        const Stopwatch watch;
        worker_.reserve(in.shape, out.shape);
        copy_in(in, worker_.input(), worker_.layout());
        inner_call_s_ = worker_.run(in.shape, out.shape);
        inner_s_ += *inner_call_s_;
        copy_out(worker_.output(), worker_.layout(), out);
        outer_s_ += watch.seconds();
        ++num_calls_;
    }

    [[nodiscard]] int process_id() const override { return worker_.id(); }
    [[nodiscard]] bool has_ended() const override { return worker_.has_ended(); }
    [[nodiscard]] std::optional<double> inner_call_s() const override { return inner_call_s_; }
    [[nodiscard]] std::string network_sha256() const override { return worker_.network_sha256(); }
    [[nodiscard]] bool takes_host_memory() const override { return true; }
    [[nodiscard]] CopySeconds copies_of_call() const override {
        return inner_call_s_ ? worker_.copies_of_call() : CopySeconds{};
    }

    [[nodiscard]] std::string remark() const override {
        const std::string turned = worker_.layout() == expected_.layout ? "" : " and turns its layout";
        const std::string copied =
            worker_.copies().empty() ? "Python copies nothing" : "Python copies " + worker_.copies();
        std::string text = fmt::format(
            "engine {} runs in a process of its own ({}): the rank copies input and output once{}, {}{}; peak memory "
            "is "
            "the rank's windows and all that the process holds",
            name_, worker_.versions(), turned, copied, arithmetic());
        if (num_calls_ == 0) return text;
        const double inner_ms = 1e3 * inner_s_ / num_calls_, outer_ms = 1e3 * outer_s_ / num_calls_;
        return text + fmt::format("; a call took {:.4g} ms by the clock of the process, {:.4g} ms with the hand-over",
                                  inner_ms, outer_ms);
    }

  private:
    /// How the process computed in another precision than fp32.
    [[nodiscard]] std::string arithmetic() const {
        if (expected_.dtype == DType::f32) return device_text();
        const std::string& found = worker_.arithmetic();
        return device_text() + fmt::format("; {} through fp32 in the shared memory: {}", name_of(expected_.dtype),
                                           found.empty() ? "how the process computed it is not known" : found);
    }

    [[nodiscard]] std::string device_text() const {
        if (!device_.is_cuda()) return {};
        return fmt::format(
            "; the process takes windows to cuda:{} and back, which are the stages h2d and d2h; its memory "
            "on that device is in no peak",
            device_.index);
    }

    ExpectedViews expected_;
    DeviceId device_;
    std::string name_;
    Worker worker_;
    std::optional<double> inner_call_s_;
    double inner_s_ = 0, outer_s_ = 0;  // of all calls: by the clock of the process, and as the rank sees them
    int64_t num_calls_ = 0;
};

}  // namespace

std::unique_ptr<Denoiser> make_worker_denoiser(const Weights& weights, const EngineOptions& options) {
    return std::make_unique<WorkerDenoiser>(weights, options);
}

}  // namespace pb::engine::worker_engine
