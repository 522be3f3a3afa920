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
    v(FieldName{"warmup.reps", "", "repetitions of each point before the timed ones, at least", {0, kMaxCount}},
      s.warmup_reps);
    v(FieldName{"warmup.time_s", "s", "and at least for this long", {0, kMaxSeconds}}, s.warmup_time_s);
    v(FieldName{"stop.min_reps", "", "timed repetitions of each point, at least", {1, kMaxCount}}, s.min_reps);
    v(FieldName{"stop.max_reps", "", "and at most, which wins over stop.min_reps; 0: as time allows", {0, kMaxCount}},
      s.max_reps);
    v(FieldName{"stop.rel_width",
                "",
                "from 20 repetitions on, stop when the median's 95 % interval is narrower than this share of it",
                {0, 10}},
      s.rel_width);
    v(FieldName{"stop.max_time_s",
                "s",
                "begin no repetition later than this after the first, stop.min_reps apart; 0: stop.min_reps exactly",
                {0, kMaxSeconds}},
      s.max_time_s);
    v(FieldName{"remeasure",
                "",
                "times a point is measured again, at most, when its repetitions drift; simulated points never are",
                {0, 100}},
      s.remeasure);
    v(FieldName{"forward_calls",
                "",
                "forward calls after each repetition, input on the device, for the scope `forward`",
                {0, kMaxCount}},
      s.forward_calls);
    v(
        FieldName{
            "profile",
            "",
            "forward calls after the repetitions whose layers are timed one by one: torch and native on the CPU; 0: "
            "none",
            {0, kMaxCount}},
        s.profile);
    v(FieldName{"verify.mode", "", "probes, full (every window) or off (the verdict is then INVALID)"}, s.verify);
    v(FieldName{"verify.probes",
                "",
                "windows and seam regions that are run again, of each rank one at least",
                {1, kMaxCount}},
      s.verify_probes);
    v(FieldName{"verify.time_share",
                "",
                "probes: further windows are run again for this share of the repetitions' time, or a second; 0: none",
                {0, 100}},
      s.verify_time_share);
    v(
        FieldName{
            "verify.whole_max_mpx", "Mpx", "images up to this size are compared with the whole image", {0, kMaxEdge}},
        s.verify_whole_max_mpx);
    v(FieldName{"verify.fp64", "", "also compare a window of each rank with the network in double precision; slow"},
      s.verify_fp64);
    v(FieldName{"timeline",
                "",
                "what each rank did when, in one pass outside the timed ones where there is a warm-up: its first stage "
                "spans, this many; 0: none",
                {0, kMaxCount}},
      s.timeline);
    v(FieldName{"worker.timeout_s",
                "s",
                "engines in a process of their own: longest time for loading the network and for a forward call",
                {0.1, kMaxSeconds}},
      s.worker_timeout_s);
}

}  // namespace pb::config
