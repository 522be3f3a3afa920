// Apart from the engines, so that a Denoiser of a test needs none of them.
#include "patchbench/base/error.hpp"
#include "patchbench/engine/denoiser.hpp"

namespace pb::engine {

std::unique_ptr<BandPass> Denoiser::make_band_pass(const network::BandSchedule& /*schedule*/,
                                                   device::Stream& /*stream*/) {
    throw UsageError(
        "halo = carried: only the engines native and torch (channels_last, on CUDA or on the CPU in fp32) carry rows; "
        "choose one of them");
}

std::unique_ptr<SlabPass> Denoiser::make_slab_pass(const network::ExchangedSlab& /*slab*/, device::Stream& /*stream*/) {
    throw UsageError(
        "halo = exchanged: only the engines native and torch (channels_last, on CUDA or on the CPU in fp32) exchange "
        "rows; "
        "choose one of them");
}

std::unique_ptr<CropPass> Denoiser::make_crop_pass(const network::WindowCrop& /*crop*/, int64_t /*n*/,
                                                   device::Stream& /*stream*/) {
    return nullptr;
}

}  // namespace pb::engine
