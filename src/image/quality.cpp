#include "image/quality.hpp"

#include "patchbench/base/error.hpp"

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace pb::image {
namespace {

void check_pair(const PixelView& a, const PixelView& b) {
    require(a.dtype == DType::f32 && b.dtype == DType::f32, "image quality is computed from f32 images");
    require(a.extent == b.extent && a.channels == b.channels && a.extent.pixels() > 0,
            "images to compare differ in extent or channels, or have no pixels");
}

const float* samples_of(const PixelView& image, int64_t y) { return reinterpret_cast<const float*>(image.row(y)); }

float clip(float v) { return std::clamp(v, 0.0F, 1.0F); }

constexpr int kBand = 64;  // rows of the result computed together, so that memory does not grow with the image

/// Returns rows [begin, begin + count) of one channel, clipped to [0,1], as doubles.
cv::Mat channel_rows(const PixelView& image, int64_t channel, int64_t begin, int64_t count) {
    cv::Mat rows(static_cast<int>(count), static_cast<int>(image.extent.w), CV_64F);
    for (int y = 0; y < rows.rows; ++y) {
        const float* from = samples_of(image, begin + y) + channel;
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
    check_pair(image, reference);
    const int64_t count = image.extent.w * image.channels;
    double sum = 0;
    for (int64_t y = 0; y < image.extent.h; ++y) {
        const float* a = samples_of(image, y);
        const float* b = samples_of(reference, y);
        double row_sum = 0;
        for (int64_t i = 0; i < count; ++i) {
            const double difference = static_cast<double>(clip(a[i])) - static_cast<double>(clip(b[i]));
            row_sum += difference * difference;
        }
        sum += row_sum;
    }
    return sum;
}

int64_t count_far_outside(const PixelView& image, const PixelView& reference) {
    check_pair(image, reference);
    const auto is_far = [](float sample) { return sample < kFarBelow || sample > kFarAbove; };
    int64_t count = 0;
    for (int64_t y = 0; y < image.extent.h; ++y) {
        const float* a = samples_of(image, y);
        const float* b = samples_of(reference, y);
        for (int64_t i = 0; i < image.extent.w * image.channels; ++i) count += is_far(a[i]) && is_far(b[i]) ? 1 : 0;
    }
    return count;
}

double psnr_of(double squared_error, int64_t num_samples) {
    if (squared_error == 0) return std::numeric_limits<double>::infinity();
    return -10 * std::log10(squared_error / static_cast<double>(num_samples));
}

double psnr(const PixelView& image, const PixelView& reference) {
    return psnr_of(squared_error(image, reference), image.extent.pixels() * image.channels);
}

double ssim(const PixelView& image, const PixelView& reference) {
    check_pair(image, reference);
    const int64_t rows = image.extent.h - kSsimWindow + 1;
    const int64_t columns = image.extent.w - kSsimWindow + 1;
    require(rows > 0 && columns > 0, "SSIM needs images as large as its window");
    double sum = 0;
    for (int64_t channel = 0; channel < image.channels; ++channel)
        for (int64_t begin = 0; begin < rows; begin += kBand) {
            const int64_t count = std::min<int64_t>(kBand, rows - begin) + kSsimWindow - 1;
            sum += similarity_sum(channel_rows(image, channel, begin, count),
                                  channel_rows(reference, channel, begin, count));
        }
    return sum / static_cast<double>(rows * columns * image.channels);
}

double max_abs_difference(const PixelView& a, const PixelView& b) {
    check_pair(a, b);
    float largest = 0;
    for (int64_t y = 0; y < a.extent.h; ++y)
        for (int64_t i = 0; i < a.extent.w * a.channels; ++i) {
            const float difference = std::abs(samples_of(a, y)[i] - samples_of(b, y)[i]);
            if (std::isnan(difference)) return std::numeric_limits<double>::quiet_NaN();
            largest = std::max(largest, difference);
        }
    return largest;
}

DifferenceMap map_differences(const PixelView& a, const PixelView& b) {
    require(a.dtype == DType::f32 && b.dtype == DType::f32, "differences are mapped between f32 images");
    require(a.extent == b.extent && a.channels == b.channels, "images to compare differ in extent or channels");
    DifferenceMap map{cell_of(a.extent), {}};
    const int64_t columns = ceil_div(a.extent.w, map.cell_px);
    map.largest.assign(static_cast<size_t>(ceil_div(a.extent.h, map.cell_px) * columns), 0.0);
    for (int64_t y = 0; y < a.extent.h; ++y) {
        const auto* left = reinterpret_cast<const float*>(a.row(y));
        const auto* right = reinterpret_cast<const float*>(b.row(y));
        double* cells = map.largest.data() + y / map.cell_px * columns;
        for (int64_t i = 0; i < a.extent.w * a.channels; ++i) {
            double& cell = cells[i / a.channels / map.cell_px];
            cell = worse(cell, std::abs(left[i] - right[i]));
        }
    }
    return map;
}

}  // namespace pb::image
