// Planted faults in the output, for tests only.
#include "base/fault.hpp"
#include "run/pixels/core_sink.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

namespace pb::run {

namespace {

/// The core of a window, f32 in [0,1] units, before it is written to the output.
struct Spoilt {
    image::Image samples;
    image::Image noisy;  // the same part of the network's input
    double step;         // the change that a fault makes: at least 1e-3, and large enough for the output's type

    [[nodiscard]] int64_t count() const { return samples.num_samples(); }
    [[nodiscard]] float* begin() { return samples.as<float>(); }
};

void add_a_little(Spoilt& part) {
    for (int64_t i = 0; i < part.count(); ++i) part.begin()[i] += static_cast<float>(part.step);
}

void shift_by_a_pixel(Spoilt& part) {
    const int64_t channels = part.samples.channels(), row = part.samples.extent().w * channels;
    for (float* begin = part.begin(); begin != part.begin() + part.count(); begin += row)
        std::copy_backward(begin, begin + row - channels, begin + row);
}

void spoil_last_channel(Spoilt& part) {
    const int64_t channels = part.samples.channels();
    for (int64_t i = channels - 1; i < part.count(); i += channels) part.begin()[i] = 0.8F * part.begin()[i] + 0.1F;
}

void be_the_identity(Spoilt& part) { part.samples = std::move(part.noisy); }

/// Does a fifth of what the network does.
void denoise_weakly(Spoilt& part) {
    const auto* noisy = part.noisy.as<float>();
    for (int64_t i = 0; i < part.count(); ++i) part.begin()[i] = noisy[i] + 0.2F * (part.begin()[i] - noisy[i]);
}

void be_constant(Spoilt& part) { std::fill_n(part.begin(), part.count(), 0.5F); }

void become_nan(Spoilt& part) { std::fill_n(part.begin(), part.count(), std::numeric_limits<float>::quiet_NaN()); }

void lose_the_last_sample(Spoilt& part) { part.begin()[part.count() - 1] = std::numeric_limits<float>::quiet_NaN(); }

using Spoil = void (*)(Spoilt&);
constexpr std::array<std::pair<std::string_view, Spoil>, 8> kSpoils{{{"add", add_a_little},
                                                                     {"shift", shift_by_a_pixel},
                                                                     {"channel", spoil_last_channel},
                                                                     {"identity", be_the_identity},
                                                                     {"weak", denoise_weakly},
                                                                     {"constant", be_constant},
                                                                     {"nan", become_nan},
                                                                     {"sample", lose_the_last_sample}}};

Spoil find_spoil(std::string_view action) {
    for (const auto& [name, spoil] : kSpoils)
        if (name == action) return spoil;
    refuse_fault(action);
}

class FaultySink final : public CoreSink {
  public:
    FaultySink(std::unique_ptr<CoreSink> sink, ImageSource& source) : sink_(std::move(sink)), source_(source) {}

    [[nodiscard]] Extent extent() const override { return sink_->extent(); }
    [[nodiscard]] DType dtype() const override { return sink_->dtype(); }
    [[nodiscard]] Quantisation quantisation() const override { return sink_->quantisation(); }
    [[nodiscard]] bool holds(const Rect& part) const override { return sink_->holds(part); }
    [[nodiscard]] image::Image read(const Rect& part) override { return sink_->read(part); }
    [[nodiscard]] image::Image as_stored(const Rect& part, const image::Image& samples) const override {
        return sink_->as_stored(part, samples);
    }
    [[nodiscard]] Slab map(const Rect& core) override { return mapped_ = sink_->map(core); }

    void commit(const Rect& core) override {
        if (const auto action = meet_value_fault("output")) spoil(core, *action);
        sink_->commit(core);
    }

  private:
    void spoil(const Rect& core, const std::string& action) {
        const Spoil change = find_spoil(action);
        const MutablePixelView samples = mapped_.part(core);
        Spoilt part{image::Image(core.extent, samples.channels, DType::f32), source_.read_noisy(core),
                    std::max(1e-3, 2 * quantisation().rounding)};
        image::to_float(samples, part.samples.view());
        change(part);
        image::from_float(part.samples.view(), samples);
    }

    std::unique_ptr<CoreSink> sink_;
    ImageSource& source_;
    Slab mapped_;
};

}  // namespace

std::unique_ptr<CoreSink> with_faults(std::unique_ptr<CoreSink> sink, ImageSource& source) {
    if (!is_fault_wanted("output")) return sink;
    return std::make_unique<FaultySink>(std::move(sink), source);
}

}  // namespace pb::run
