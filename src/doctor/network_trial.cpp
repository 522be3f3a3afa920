#include "doctor/network_trial.hpp"

#include "doctor/check_text.hpp"
#include "image/quality.hpp"
#include "image/synthetic.hpp"
#include "run/agreement.hpp"
#include "run/pipeline/run_window.hpp"
#include "run/weights_source.hpp"

#include <array>

namespace pb::doctor {

namespace {

constexpr double kTolerance = 1e-4;  // of a value in [0, 1], against double precision

image::Image run_tiny(EngineKind engine, DeviceId device, const image::Image& scene, const engine::Weights& weights) {
    device::select_device(device);
    engine::EngineOptions options;
    options.engine = engine;
    options.device = device;
    options.layout = Layout::contiguous;
    device::Stream stream(device);
    return run::run_window(*make_denoiser(weights, options), scene, {}, device, stream);
}

/// Largest difference between this rank's device and the naive double-precision reference.
double tiny_error(DeviceId device) {
    image::Image scene({32, 32}, 3, DType::f32);
    image::fill_scene(1, 0, 0, scene.view());
    config::PointSettings settings;
    settings.network = network::kind_of<network::DncnnShape>();
    settings.weights = "seed:1";
    const auto weights = run::WeightsCache().find(settings, 3);
    const image::Image expected =
        run_tiny(EngineKind::reference, {}, scene, engine::make_seeded_weights(settings.network, 3, 1));
    return image::max_abs_difference(run_tiny(EngineKind::torch, device, scene, *weights).view(), expected.view());
}

}  // namespace

NetworkTrial try_network(const comm::Communicator& world, const plan::Topology& topology) {
    double error = 0;
    run::together(world, [&] { error = tiny_error(topology.ranks[static_cast<size_t>(world.rank())].device); });
    NetworkTrial trial;
    for (const auto& row : world.gather(std::array{error})) trial.errors.push_back(row.front());
    trial.wrong = tiny_findings(trial.errors, kTolerance, topology);
    return trial;
}

}  // namespace pb::doctor
