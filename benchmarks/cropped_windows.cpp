// Windows of which only the core is computed, beside the same windows computed whole: the engine native or torch, one
// window of patch + 2 x halo pixels, in turns; who goes first alternates. Processor seconds.
#include "base/statistics.hpp"
#include "device/host_memory.hpp"
#include "network/parts/window_crop.hpp"

#include "patchbench/engine/denoiser.hpp"
#include "patchbench/network/network_facts.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iostream>

namespace pb {
namespace {

struct Arguments {
    std::vector<std::string> networks{"dncnn", "unet", "drunet"};
    std::vector<int64_t> patches{256};
    std::string engine = "native";
    int64_t halo = -1;       // of the window; below 0: the exact one
    bool in_corner = false;  // the core is in a corner of the window, as at the corner of an image
    int64_t rounds = 5;
    int threads = 1;
};

/// One window and its core, or all of it.
class Side {
  public:
    Side(engine::Denoiser& denoiser, const engine::Weights& weights, Extent window, const Range& core,
         const network::CropEngine& engine)
        : crop_(network::graph_of(weights.shape), window, {core}, {core}, engine),
          core_(rect_of(core, core)),
          stream_(DeviceId{}),
          pass_(denoiser.make_crop_pass(crop_, 1, stream_)) {}

    double seconds(const BatchView& in, const BatchView& out) {
        const double before = device::process_cpu_seconds();
        pass_->run(in, out, std::array{core_});
        return device::process_cpu_seconds() - before;
    }
    [[nodiscard]] double macs() const { return crop_.macs(core_); }
    [[nodiscard]] double mib() const { return static_cast<double>(crop_.peak_bytes(1)) / kMiB; }

  private:
    network::WindowCrop crop_;
    Rect core_;
    device::Stream stream_;  // ends after the pass that uses it
    std::unique_ptr<engine::CropPass> pass_;
};

std::string text_of(const std::vector<double>& values) {
    const auto [least, most] = std::ranges::minmax(values);
    return fmt::format("{:.3f} [{:.3f}, {:.3f}]", median(values), least, most);
}

network::CropEngine crop_engine(EngineKind engine) {
    if (engine == EngineKind::torch) return {network::ComputedUnit::pixel, network::kOnednnPath};
    return {};
}

void compare(const std::string& name, int64_t patch, const Arguments& arguments) {
    const auto weights = engine::make_seeded_weights(parse_enum<network::NetworkKind>(name), 3, 1);
    const auto& facts = network::network_facts(weights.shape);
    const int64_t halo = arguments.halo < 0 ? facts.exact_halo : arguments.halo, edge = patch + 2 * halo;
    const auto engine = parse_enum<EngineKind>(arguments.engine);
    const auto denoiser = engine::make_denoiser(weights, {.engine = engine, .threads = arguments.threads});
    const int64_t first = arguments.in_corner ? 0 : halo;
    std::vector<float> values(static_cast<size_t>(edge * edge * 4), 0.5F), result(values.size());
    const BatchView in{values.data(), {1, facts.takes_sigma ? 4 : 3, edge, edge}},
        out{result.data(), {1, 3, edge, edge}};
    Side whole(*denoiser, weights, {edge, edge}, {0, edge}, crop_engine(engine)),
        core(*denoiser, weights, {edge, edge}, {first, first + patch}, crop_engine(engine));
    std::vector<double> whole_s, core_s, ratios;
    for (int64_t round = -1; round < arguments.rounds; ++round) {  // the first one warms up
        std::array<double, 2> seconds{};
        for (const int64_t turn : {round, round + 1})
            (turn % 2 == 0 ? seconds[0] : seconds[1]) = (turn % 2 == 0 ? whole : core).seconds(in, out);
        if (round < 0) continue;
        whole_s.push_back(seconds[0]);
        core_s.push_back(seconds[1]);
        ratios.push_back(seconds[1] / seconds[0]);
    }
    fmt::print(
        "{}, {}, patch {}, halo {}: whole {:.3f} s, cropped {:.3f} s, ratio {} (n = {}); arithmetic {:.3f}, of useful "
        "{:.2f} instead of {:.2f}; maps {:.0f} instead of {:.0f} MiB\n",
        name, arguments.engine, patch, halo, median(whole_s), median(core_s), text_of(ratios), arguments.rounds,
        core.macs() / whole.macs(), core.macs() / facts.mac_per_pixel / static_cast<double>(patch * patch),
        static_cast<double>(edge * edge) / static_cast<double>(patch * patch), core.mib(), whole.mib());
    std::cout.flush();
}

}  // namespace
}  // namespace pb

int main(int argc, char** argv) {
    CLI::App app("Cropped windows beside whole ones");
    pb::Arguments arguments;
    app.add_option("--networks", arguments.networks, "joined by commas")->delimiter(',');
    app.add_option("--patch", arguments.patches, "joined by commas")->delimiter(',');
    app.add_option("--engine", arguments.engine)->check(CLI::IsMember({"native", "torch"}));
    app.add_flag("--corner", arguments.in_corner, "the core lies in a corner of the window");
    app.add_option("--halo", arguments.halo, "default: the exact one");
    app.add_option("--rounds", arguments.rounds)->check(CLI::PositiveNumber);
    app.add_option("--threads", arguments.threads)->check(CLI::PositiveNumber);
    CLI11_PARSE(app, argc, argv);
    for (const std::string& network : arguments.networks)
        for (const int64_t patch : arguments.patches) pb::compare(network, patch, arguments);
    return 0;
}
