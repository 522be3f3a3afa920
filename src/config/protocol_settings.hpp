// The settings of how points are measured and checked, listed as those of settings.hpp are.
#pragma once

#include "config/setting_types.hpp"

#include "patchbench/base/choices.hpp"

#include <cstdint>

namespace pb::config {

/// How a point is measured and checked. These settings change no pixel and are not part of the key of a point.
struct ProtocolSettings {
    int64_t warmup_reps = 1;
    double warmup_time_s = 0;
    int64_t min_reps = 3;
    int64_t max_reps = 0;
    double rel_width = 0.05;
    double max_time_s = 10;
    int64_t remeasure = 1;
    int64_t forward_calls = 3;
    int64_t profile = 0;
    VerifyMode verify = VerifyMode::probes;
    int64_t verify_probes = 4;
    double verify_time_share = 0.5;
    double verify_whole_max_mpx = 0.3;
    bool verify_fp64 = false;
    int64_t timeline = 240;
    double worker_timeout_s = 300;
};

template <class Settings, class Visitor>
void protocol_fields(Settings& s, Visitor&& v) {
    v(setting("warmup.reps", "", {0, kMaxCount}, "repetitions of each point before the timed ones, at least"),
      s.warmup_reps);
    v(setting("warmup.time_s", "s", {0, kMaxSeconds}, "and at least for this long"), s.warmup_time_s);
    v(setting("stop.min_reps", "", {1, kMaxCount}, "timed repetitions of each point, at least"), s.min_reps);
    v(setting("stop.max_reps", "", {0, kMaxCount}, "and at most, which wins over stop.min_reps; 0: as time allows"),
      s.max_reps);
    v(setting("stop.rel_width", "", {0, 10},
              "from 20 repetitions on, stop when the median's 95 % interval is narrower than this share of it"),
      s.rel_width);
    v(setting("stop.max_time_s", "s", {0, kMaxSeconds},
              "begin no repetition later than this after the first, stop.min_reps apart; 0: stop.min_reps exactly"),
      s.max_time_s);
    v(setting("remeasure", "", {0, 100},
              "times a point is measured again, at most, when its repetitions drift; simulated points never are"),
      s.remeasure);
    v(setting("forward_calls", "", {0, kMaxCount},
              "forward calls after each repetition, input on the device, for the scope `forward`"),
      s.forward_calls);
    v(setting("profile", "", {0, kMaxCount},
              "forward calls after the repetitions whose layers are timed one by one: torch and native on the CPU; 0: "
              "none"),
      s.profile);
    v(setting("verify.mode", "", "probes, full (every window) or off (the verdict is then INVALID)"), s.verify);
    v(setting("verify.probes", "", {1, kMaxCount},
              "windows and seam regions that are run again, of each rank one at least"),
      s.verify_probes);
    v(setting("verify.time_share", "", {0, 100},
              "probes: further windows are run again for this share of the repetitions' time, or a second; 0: none"),
      s.verify_time_share);
    v(setting("verify.whole_max_mpx", "Mpx", {0, kMaxEdge}, "images up to this size are compared with the whole image"),
      s.verify_whole_max_mpx);
    v(setting("verify.fp64", "", "also compare a window of each rank with the network in double precision; slow"),
      s.verify_fp64);
    v(setting("timeline", "", {0, kMaxCount},
              "what each rank did when, in one pass outside the timed ones where there is a warm-up: its first stage "
              "spans, this many; 0: none"),
      s.timeline);
    v(setting("worker.timeout_s", "s", {0.1, kMaxSeconds},
              "engines in a process of their own: longest time for loading the network and for a forward call"),
      s.worker_timeout_s);
}

}  // namespace pb::config
