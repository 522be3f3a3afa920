#include "doctor/network_trial.hpp"

#include "doctor/check_text.hpp"
#include "image/quality.hpp"
#include "image/synthetic.hpp"
#include "run/agreement.hpp"
#include "run/pipeline/run_window.hpp"
#include "run/weights_source.hpp"

#include <array>

namespace pb {

namespace {

constexpr double kTolerance = 1e-4;  // of a value in [0, 1], against double precision

Image run_tiny(EngineKind engine, DeviceId device, const Image& scene, const Weights& weights) {
    select_device(device);
    EngineOptions options;
    options.engine = engine;
    options.device = device;
    options.layout = Layout::contiguous;
    Stream stream(device);
    return run_window(*make_denoiser(weights, options), scene, {}, device, stream);
}

/// Largest difference between this rank's device and the naive double-precision reference.
double tiny_error(DeviceId device) {
    Image scene({32, 32}, 3, DType::f32);
    fill_scene(1, 0, 0, scene.view());
    PointSettings settings;
    settings.network = kind_of<DncnnShape>();
    settings.weights = "seed:1";
    const auto weights = WeightsCache().find(settings, 3);
    const Image expected = run_tiny(EngineKind::reference, {}, scene, make_seeded_weights(settings.network, 3, 1));
    return max_abs_difference(run_tiny(EngineKind::torch, device, scene, *weights).view(), expected.view());
}

}  // namespace

NetworkTrial try_network(const Communicator& world, const Topology& topology) {
    double error = 0;
    together(world, [&] { error = tiny_error(topology.ranks[static_cast<size_t>(world.rank())].device); });
    NetworkTrial trial;
    for (const auto& row : world.gather(std::array{error})) trial.errors.push_back(row.front());
    trial.wrong = tiny_findings(trial.errors, kTolerance, topology);
    return trial;
}

}  // namespace pb
