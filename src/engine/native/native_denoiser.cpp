#include "base/engine_support.hpp"
#include "engine/engines.hpp"
#include "engine/native/network.hpp"
#include "engine/native/passes.hpp"
#include "engine/windows.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

namespace pb::engine {

namespace {

void check(const EngineOptions& options) {
    const std::string where = "engine: the engine native ";
    if (options.layout != Layout::channels_last)
        throw UsageError(where + "takes windows of layout channels_last only: set that, or engine torch");
    require(options.threads > 0, fmt::format("engine: {} threads", options.threads));
    const int64_t tile = options.winograd_tile;
    require(tile == network::kWinogradTile || tile == network::kSmallWinogradTile,
            fmt::format("engine: Winograd tiles of {} pixels", tile));
    if (options.precision == Precision::bf16 && !native_multiplies_bf16())
        throw UsageError(native_bf16_refusal("here"));
}

class NativeDenoiser final : public Denoiser {
  public:
    NativeDenoiser(const Weights& weights, const EngineOptions& options)
        : expected_(expected_views(weights, options)),
          network_(weights, options),
          bf16_(options.precision == Precision::bf16) {}

    void prepare(const BatchView& in, const BatchView& out, device::Stream& /*stream*/) override {
        check_views(expected_, in, out);
    }

    void forward(const BatchView& in, const BatchView& out, device::Stream& /*stream*/) override {
        check_views(expected_, in, out);
        network_.run(in, out);
    }

    [[nodiscard]] std::string remark() const override {
        if (!bf16_) return {};
        return "native rounds the operands of 3x3 convolutions by Winograd's method to bf16; sums, maps and other "
               "layers are fp32";
    }

    [[nodiscard]] std::unique_ptr<BandPass> make_band_pass(const network::BandSchedule& schedule,
                                                           device::Stream& /*stream*/) override {
        return std::make_unique<native::Bands>(network_, schedule);
    }

    [[nodiscard]] std::unique_ptr<SlabPass> make_slab_pass(const network::ExchangedSlab& slab,
                                                           device::Stream& /*stream*/) override {
        return std::make_unique<native::Slab>(network_, slab);
    }

    [[nodiscard]] std::unique_ptr<CropPass> make_crop_pass(const network::WindowCrop& crop, int64_t n,
                                                           device::Stream& /*stream*/) override {
        return std::make_unique<native::Cropped>(network_, crop, n, expected_);
    }

    [[nodiscard]] std::vector<StepTime> forward_by_steps(const BatchView& in, const BatchView& out,
                                                         device::Stream& /*stream*/) override {
        check_views(expected_, in, out);
        StepClock clock;
        network_.run(in, out, &clock);
        return clock.times();
    }

  private:
    ExpectedViews expected_;
    native::Network network_;
    bool bf16_;
};

}  // namespace

bool native_multiplies_bf16() { return native::find_kernels().winograd_bf16 != nullptr; }

std::unique_ptr<Denoiser> make_native_denoiser(const Weights& weights, const EngineOptions& options) {
    check(options);
    return std::make_unique<NativeDenoiser>(weights, options);
}

}  // namespace pb::engine
