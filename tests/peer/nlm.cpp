// nlm <photo> <sigma> colour|gray <copy>: PSNR and CPU seconds of OpenCV's non-local means, at its best strength and on
// one core, on the photograph with the noise that `patchbench denoise --add-noise <sigma>` adds, clipped to 8 bits as
// it needs. The image without noise, gray if asked for, is saved as <copy> for patchbench.
#include "image/synthetic.hpp"
#include "support/load_image.hpp"
#include "support/psnr.hpp"

#include <opencv2/imgproc.hpp>
#include <opencv2/photo.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iostream>
#include <limits>
#include <string>

namespace pb {
namespace {

constexpr uint64_t kSeed = 7;  // the default of image.seed

struct Result {
    double psnr = 0;
    double seconds = std::numeric_limits<double>::infinity();
};

image::Image as_float(const image::Image& image) {
    image::Image converted(image.extent(), image.channels(), DType::f32);
    image::to_float(image.view(), converted.view());
    return converted;
}

/// Shares the samples of `image`.
cv::Mat matrix_of(image::Image& image) {
    return {static_cast<int>(image.extent().h), static_cast<int>(image.extent().w),
            image.channels() == 1 ? CV_8UC1 : CV_8UC3, image.bytes().data()};
}

image::Image as_gray(image::Image colour) {
    image::Image gray(colour.extent(), 1, DType::u8);
    cv::Mat samples = matrix_of(gray);
    cv::cvtColor(matrix_of(colour), samples, cv::COLOR_RGB2GRAY);
    return gray;
}

Result run_nlm(image::Image noisy, const image::Image& clean, float strength) {
    const cv::Mat pixels = matrix_of(noisy);
    cv::Mat denoised;
    const std::clock_t begin = std::clock();  // CPU time: that of a clock on the wall depends on other programs
    if (noisy.channels() == 1)
        cv::fastNlMeansDenoising(pixels, denoised, strength, 7, 21);
    else
        cv::fastNlMeansDenoisingColored(pixels, denoised, strength, strength, 7, 21);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::memcpy(noisy.bytes().data(), denoised.data, noisy.bytes().size());
    return {test::psnr(as_float(noisy).view(), clean.view()), seconds};
}

image::Image clipped_noise(const image::Image& clean, double sigma, double& noisy_psnr) {
    image::Image noisy = clean;
    image::add_noise(sigma, kSeed, 0, 0, noisy.view());
    noisy_psnr = test::psnr(noisy.view(), clean.view());
    image::Image clipped(clean.extent(), clean.channels(), DType::u8);
    image::from_float(noisy.view(), clipped.view());
    return clipped;
}

int report(const char* photo, double sigma, bool gray, const char* copy) {
    const image::Image original = gray ? as_gray(image::load_image(photo)) : image::load_image(photo);
    image::save_image({.pixels = original.view()}, copy);
    const image::Image clean = as_float(original);
    double noisy_psnr = 0;
    const image::Image noisy = clipped_noise(clean, sigma, noisy_psnr);
    Result best;
    for (const float factor : {0.2F, 0.31F, 0.43F, 0.55F, 0.7F, 0.86F, 1.1F}) {
        const Result result = run_nlm(noisy, clean, factor * 255 * static_cast<float>(sigma));
        best = {std::max(best.psnr, result.psnr), std::min(best.seconds, result.seconds)};
    }
    std::printf("noisy %.3f nlm %.3f seconds %.3f mpx %.4f\n", noisy_psnr, best.psnr, best.seconds,
                static_cast<double>(clean.extent().h * clean.extent().w) / 1e6);
    return 0;
}

}  // namespace
}  // namespace pb

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    try {
        cv::setNumThreads(1);
        return pb::report(argv[1], std::stod(argv[2]), std::string(argv[3]) == "gray", argv[4]);
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
