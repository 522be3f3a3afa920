// Runs one network over images of a .npy file (N, H, W, C), for comparison with Python: whole images through
// whole_image_calls, exactly as `workload: whole` does.
#include "peer/npy.hpp"
#include "plan/plan.hpp"
#include "support/state_dict.hpp"

#include "patchbench/engine/denoiser.hpp"
#include "patchbench/engine/weights.hpp"
#include "patchbench/network/network_facts.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>

namespace pb::peer {
namespace {

struct Options {
    std::string network = "drunet", weights, in, out, save, odd = "split", engine = "torch";
    int64_t channels = 3;
    float sigma = 0.1F;
    int threads = 1;
};

/// Of a file, or seeded ("seed:7", with `channels`).
engine::Weights load(const Options& options) {
    const auto kind = parse_enum<network::NetworkKind>(options.network);
    if (!options.weights.starts_with("seed:")) return engine::load_weights(options.weights, kind);
    return engine::make_seeded_weights(kind, options.channels, std::stoull(options.weights.substr(5)));
}

/// Calls `visit(image, row, column)` for every pixel of `rect` in every image.
template <class Visit>
void for_each_pixel(int64_t images, const Rect& rect, Visit visit) {
    for (int64_t n = 0; n < images; ++n)
        for (int64_t y = rect.row; y < rect.row + rect.extent.h; ++y)
            for (int64_t x = rect.column; x < rect.column + rect.extent.w; ++x) visit(n, y, x);
}

class Runner {
  public:
    Runner(const Options& options, const Array& images)
        : options_(options),
          images_(images),
          weights_(load(options)),
          engine_{.engine = parse_enum<EngineKind>(options.engine), .threads = options.threads},
          denoiser_(engine::make_denoiser(weights_, engine_)),
          stream_(engine_.device) {
        require(images.shape.size() == 4 && images.shape[3] == weights_.channels(),
                "the images should be (N, H, W, " + std::to_string(weights_.channels()) + ")");
        out_ = images;
    }

    /// All calls.
    void run() {
        const Extent extent{images_.shape[1], images_.shape[2]};
        for (const auto& call : plan::whole_image_calls(network::network_facts(weights_.shape), extent,
                                                        parse_enum<OddShape>(options_.odd)))
            run(call);
    }

    [[nodiscard]] const Array& out() const { return out_; }

  private:
    [[nodiscard]] int64_t pixel(int64_t n, int64_t y, int64_t x) const {
        y = std::clamp<int64_t>(y, 0, images_.shape[1] - 1);
        x = std::clamp<int64_t>(x, 0, images_.shape[2] - 1);
        return (n * images_.shape[1] + y) * images_.shape[2] + x;
    }

    void run(const plan::Tile& call) {
        const int64_t channels = weights_.channels();
        const bool sigma = network::network_facts(weights_.kind()).takes_sigma;
        const Shape shape{images_.shape[0], channels + (sigma ? 1 : 0), call.window.extent.h, call.window.extent.w};
        std::vector<float> in;
        for_each_pixel(shape.n, call.window, [&](int64_t n, int64_t y, int64_t x) {
            const auto begin = images_.values.begin() + pixel(n, y, x) * channels;
            in.insert(in.end(), begin, begin + channels);
            if (sigma) in.push_back(options_.sigma);
        });
        std::vector<float> out(static_cast<size_t>(shape.pixels() * channels));
        denoiser_->forward({.pointer = in.data(), .shape = shape},
                           {.pointer = out.data(), .shape = {shape.n, channels, shape.h, shape.w}}, stream_);
        for_each_pixel(shape.n, call.core, [&](int64_t n, int64_t y, int64_t x) {
            const int64_t from = ((n * shape.h + y - call.window.row) * shape.w + x - call.window.column) * channels;
            std::copy_n(out.begin() + from, channels, out_.values.begin() + pixel(n, y, x) * channels);
        });
    }

    Options options_;
    Array images_, out_;
    engine::Weights weights_;
    engine::EngineOptions engine_;
    std::unique_ptr<engine::Denoiser> denoiser_;
    device::Stream stream_;
};

void run(const Options& options) {
    if (!options.save.empty()) test::save_weights(load(options), options.save);
    if (options.in.empty()) return;
    Runner runner(options, read_npy(options.in));
    runner.run();
    if (!options.out.empty()) write_npy(options.out, runner.out());
}

}  // namespace
}  // namespace pb::peer

int main(int argc, char** argv) {
    CLI::App app("One network over images of a .npy file (N, H, W, C)");
    pb::peer::Options options;
    app.add_option("--network", options.network);
    app.add_option("--weights", options.weights, "file, or seed:<n>")->required();
    app.add_option("--channels", options.channels, "of seeded weights");
    app.add_option("--save", options.save, "the weights as safetensors with deepinv's keys");
    app.add_option("--in", options.in);
    app.add_option("--out", options.out);
    app.add_option("--sigma", options.sigma);
    app.add_option("--odd", options.odd);
    app.add_option("--engine", options.engine);
    app.add_option("--threads", options.threads);
    CLI11_PARSE(app, argc, argv);
    try {
        pb::peer::run(options);
    } catch (const std::exception& error) {
        std::cerr << "run_network: " << error.what() << std::endl;
        return 1;
    }
    return 0;
}
