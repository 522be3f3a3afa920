// Steps of carried rows that are captured once and replayed, without a GPU: in place of a graph the work that was
// captured is called again, with its step and its addresses. A graph does not run the host's part of it, of which
// nothing is left to later steps (CarriedRows).
#include "engine/native_rows.hpp"
#include "engine/torch/code.hpp"
#include "engine/torch/passes.hpp"
#include "engine/torch/tensors.hpp"
#include "network/parts/band_pieces.hpp"
#include "support/computed_graphs.hpp"
#include "support/graph_text.hpp"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace pb::engine::torch_engine {
namespace {

constexpr double kRounding = 1e-5;
constexpr int64_t kCapturedBytes = 7;
constexpr int64_t kFewBands = 4;  // of which all can be the first or the last

/// Where tensors lie; never destroyed.
CountingMemory& tensors() {
    static auto* const memory = new CountingMemory;
    return *memory;
}

struct Counts {
    std::set<int64_t> phases;
    int64_t enqueued = 0, replayed = 0;
};

class RecordedReplays final : public Replays {
  public:
    explicit RecordedReplays(Counts& counts) : counts_(counts) {}

    void run(const ReplayKey& key, const std::function<void()>& work) override {
        counts_.phases.insert(key.phase);
        if (seen_.insert(key).second) {
            ++counts_.enqueued;
            return work();
        }
        ++counts_.replayed;
        captured_.try_emplace(key, work).first->second();
    }
    [[nodiscard]] int64_t captured_bytes() const override { return kCapturedBytes; }

  private:
    Counts& counts_;
    std::set<ReplayKey> seen_;
    std::map<ReplayKey, std::function<void()>> captured_;
};

/// A network with random weights, whole images of it, and its passes with replays.
class Subject {
  public:
    explicit Subject(const Weights& weights) {
        put_tensors_into(tensors());
        const c10::InferenceMode inference;
        network_.emplace(weights, placement_of({}));
    }

    [[nodiscard]] const network::Graph& graph() const { return network_->graph(); }
    [[nodiscard]] int64_t step() const { return network::alignment_of(graph()); }

    [[nodiscard]] std::vector<float> input(const Extent& image) const {
        return test::random_values(static_cast<size_t>(image.pixels() * graph().channels_in()), test::kRowSeed);
    }

    [[nodiscard]] std::vector<float> whole(const Extent& image, std::vector<float> in) const {
        std::vector<float> out(static_cast<size_t>(image.pixels() * graph().channels_out()));
        const c10::InferenceMode inference;
        at::Tensor denoised = network_->rows_at(out.data(), graph().output(), {0, image.h}, image.w);
        network_->run(network_->rows_at(in.data(), 0, {0, image.h}, image.w), denoised);
        return out;
    }

    [[nodiscard]] std::unique_ptr<Bands> pass(const network::BandSchedule& schedule, Counts& counts) const {
        const auto run = [](const std::function<void()>& work) {
            const c10::InferenceMode inference;
            use_threads(1);
            work();
        };
        return std::make_unique<Bands>(*network_, schedule, run, std::make_unique<RecordedReplays>(counts));
    }

  private:
    std::optional<Network> network_;
};

/// Runs passes whose steps find their input and their output at the same addresses.
class Carrier {
  public:
    explicit Carrier(const network::BandSchedule& schedule)
        : schedule_(schedule),
          in_row_(schedule.shape().image.w * schedule.graph().channels_in()),
          out_row_(schedule.shape().image.w * schedule.graph().channels_out()),
          in_(static_cast<size_t>(schedule.most_input_rows() * in_row_)),
          out_(static_cast<size_t>(schedule.shape().band * out_row_)) {}

    std::vector<float> run(Bands& pass, const std::vector<float>& image) {
        std::vector<float> result;
        for (int64_t step = 0; step < schedule_.num_steps(); ++step) {
            const Range taken = schedule_.made(step, 0), made = schedule_.made(step, schedule_.graph().output());
            std::copy(image.begin() + taken.begin * in_row_, image.begin() + taken.end * in_row_, in_.begin());
            run_step(pass, step);
            result.insert(result.end(), out_.begin(), out_.begin() + made.size() * out_row_);
        }
        return result;
    }

    void run_step(Bands& pass, int64_t step) { pass.run(step, in_.data(), out_.data()); }

  private:
    const network::BandSchedule& schedule_;
    int64_t in_row_, out_row_;
    std::vector<float> in_, out_;
};

network::BandShape shape_of(const Extent& image, int64_t band) {
    return {.rows = {0, image.h}, .band = band, .image = image, .unit = network::ComputedUnit::pixel};
}

/// An image of `bands` bands, three times: the third one replays every step that has a phase.
void expect_whole_image(const Subject& subject, const network::LateGraph& computed, int64_t bands, int64_t band) {
    const Extent image{bands * band, 3 * subject.step()};
    const network::BandSchedule schedule(subject.graph(), computed, shape_of(image, band));
    const network::BandPhases phases(schedule);
    Counts counts;
    const auto pass = subject.pass(schedule, counts);
    Carrier carrier(schedule);
    const std::vector<float> in = subject.input(image), whole = subject.whole(image, in);
    for (const char* time : {"first", "second", "third"}) {
        SCOPED_TRACE(std::string(time) + " image of " + std::to_string(bands) + " bands of " + std::to_string(band));
        EXPECT_LE(test::largest_difference(carrier.run(*pass, in), whole), kRounding * test::max_abs(whole));
    }
    EXPECT_EQ(counts.enqueued, std::ssize(counts.phases));
    EXPECT_EQ(counts.enqueued + counts.replayed, 3 * phases.steps_with_phase().size());
    EXPECT_LE(std::ssize(counts.phases), network::places_of_chunks(schedule));
    EXPECT_GT(counts.replayed, bands > kFewBands ? bands : -1);
}

void expect_whole_image(const Weights& weights) {
    const Subject subject(weights);
    for (const network::LateGraph& computed : test::computed_graphs(subject.graph())) {
        SCOPED_TRACE(network::to_text(computed.graph));
        expect_whole_image(subject, computed, 60, subject.step());
        expect_whole_image(subject, computed, 23, 3 * subject.step());
        for (int64_t bands = 1; bands <= kFewBands; ++bands)
            expect_whole_image(subject, computed, bands, 8 * subject.step());
    }
}

TEST(TorchReplays, EqualTheWholeImage) {
    for (const network::NetworkShape& network : test::row_networks())
        expect_whole_image(make_seeded_weights(network, test::kRowSeed));
}

TEST(TorchReplays, EqualItForAnyGraph) {
    for (const network::Graph& graph : test::any_graphs(12))
        expect_whole_image(test::weights_of(graph, test::kRowSeed));
}

TEST(TorchReplays, OfAnImageThatWasBrokenOffDoNotReachTheNext) {
    const Subject subject(make_seeded_weights(test::row_networks()[4], test::kRowSeed));
    const Extent image{80 * subject.step(), 2 * subject.step()};
    const network::BandSchedule schedule(subject.graph(), shape_of(image, subject.step()));
    Counts counts;
    const auto pass = subject.pass(schedule, counts);
    const std::vector<float> in = subject.input(image), whole = subject.whole(image, in);
    Carrier carrier(schedule);
    const Range steps = network::BandPhases(schedule).steps_with_phase();
    for (int64_t step = 0; step < steps.begin + 5; ++step) carrier.run_step(*pass, step);
    carrier.run_step(*pass, schedule.busiest_step());  // by itself, as for timing
    EXPECT_LE(test::largest_difference(carrier.run(*pass, in), whole), kRounding * test::max_abs(whole));
}

/// Bytes, of the second image, whose steps are replayed.
int64_t peak_of_pass(const Subject& subject, const network::BandSchedule& schedule) {
    const int64_t before = tensors().counters().allocated_bytes;
    Counts counts;
    const auto pass = subject.pass(schedule, counts);
    EXPECT_EQ(pass->replay_bytes(), kCapturedBytes);
    Carrier carrier(schedule);
    const std::vector<float> in = subject.input(schedule.shape().image);
    (void)carrier.run(*pass, in);
    tensors().reset_peaks();
    (void)carrier.run(*pass, in);
    return tensors().counters().peak_allocated_bytes - before;
}

TEST(TorchReplays, TakeTheMemoryThatIsPlanned) {
    for (const auto& network : {test::row_networks()[0], test::row_networks()[2], test::row_networks()[4]}) {
        const Subject subject(make_seeded_weights(network, test::kRowSeed));
        for (const network::LateGraph& computed : test::computed_graphs(subject.graph())) {
            SCOPED_TRACE(network::to_text(computed.graph));
            const Extent image{1024, 40};
            const network::BandSchedule schedule(subject.graph(), computed, shape_of(image, 32));
            const int64_t planned = network::peak_of_bands(schedule, network::kOnednnPath, network::RowMemory::fixed);
            EXPECT_NEAR(static_cast<double>(peak_of_pass(subject, schedule)) / static_cast<double>(planned), 1, 0.02);
        }
    }
}

TEST(CrashNoteDeathTest, IsOfItsOwnTimeOnly) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto after = [] {
        std::optional<CrashNote> note(std::in_place, "blamed\n");
        note.reset();
        (void)std::fputs("after it\n", stderr);
        std::abort();
    };
    EXPECT_EXIT(after(), testing::KilledBySignal(SIGABRT), testing::Not(testing::HasSubstr("blamed")));
    const auto within = [] {
        const CrashNote note("patchbench: blamed\n");
        std::abort();
    };
    EXPECT_EXIT(within(), testing::KilledBySignal(SIGABRT), "patchbench: blamed");
}

TEST(TorchThreads, AreAsManyAsTheCallHas) {
    for (const int threads : {3, 1, 2}) {
        use_threads(threads);
        EXPECT_EQ(at::get_num_threads(), threads);
    }
}

}  // namespace
}  // namespace pb::engine::torch_engine
