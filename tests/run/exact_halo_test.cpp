// `halo: exact` gives the whole image and no smaller halo does, shown with weights that make far pixels count: each
// layer looks one pixel further in one direction and passes nothing else on, so that an output sample is the farthest
// input sample that it can depend on.
#include "run/pipeline/pipeline.hpp"
#include "run/verify/reference_path.hpp"

#include "patchbench/plan/tile_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pb::run {
namespace {

enum class Look : uint8_t { up, down, left, right };

constexpr int64_t kLong = 704, kShort = 8;

[[nodiscard]] bool is_vertical(Look look) { return look == Look::up || look == Look::down; }
[[nodiscard]] bool is_forward(Look look) { return look == Look::down || look == Look::right; }

/// Channels `from` -> `to` of a kernel, by its farthest tap (or by all of them).
void connect(engine::Convolution& convolution, int64_t from, int64_t to, Look look, bool all_taps = false) {
    const int64_t last = convolution.kernel - 1, middle = convolution.kernel == 3 ? 1 : 0;
    const int64_t far = is_forward(look) ? last : 0;
    const int64_t row = is_vertical(look) ? far : middle, column = is_vertical(look) ? middle : far;
    const int64_t first =
        convolution.transposed ? from * convolution.out_channels + to : to * convolution.in_channels + from;
    float* const kernel = convolution.weight.data() + first * convolution.kernel * convolution.kernel;
    for (int64_t y = 0; y <= last; ++y)
        for (int64_t x = 0; x <= last; ++x)
            if (all_taps || (y == row && x == column)) kernel[y * convolution.kernel + x] = 1;
}

/// DRUNet: each residual block takes the picture one channel on, so that the identities beside them, and the skips,
/// which stay on their channels, do not reach the output.
void look_far_drunet(engine::Weights& weights, Look look) {
    int64_t channel = 0;
    auto& layers = weights.convolutions;
    const auto blocks = [&](const std::string& name, int first) {
        for (int block = first; block < first + 4; ++block, ++channel) {
            const std::string res = name + "." + std::to_string(block) + ".res.";
            connect(layers.at(res + "0"), channel, channel, look);
            connect(layers.at(res + "2"), channel, channel + 1, look);
        }
    };
    connect(layers.at("m_head"), 0, 0, look);
    for (const char* name : {"m_down1", "m_down2", "m_down3"}) {
        blocks(name, 0);
        connect(layers.at(std::string(name) + ".4"), channel, channel, look);
    }
    blocks("m_body", 0);
    for (const char* name : {"m_up3", "m_up2", "m_up1"}) {
        connect(layers.at(std::string(name) + ".0"), channel, channel, look, true);
        blocks(name, 1);
    }
    connect(layers.at("m_tail"), channel, 0, look);
}

/// UNet: behind a joint the second half of the channels comes from below.
void look_far_unet(engine::Weights& weights, Look look) {
    for (auto& [name, convolution] : weights.convolutions) {
        const bool joined = name.starts_with("Up_conv") && name.ends_with(".0");
        connect(convolution, joined ? convolution.in_channels / 2 : 0, 0, look);
    }
}

engine::Weights far_looking_weights(network::NetworkKind kind, Look look) {
    engine::Weights weights = engine::make_seeded_weights(kind, 1, 1);
    for (auto& [name, convolution] : weights.convolutions) {
        std::ranges::fill(convolution.weight, 0.0F);
        std::ranges::fill(convolution.bias, 0.0F);
    }
    if (kind == network::kind_of<network::DrunetShape>())
        look_far_drunet(weights, look);
    else if (kind == network::kind_of<network::UnetShape>())
        look_far_unet(weights, look);
    else
        for (auto& [name, convolution] : weights.convolutions) connect(convolution, 0, 0, look);
    return weights;
}

/// Positive, and larger where the network looks, so that the largest of a pool is its farthest.
image::Image ramp(Look look) {
    const Extent extent = is_vertical(look) ? Extent{kLong, kShort} : Extent{kShort, kLong};
    image::Image image(extent, 1, DType::f32);
    for (int64_t i = 0; i < extent.pixels(); ++i) {
        const int64_t place = is_vertical(look) ? i / extent.w : i % extent.w;
        image.as<float>()[i] = 0.1F + 0.001F * static_cast<float>(is_forward(look) ? place : kLong - place);
    }
    return image;
}

class FarLooking {
  public:
    FarLooking(network::NetworkKind kind, Look look)
        : weights_(far_looking_weights(kind, look)), image_(ramp(look)), stream_(DeviceId{}) {
        engine::EngineOptions options;
        options.layout = Layout::contiguous;
        denoiser_ = engine::make_denoiser(weights_, options);
        if (network::network_facts(kind).takes_sigma) conversion_.sigma = 0.1F;
        whole_ = run(image_);
    }

    /// Largest difference between the image in tiles and whole.
    float tiled_error(int64_t halo) {
        const plan::TileGrid grid(image_.extent(), {64, halo, network::network_facts(weights_.kind()).alignment});
        const Rect all{0, 0, image_.extent()};
        float error = 0;
        for (int64_t index = 0; index < grid.num_windows(); ++index) {
            const Rect seen = grid.window(index), kept = grid.core(index);
            const image::Image tile = crop(run(crop(image_, all, seen)), seen, kept);
            const image::Image expected = crop(whole_, all, kept);
            for (int64_t i = 0; i < kept.extent.pixels(); ++i)
                error = std::max(error, std::abs(tile.as<float>()[i] - expected.as<float>()[i]));
        }
        return error;
    }

  private:
    image::Image run(const image::Image& image) {
        image::Image window(image.extent(), 1, DType::f32);
        std::ranges::copy(image.bytes(), window.bytes().begin());
        return run_window(*denoiser_, std::move(window), conversion_, {}, stream_);
    }

    engine::Weights weights_;
    image::Image image_, whole_;
    device::Stream stream_;
    device::Conversion conversion_;
    std::unique_ptr<engine::Denoiser> denoiser_;
};

class ExactHalo : public testing::TestWithParam<network::NetworkKind> {};

TEST_P(ExactHalo, GivesTheWholeImageAndOneStepLessDoesNot) {
    const network::NetworkFacts& facts = network::network_facts(GetParam());
    bool less_is_enough = true;
    for (const auto look : {Look::up, Look::down, Look::left, Look::right}) {
        FarLooking network(GetParam(), look);
        EXPECT_EQ(network.tiled_error(facts.exact_halo), 0) << "direction " << static_cast<int>(look);
        less_is_enough = less_is_enough && network.tiled_error(facts.exact_halo - facts.alignment) == 0;
    }
    EXPECT_FALSE(less_is_enough) << "far pixels do not count here, or the halo is larger than it must be";
}

// One of each network.
INSTANTIATE_TEST_SUITE_P(OfNetworks, ExactHalo,
                         testing::Values(network::kind_of<network::DrunetShape>(),
                                         network::kind_of<network::UnetShape>(),
                                         network::kind_of<network::DncnnShape>()),
                         [](const auto& network) { return std::string(name_of(network.param)); });

}  // namespace
}  // namespace pb::run
