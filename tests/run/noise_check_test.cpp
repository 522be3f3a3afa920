// Noise that is not what was asked for: the check against sources that change it.
#include "base/atomic_file.hpp"
#include "run/pixels/image_source.hpp"
#include "run/verify/probes.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace pb::run {
namespace {

using testing::HasSubstr;

constexpr double kSigma = 0.1;
const std::vector<Rect> kParts{{0, 0, {40, 50}}, {50, 30, {46, 20}}};  // 8760 samples: five errors are 4 % of sigma

config::ImageSettings noisy_scene() {
    config::ImageSettings image{.height = 96, .width = 80, .channels = 3};
    image.noise_sigma = kSigma;
    return image;
}

/// The source's noise times `factor`, and `shift` more.
class AlteredNoise final : public WindowSource {
  public:
    AlteredNoise(ImageSource& source, float factor, float shift) : source_(source), factor_(factor), shift_(shift) {}

    [[nodiscard]] Slab read(const Rect& window) override {
        const image::Image clean = source_.read_clean(window), noisy = source_.read_noisy(window);
        samples_.clear();
        for (int64_t y = 0; y < window.extent.h; ++y) {
            const auto* without = reinterpret_cast<const float*>(clean.view().row(y));
            const auto* with = reinterpret_cast<const float*>(noisy.view().row(y));
            for (int64_t i = 0; i < window.extent.w * source_.channels(); ++i)
                samples_.push_back(without[i] + factor_ * (with[i] - without[i]) + shift_);
        }
        auto* first = reinterpret_cast<std::byte*>(samples_.data());
        return {dense_view(first, window.extent, source_.channels(), DType::f32), source_.extent(), window.row,
                window.column};
    }

  private:
    ImageSource& source_;
    float factor_, shift_;
    std::vector<float> samples_;
};

std::string found_with(float factor, float shift) {
    ImageSource source(noisy_scene());
    AlteredNoise noisy(source, factor, shift);
    return find_wrong_noise(noisy, source, kParts, kSigma).value_or("");
}

TEST(NoiseCheck, PassesTheNoiseThatWasAskedFor) { EXPECT_EQ(found_with(1, 0), ""); }

TEST(NoiseCheck, DoesNotMissTheNoiseOfGaps) {
    const test::TemporaryFolder folder;
    std::string samples;
    for (int i = 0; i < 96 * 80; ++i) samples += static_cast<char>(i % 3 == 0 ? 0 : 100);
    write_whole(folder / "a.raw", samples);
    ImageSource source({.path = folder / "a.raw", .raw = "96x80x1:u8", .nodata = "0", .noise_sigma = kSigma});
    AlteredNoise noisy(source, 1, 0);
    EXPECT_EQ(find_wrong_noise(noisy, source, kParts, kSigma).value_or(""), "");
}

TEST(NoiseCheck, FindsNoiseOfAnotherLevel) {
    for (const float factor : {0.0F, 0.5F, 0.9F, 1.1F, 2.0F})
        EXPECT_THAT(found_with(factor, 0), HasSubstr("standard deviation")) << factor;
    EXPECT_THAT(found_with(2, 0), HasSubstr("not 0 and 0.1"));
}

TEST(NoiseCheck, FindsNoiseThatIsNotAroundZero) {
    for (const float shift : {-0.02F, 0.02F}) EXPECT_THAT(found_with(1, shift), HasSubstr("mean")) << shift;
}

}  // namespace
}  // namespace pb::run
