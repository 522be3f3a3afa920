#include "image/sample_map.hpp"

#include <algorithm>
#include <cmath>

namespace pb::image {
namespace {

/// The samples of one channel around a pixel. Coordinates are those of `around`.
class Neighbours {
  public:
    Neighbours(const PixelView& around, int64_t y, int64_t x, int64_t channel)
        : around_(around), y_(y), x_(x), channel_(channel) {}

    /// Returns the mean of the valid samples on the smallest square ring that has any, or 0.5 when none lies within
    /// kGapReach pixels.
    [[nodiscard]] float nearest_mean() const {
        for (int64_t radius = 1; radius <= kGapReach; ++radius) {
            Sum sum;
            for (int64_t step = -radius; step <= radius; ++step) {
                add(-radius, step, sum);
                add(radius, step, sum);
                if (std::abs(step) == radius) continue;  // the loop's first two calls added the corners
                add(step, -radius, sum);
                add(step, radius, sum);
            }
            if (sum.count > 0) return static_cast<float>(sum.total / static_cast<double>(sum.count));
        }
        constexpr float kMiddle = 0.5F;
        return kMiddle;
    }

  private:
    struct Sum {
        double total = 0;
        int64_t count = 0;
    };

    void add(int64_t down, int64_t right, Sum& sum) const {
        const int64_t y = y_ + down, x = x_ + right;
        if (y < 0 || x < 0 || y >= around_.extent.h || x >= around_.extent.w) return;
        const float value = reinterpret_cast<const float*>(around_.row(y))[x * around_.channels + channel_];
        if (std::isnan(value)) return;
        sum.total += value;
        ++sum.count;
    }

    const PixelView& around_;
    int64_t y_, x_, channel_;
};

}  // namespace

Image fill_gaps(const PixelView& around, const Rect& place, const Rect& part) {
    Image filled(part.extent, around.channels, DType::f32);
    const int64_t down = part.row - place.row, right = part.column - place.column;
    for (int64_t y = 0; y < part.extent.h; ++y) {
        const auto* from = reinterpret_cast<const float*>(around.row(down + y)) + right * around.channels;
        auto* to = reinterpret_cast<float*>(filled.view().row(y));
        for (int64_t i = 0; i < part.extent.w * around.channels; ++i) {
            const int64_t x = right + i / around.channels;
            to[i] = std::isnan(from[i]) ? Neighbours(around, down + y, x, i % around.channels).nearest_mean() : from[i];
        }
    }
    return filled;
}

int64_t count_gaps(const PixelView& image) {
    int64_t count = 0;
    for (int64_t y = 0; y < image.extent.h; ++y) {
        const auto* row = reinterpret_cast<const float*>(image.row(y));
        count +=
            std::count_if(row, row + image.extent.w * image.channels, [](float value) { return std::isnan(value); });
    }
    return count;
}

}  // namespace pb::image
