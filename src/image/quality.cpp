#include "image/quality.hpp"

#include "patchbench/base/error.hpp"

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

namespace pb::image {
namespace {

void check_pair(const PixelView& a, const PixelView& b) {
    require(a.dtype == DType::f32 && b.dtype == DType::f32, "image quality is computed from f32 images");
    require(a.extent == b.extent && a.channels == b.channels && a.extent.pixels() > 0,
            "images to compare differ in extent or channels, or have no pixels");
}

using RowSamples = std::span<const float>;

/// Calls `use(y, a's row, b's row)` for each row of two images.
template <class Use>
void for_each_row(const PixelView& a, const PixelView& b, Use&& use) {
    check_pair(a, b);
    for (int64_t y = 0; y < a.extent.h; ++y) use(y, floats_in(a, y), floats_in(b, y));
}

float clip(float v) { return std::clamp(v, 0.0F, 1.0F); }

constexpr int kBand = 64;  // rows of the result computed together, so that memory does not grow with the image

/// Returns rows [begin, begin + count) of one channel, clipped to [0,1], as doubles.
cv::Mat channel_rows(const PixelView& image, int64_t channel, int64_t begin, int64_t count) {
    cv::Mat rows(static_cast<int>(count), static_cast<int>(image.extent.w), CV_64F);
    for (int y = 0; y < rows.rows; ++y) {
        const float* from = floats_in(image, begin + y).data() + channel;
        for (int x = 0; x < rows.cols; ++x) rows.at<double>(y, x) = clip(from[x * image.channels]);
    }
    return rows;
}

/// Gaussian means of all windows that lie inside `values`.
cv::Mat window_means(const cv::Mat& values) {
    constexpr double kSigma = 1.5;
    cv::Mat means;
    cv::GaussianBlur(values, means, {kSsimWindow, kSsimWindow}, kSigma, kSigma, cv::BORDER_REFLECT);
    constexpr int kMargin = kSsimWindow / 2;
    return means({kMargin, kMargin, values.cols - 2 * kMargin, values.rows - 2 * kMargin});
}

double similarity_sum(const cv::Mat& a, const cv::Mat& b) {
    constexpr double kC1 = 0.01 * 0.01;
    constexpr double kC2 = 0.03 * 0.03;
    const cv::Mat mean_a = window_means(a);
    const cv::Mat mean_b = window_means(b);
    const cv::Mat square_a = window_means(a.mul(a));
    const cv::Mat square_b = window_means(b.mul(b));
    const cv::Mat product = window_means(a.mul(b));
    double sum = 0;
    for (int y = 0; y < mean_a.rows; ++y)
        for (int x = 0; x < mean_a.cols; ++x) {
            const double ma = mean_a.at<double>(y, x);
            const double mb = mean_b.at<double>(y, x);
            const double variances = square_a.at<double>(y, x) - ma * ma + square_b.at<double>(y, x) - mb * mb;
            const double covariance = product.at<double>(y, x) - ma * mb;
            sum += (2 * ma * mb + kC1) * (2 * covariance + kC2) / ((ma * ma + mb * mb + kC1) * (variances + kC2));
        }
    return sum;
}

constexpr int64_t kMostCells = 48;  // cells along an axis, at most
constexpr int64_t kSmallestCell = 4;

int64_t cell_of(Extent extent) {
    int64_t cell = kSmallestCell;
    while (ceil_div(std::max(extent.h, extent.w), cell) > kMostCells) cell *= 2;
    return cell;
}

/// The larger of two differences. NaN counts as the largest; std::max would lose it.
double worse(double a, double b) { return std::isnan(a) || a >= b ? a : b; }

}  // namespace

double squared_error(const PixelView& image, const PixelView& reference) {
    const auto square = [](float a, float b) {
        const double difference = static_cast<double>(clip(a)) - static_cast<double>(clip(b));
        return difference * difference;
    };
    double sum = 0;
    for_each_row(image, reference, [&](int64_t, RowSamples a, RowSamples b) {
        sum += std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(), square);
    });
    return sum;
}

int64_t count_far_outside(const PixelView& image, const PixelView& reference) {
    const auto is_far = [](float sample) { return sample < kFarBelow || sample > kFarAbove; };
    int64_t count = 0;
    for_each_row(image, reference, [&](int64_t, RowSamples a, RowSamples b) {
        for (size_t i = 0; i < a.size(); ++i) count += is_far(a[i]) && is_far(b[i]) ? 1 : 0;
    });
    return count;
}

double psnr_of(double squared_error, int64_t num_samples) {
    if (squared_error == 0) return std::numeric_limits<double>::infinity();
    return -10 * std::log10(squared_error / static_cast<double>(num_samples));
}

double ssim_sum(const PixelView& image, const PixelView& reference) {
    check_pair(image, reference);
    const int64_t rows = image.extent.h - kSsimWindow + 1;
    require(rows > 0 && image.extent.w >= kSsimWindow, "SSIM needs images as large as its window");
    double sum = 0;
    for (int64_t channel = 0; channel < image.channels; ++channel)
        for (int64_t begin = 0; begin < rows; begin += kBand) {
            const int64_t count = std::min<int64_t>(kBand, rows - begin) + kSsimWindow - 1;
            sum += similarity_sum(channel_rows(image, channel, begin, count),
                                  channel_rows(reference, channel, begin, count));
        }
    return sum;
}

double ssim_of(double ssim_sum, const Extent& extent, int64_t channels) {
    return ssim_sum / static_cast<double>((extent.h - kSsimWindow + 1) * (extent.w - kSsimWindow + 1) * channels);
}

double max_abs_difference(const PixelView& a, const PixelView& b) {
    const DifferenceMap map = map_differences(a, b);
    return std::accumulate(map.largest.begin(), map.largest.end(), 0.0, worse);
}

DifferenceMap map_differences(const PixelView& a, const PixelView& b) {
    DifferenceMap map{cell_of(a.extent), {}};
    const int64_t columns = ceil_div(a.extent.w, map.cell_px);
    map.largest.assign(static_cast<size_t>(ceil_div(a.extent.h, map.cell_px) * columns), 0.0);
    const auto cell_samples = static_cast<size_t>(map.cell_px * a.channels);
    for_each_row(a, b, [&](int64_t y, RowSamples left, RowSamples right) {
        double* cells = map.largest.data() + y / map.cell_px * columns;
        for (size_t i = 0; i < left.size(); ++i) {
            double& cell = cells[i / cell_samples];
            cell = worse(cell, std::abs(left[i] - right[i]));
        }
    });
    return map;
}

}  // namespace pb::image
