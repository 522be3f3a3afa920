// nlm <photo>: PSNR of OpenCV's fastNlMeansDenoisingColored at its best strength on the photograph with the noise that
// `patchbench denoise --add-noise 0.1` adds, clipped to 8 bits as it needs.
#include "image/image_file.hpp"
#include "image/quality.hpp"
#include "image/synthetic.hpp"

#include <opencv2/photo.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace pb {
namespace {

constexpr double kSigma = 0.1;
constexpr uint64_t kSeed = 7;  // the default of image.seed

image::Image as_float(const image::Image& image) {
    image::Image converted(image.extent(), image.channels(), DType::f32);
    image::to_float(image.view(), converted.view());
    return converted;
}

double nlm_psnr(image::Image noisy, const image::Image& clean, float strength) {
    const cv::Mat pixels(static_cast<int>(noisy.extent().h), static_cast<int>(noisy.extent().w), CV_8UC3,
                         noisy.bytes().data());
    cv::Mat denoised;
    cv::fastNlMeansDenoisingColored(pixels, denoised, strength, strength, 7, 21);
    std::memcpy(noisy.bytes().data(), denoised.data, noisy.bytes().size());
    return image::psnr(as_float(noisy).view(), clean.view());
}

int report(const char* file) {
    const image::Image clean = as_float(image::load_image(file));
    image::Image noisy = clean;
    image::add_noise(kSigma, kSeed, 0, 0, noisy.view());
    image::Image clipped(clean.extent(), 3, DType::u8);
    image::from_float(noisy.view(), clipped.view());
    double best = 0;
    for (const float strength : {5.F, 8.F, 11.F, 14.F, 18.F, 22.F, 28.F})
        best = std::max(best, nlm_psnr(clipped, clean, strength));
    std::printf("noisy %.3f nlm %.3f\n", image::psnr(noisy.view(), clean.view()), best);
    return 0;
}

}  // namespace
}  // namespace pb

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    try {
        return pb::report(argv[1]);
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
