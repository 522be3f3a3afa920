#include "run/pixels/measure_quality.hpp"

#include "image/quality.hpp"
#include "run/agreement.hpp"

#include <algorithm>
#include <limits>

namespace pb::run {

record::Quality measure_quality(const Slab& output, ImageSource& source) {
    const Rect whole{0, 0, source.extent()};
    const image::Image clean = source.read_clean(whole);
    const image::Image denoised = MemorySink(output, source).read(whole);
    const image::Image noisy = source.read_noisy(whole);
    const int64_t samples = whole.extent.pixels() * output.pixels.channels - source.count_gaps(whole);
    const auto psnr_to_clean = [&](const image::Image& image) {
        return image::psnr_of(image::squared_error(image.view(), clean.view()), samples);
    };
    const bool has_ssim = std::min(whole.extent.h, whole.extent.w) >= 11;
    const double none = std::numeric_limits<double>::quiet_NaN();
    return {psnr_to_clean(noisy), psnr_to_clean(denoised), has_ssim ? image::ssim(noisy.view(), clean.view()) : none,
            has_ssim ? image::ssim(denoised.view(), clean.view()) : none};
}

record::Quality measure_quality_by_windows(const Team& team, const RankShare& share, ImageSource& source) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    if (team.ranks.sum(static_cast<double>(share.streamed()->counts().not_finite)) > 0) return {none, none, none, none};
    double noisy_sum = 0, denoised_sum = 0, gaps = 0;
    together(team.ranks, [&] {
        for (const int64_t index : indices_of(share.windows_done())) {
            const Rect part = share.work().tile(index).core;
            const image::Image clean = source.read_clean(part);
            noisy_sum += image::squared_error(source.read_noisy(part).view(), clean.view());
            denoised_sum += image::squared_error(share.cores().read(part).view(), clean.view());
            gaps += static_cast<double>(source.count_gaps(part));
        }
    });
    const int64_t samples = source.extent().pixels() * source.channels() - static_cast<int64_t>(team.ranks.sum(gaps));
    return {image::psnr_of(team.ranks.sum(noisy_sum), samples), image::psnr_of(team.ranks.sum(denoised_sum), samples),
            none, none};
}

}  // namespace pb::run
