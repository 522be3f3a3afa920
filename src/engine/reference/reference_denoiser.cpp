#include "engine/reference/reference_denoiser.hpp"

#include "engine/check_views.hpp"
#include "engine/reference/map.hpp"

#include "patchbench/base/error.hpp"

#include <utility>

namespace pb {

namespace {

using reference::Map;

/// Offset of a sample's (channel, y, x) in a view.
int64_t offset(const BatchView& view, int64_t n, int64_t c, int64_t y, int64_t x) {
    const auto& s = view.shape;
    return view.layout == Layout::channels_last ? ((n * s.h + y) * s.w + x) * s.c + c
                                                : ((n * s.c + c) * s.h + y) * s.w + x;
}

template <class Visit>
void for_each_sample(const BatchView& view, int64_t n, Map& map, Visit visit) {
    auto* samples = static_cast<float*>(view.pointer);
    for (int64_t c = 0; c < map.c; ++c)
        for (int64_t y = 0; y < map.h; ++y)
            for (int64_t x = 0; x < map.w; ++x) visit(map.row(c, y)[x], samples[offset(view, n, c, y, x)]);
}

/// The networks as deepinv writes them, with every map kept as long as it likes.
class ReferenceNetwork {
  public:
    explicit ReferenceNetwork(Weights weights) : weights_(std::move(weights)) {}

    [[nodiscard]] Map run(const Map& in) const {
        switch (weights_.kind) {
            case NetworkKind::drunet:
                return drunet(in);
            case NetworkKind::unet:
                return unet(in);
            case NetworkKind::dncnn:
                return dncnn(in);
        }
        throw Error("engine: an unknown network");
    }

  private:
    [[nodiscard]] Map apply(const std::string& name, const Map& x) const {
        const auto found = weights_.convolutions.find(name);
        require(found != weights_.convolutions.end(),
                "engine: the weights of " + weights_.source + " lack '" + name + "'");
        return reference::convolve(x, found->second);
    }

    [[nodiscard]] Map residual_blocks(const std::string& prefix, int first, Map x) const {
        for (int i = first; i < first + 4; ++i) {
            const std::string block = prefix + "." + std::to_string(i) + ".res.";
            x = reference::add(apply(block + "2", reference::relu(apply(block + "0", x))), x);
        }
        return x;
    }

    [[nodiscard]] Map drunet(const Map& in) const {
        std::vector<Map> skips{apply("m_head", in)};
        for (const std::string down : {"m_down1", "m_down2", "m_down3"})
            skips.push_back(apply(down + ".4", residual_blocks(down, 0, skips.back())));
        Map x = residual_blocks("m_body", 0, skips.back());
        for (const std::string up : {"m_up3", "m_up2", "m_up1"}) {
            x = reference::add(std::move(x), skips.back());
            skips.pop_back();
            x = residual_blocks(up, 1, apply(up + ".0", x));
        }
        return apply("m_tail", reference::add(std::move(x), skips.back()));
    }

    [[nodiscard]] Map unet_block(const std::string& name, const Map& x) const {
        return reference::relu(apply(name + ".3", reference::relu(apply(name + ".0", x))));
    }

    [[nodiscard]] Map unet(const Map& in) const {
        std::vector<Map> skips{unet_block("Conv1", in)};
        for (const std::string block : {"Conv2", "Conv3", "Conv4"})
            skips.push_back(unet_block(block, reference::max_pool_2x2(skips.back())));
        Map x = skips.back();
        for (const std::string scale : {"4", "3", "2"}) {
            skips.pop_back();
            x = reference::relu(apply("Up" + scale + ".1", reference::double_nearest(x)));
            x = unet_block("Up_conv" + scale, reference::concatenate(skips.back(), x));
        }
        return reference::add(apply("Conv_1x1", x), in);
    }

    [[nodiscard]] Map dncnn(const Map& in) const {
        Map x = reference::relu(apply("in_conv", in));
        for (int64_t i = 0; i + 2 < weights_.depth; ++i)
            x = reference::relu(apply("conv_list." + std::to_string(i), x));
        x = apply("out_conv", x);
        if (weights_.residual == Residual::add) return reference::add(std::move(x), in);
        if (weights_.residual == Residual::subtract) return reference::subtract(in, x);
        return x;
    }

    Weights weights_;
};

class ReferenceDenoiser final : public Denoiser {
  public:
    ReferenceDenoiser(const Weights& weights, const EngineOptions& options)
        : expected_(expected_views(weights, options)), network_(weights) {}

    void prepare(const BatchView& in, const BatchView& out, Stream&) override { check_views(expected_, in, out); }

    void forward(const BatchView& in, const BatchView& out, Stream&) override {
        check_views(expected_, in, out);
        for (int64_t n = 0; n < in.shape.n; ++n) {
            Map x(in.shape.c, in.shape.h, in.shape.w);
            for_each_sample(in, n, x, [](double& value, float sample) { value = sample; });
            Map y = network_.run(x);
            for_each_sample(out, n, y, [](double value, float& sample) { sample = static_cast<float>(value); });
        }
    }

  private:
    ExpectedViews expected_;
    ReferenceNetwork network_;
};

}  // namespace

std::unique_ptr<Denoiser> make_reference_denoiser(const Weights& weights, const EngineOptions& options) {
    if (options.device.is_cuda() || options.precision != Precision::fp32)
        throw UsageError("engine: the engine reference runs on the CPU in fp32 only: set device cpu and dtype fp32");
    return std::make_unique<ReferenceDenoiser>(weights, options);
}

}  // namespace pb
