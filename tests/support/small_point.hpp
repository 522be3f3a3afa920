// Settings of points that take no time: one pass over a small image, and nothing beside it.
#pragma once

#include "config/settings.hpp"

#include "patchbench/base/shape.hpp"

namespace pb::test {

/// In windows of 24 px with a halo of 8, each in a call of its own.
inline config::PointSettings single_pass(Extent image) {
    config::PointSettings settings;
    settings.patch = 24;
    settings.halo = {config::HaloSetting::Kind::pixels, 8};
    settings.batch.count = 1;
    settings.protocol.warmup_reps = 0;
    settings.protocol.min_reps = 1;
    settings.protocol.max_time_s = 0;
    settings.protocol.forward_calls = 0;
    settings.image.height = image.h;
    settings.image.width = image.w;
    return settings;
}

/// Nothing is computed, and no time passes.
inline config::PointSettings simulated_point(Extent image) {
    config::PointSettings settings = single_pass(image);
    settings.engine = EngineKind::timed;
    settings.timed.per_window_s = 0;
    return settings;
}

/// By the default network and engine, on one thread, with weights that are drawn.
inline config::PointSettings computed_point(Extent image) {
    config::PointSettings settings = single_pass(image);
    settings.weights = "seed:1";
    settings.device = config::DeviceChoice::cpu;
    settings.threads.count = 1;
    settings.protocol.verify_whole_max_mpx = 0;
    return settings;
}

}  // namespace pb::test
