// The loops that convert rows of samples, for the instruction set that this program is compiled for, beside their
// definition: all samples of 8 and 16 bits with an extra channel and without, and values beyond both ends, between two
// samples, and NaN. Exit code 1 if one differs.
#include "base/sample_value.hpp"
#include "device/rows.hpp"

#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

namespace pb::device {
namespace {

template <class Sample>
int64_t differences_of(int64_t channels, bool extra) {
    const auto rows = std::get<RowKernels<Sample>>(find_row_kernels());
    const int64_t count =
        (std::numeric_limits<Sample>::max() + int64_t{1}) / channels - 1;  // odd: the end has its loop
    const int64_t channels_out = channels + (extra ? 1 : 0);
    const RowScale scale{1.3F, 0.2F, extra};
    std::vector<Sample> samples(static_cast<size_t>(count * channels));
    for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<Sample>(i);
    std::vector<float> network(static_cast<size_t>(count * channels_out));
    rows.to_f32(samples.data(), count, channels, scale, network.data());
    int64_t differences = 0;
    for (int64_t i = 0; i < count * channels_out; ++i) {
        const int64_t pixel = i / channels_out, channel = i % channels_out;
        const float expected = channel < channels
                                   ? to_unit(samples[static_cast<size_t>(pixel * channels + channel)]) * scale.gain
                                   : scale.sigma;
        differences += network[static_cast<size_t>(i)] == expected ? 0 : 1;
    }
    std::vector<float> values{0, -1, 2, std::nanf(""), -std::nanf(""), HUGE_VALF, -HUGE_VALF, 1e30F};
    for (const float value : network) values.push_back(value + 0.5F / kFullScale<Sample>);
    std::vector<Sample> back(values.size());
    rows.from_f32(values.data(), static_cast<int64_t>(values.size()), 0.9F, back.data());
    for (size_t i = 0; i < values.size(); ++i) differences += back[i] == from_unit<Sample>(values[i] * 0.9F) ? 0 : 1;
    return differences;
}

int run_all() {
    int64_t differences = 0;
    for (const int64_t channels : {1, 2, 3})
        for (const bool extra : {false, true})
            differences += differences_of<uint8_t>(channels, extra) + differences_of<uint16_t>(channels, extra);
    std::printf("rows of samples: %lld values differ\n", static_cast<long long>(differences));
    return differences == 0 ? 0 : 1;
}

}  // namespace
}  // namespace pb::device

int main() { return pb::device::run_all(); }
