// Points whose rows are carried or exchanged, run on the ranks of a test, and the pixels that they make.
#pragma once

#include "network/graph_facts.hpp"
#include "network/parts/band_schedule.hpp"
#include "plan/prediction.hpp"
#include "plan/rows.hpp"
#include "support/on_ranks.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>

namespace pb::test {

inline config::PointSettings row_point(network::NetworkKind network, Extent image) {
    config::PointSettings settings;
    settings.network = network;
    settings.weights = "seed:1";
    settings.engine = EngineKind::native;
    settings.device = config::DeviceChoice::cpu;
    settings.threads.count = 1;
    settings.protocol.warmup_reps = 0;
    settings.protocol.min_reps = 1;
    settings.protocol.max_time_s = 0;
    settings.protocol.remeasure = 0;
    settings.protocol.forward_calls = 1;
    settings.image.height = image.h;
    settings.image.width = image.w;
    return settings;
}

/// The largest difference of samples, all of 8 bits.
inline int largest_difference(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
    int largest = 0;
    for (size_t i = 0; i < a.size(); ++i)
        largest = std::max(largest, std::abs(std::to_integer<int>(a[i]) - std::to_integer<int>(b[i])));
    return largest;
}

/// How far passes are, as they tell it.
struct Steps final : run::ProgressListener {
    std::vector<std::pair<int64_t, int64_t>> steps;
    void begin(run::Activity /*activity*/) override {}
    void advance(int64_t done, int64_t all) override { steps.emplace_back(done, all); }
};

class RowPoints : public OnRanks {
  protected:
    struct Made {
        record::PointTrace trace;
        std::vector<std::byte> bytes;  // on the root
    };

    /// Tells `listener`, where there is one, what this rank does.
    [[nodiscard]] Made run(const config::PointSettings& settings, run::ProgressListener* listener = nullptr) {
        const plan::Point point = point_of(settings);
        Made made;
        run::PointFiles files;
        files.image = "taken.npy";
        files.take = [&](const PixelView& pixels) {
            for (int64_t y = 0; y < pixels.extent.h; ++y) {
                const std::byte* const row = pixels.at(y, 0);
                made.bytes.insert(made.bytes.end(), row,
                                  row + static_cast<size_t>(pixels.extent.w) * pixels.pixel_bytes());
            }
        };
        run::Runner runner(world_, topology_, study_);
        runner.report_to(listener);
        made.trace = runner.run(point, files);
        return made;
    }

    /// The image as one window.
    [[nodiscard]] Made run_whole(config::PointSettings settings) {
        settings.workload = config::Workload::whole;
        settings.memory_limit_mib = 0;
        Made made = run(settings);
        EXPECT_EQ(made.trace.status, record::PointStatus::ok) << made.trace.reason;
        return made;
    }

    /// The largest peak of a rank.
    static double peak_mib(const record::PointTrace& trace) {
        int64_t most = 0;
        for (const record::RankTrace& rank : trace.ranks) most = std::max(most, rank.memory.allocated_peak);
        return static_cast<double>(most) / kMiB;
    }

    static void expect_within_rounding(const Made& made, const Made& whole) {
        ASSERT_EQ(made.bytes.size(), whole.bytes.size());
        EXPECT_LE(largest_difference(made.bytes, whole.bytes), 1) << "a sample that is rounded the other way";
    }

    /// What a rank takes at most is what the plan says, for the usual tiles and, under a limit that these miss by less
    /// than 1 MiB, for small ones, and in bf16.
    void expect_predicted_memory(config::PointSettings settings) {
        expect_predicted_peak(settings);
        settings.memory_limit_mib = static_cast<int64_t>(plan::predict(point_of(settings)).value().peak_mib);
        expect_predicted_peak(settings);
        if (!topology_.ranks.front().multiplies_bf16) return;
        settings.memory_limit_mib = 0;
        settings.dtype = Precision::bf16;
        expect_predicted_peak(settings);
    }

    void expect_predicted_peak(const config::PointSettings& settings) {
        const Made made = run(settings);
        EXPECT_EQ(made.trace.point.winograd_tile.has_value(), settings.memory_limit_mib > 0);
        ASSERT_EQ(made.trace.status, record::PointStatus::ok) << made.trace.reason;
        if (!world_.is_root()) return;
        EXPECT_NEAR(peak_mib(made.trace), made.trace.prediction->peak_mib, 0.01);
        EXPECT_GT(made.trace.ranks.front().forward_call_s.front(), 0);
    }

    void expect_passed(const Made& made) const {
        ASSERT_EQ(made.trace.status, record::PointStatus::ok) << made.trace.reason;
        if (!world_.is_root()) return;
        EXPECT_EQ(made.trace.verification.outcome, record::Verification::Outcome::passed)
            << testing::PrintToString(made.trace.verification.reasons);
    }

    /// The arithmetic of carried rows that make a map twice, which they do where that takes less memory, by that of the
    /// network.
    static double late_work(const plan::Point& point) {
        const network::Graph network = point.graph();
        const auto late = network::with_late_map(network);
        return late && plan::is_carried(point) ? network::mac_per_pixel(late->graph) / network::mac_per_pixel(network)
                                               : 1;
    }

    /// The calls of a pass, by their arithmetic, compute what the point computes.
    static void expect_calls_compute_all(const record::PointTrace& trace) {
        double calls = 0;
        for (const record::RankTrace& rank : trace.ranks)
            calls += static_cast<double>(rank.num_batches) * rank.work_per_call;
        const double pixels = calls * static_cast<double>(trace.prediction->pixels_per_forward);
        const double late = late_work(trace.point);
        EXPECT_THAT(trace.computed_pixels, testing::AnyOf(testing::DoubleNear(pixels, 1e-9 * pixels),
                                                          testing::DoubleNear(late * pixels, 1e-9 * pixels)));
    }
};

}  // namespace pb::test
