// Slabs of one image, each computed by a thread with an engine of its own, which hand each other their border rows.
#include "engine/memory.hpp"
#include "network/exchanged_memory.hpp"
#include "support/denoise_batch.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/network_facts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace pb::engine {
namespace {

using test::denoise;
using test::input_shape;
using test::random_values;

constexpr uint64_t kSlabSeed = 7;

EngineOptions slab_options(int threads = 1) { return {.engine = EngineKind::native, .threads = threads}; }

/// Relatives of each network, with Winograd's tiles and without.
const std::vector<network::NetworkShape> kSlabNetworks{
    network::DncnnShape{.depth = 5, .width = 32},
    network::DncnnShape{.channels = 1, .depth = 4, .width = 24, .residual = network::DncnnResidual::subtract},
    network::UnetShape{.widths = {32, 64, 32}},
    network::UnetShape{.channels = 1, .widths = {16, 20, 32}},
    network::DrunetShape{.widths = {32, 64, 96, 32}, .blocks = 2},
    network::DrunetShape{.channels = 1, .widths = {8, 32}, .blocks = 1},
};

/// Rows on their way in one direction across one border.
class Mailbox {
  public:
    void put(std::span<const std::byte> rows) {
        const std::lock_guard lock(mutex_);
        letters_.emplace_back(rows.begin(), rows.end());
        filled_.notify_one();
    }
    void take(std::span<std::byte> rows) {
        std::unique_lock lock(mutex_);
        filled_.wait(lock, [this] { return !letters_.empty(); });
        require(letters_.front().size() == rows.size(), "what comes is what is waited for");
        std::copy(letters_.front().begin(), letters_.front().end(), rows.begin());
        letters_.pop_front();
    }

  private:
    std::mutex mutex_;
    std::condition_variable filled_;
    std::deque<std::vector<std::byte>> letters_;
};

/// Down and up, across the border below a slab.
struct BorderMail {
    Mailbox down, up;
};

/// Rows arrive as late as they may, in finish(): a row that is read before is that of an earlier map.
class MailExchange final : public RowExchange {
  public:
    MailExchange(BorderMail& above, BorderMail& below) : above_(above), below_(below) {}
    void start(const BorderRows& above, const BorderRows& below) override {
        require(!is_open_, "one exchange at a time");
        is_open_ = true;
        rows_ = {above, below};
        if (!above.sent.empty()) above_.up.put(above.sent);
        if (!below.sent.empty()) below_.down.put(below.sent);
    }
    void finish() override {
        require(is_open_, "an exchange was begun");
        is_open_ = false;
        if (!rows_[0].received.empty()) above_.down.take(rows_[0].received);
        if (!rows_[1].received.empty()) below_.up.take(rows_[1].received);
    }

  private:
    BorderMail &above_, &below_;
    std::array<BorderRows, 2> rows_;
    bool is_open_ = false;
};

/// The output of `values` in slabs of rows `cuts[i]` to `cuts[i + 1]`, computed twice with the same memory.
std::vector<float> exchange(const Weights& weights, const std::vector<float>& values, const Shape& shape,
                            const std::vector<int64_t>& cuts, int threads) {
    const network::Graph graph = network::graph_of(weights.shape);
    const int64_t in_floats = shape.w * shape.c, out_floats = shape.w * weights.channels();
    std::vector<float> result(static_cast<size_t>(shape.h * out_floats), -1.F);
    std::vector<BorderMail> mail(cuts.size());
    const auto rows = [&](size_t slab) { return Range{cuts[slab], cuts[slab + 1]}; };
    const auto run = [&](size_t slab) {
        const network::ExchangedSlab own(graph, {.rows = rows(slab),
                                                 .above = slab > 0 ? rows(slab - 1) : Range{},
                                                 .below = slab + 2 < cuts.size() ? rows(slab + 1) : Range{},
                                                 .image = {shape.h, shape.w}});
        const auto denoiser = make_denoiser(weights, slab_options(threads));
        const auto pass = denoiser->make_slab_pass(own);
        MailExchange border(mail[slab], mail[slab + 1]);
        for (int repetition = 0; repetition < 2; ++repetition)
            pass->run(values.data() + own.held(0).begin * in_floats,
                      result.data() + own.owned(graph.output()).begin * out_floats, &border);
    };
    std::vector<std::jthread> slabs;
    for (size_t slab = 0; slab + 1 < cuts.size(); ++slab) slabs.emplace_back(run, slab);
    slabs.clear();
    return result;
}

TEST(NativeSlabs, EqualTheWholeImageBitForBitForAnyCutsAndThreads) {
    for (const network::NetworkShape& network : kSlabNetworks) {
        SCOPED_TRACE(network::to_text(network::graph_of(network)));
        const Weights weights = make_seeded_weights(network, kSlabSeed);
        const int64_t align = network::network_facts(network).alignment;
        const int64_t unit = network::slab_unit(network::graph_of(network));
        const int64_t height = 6 * unit + align;  // the last slab is as thin as it can be
        const Shape shape = input_shape(weights, 1, height, 5 * align);
        const auto values = random_values(static_cast<size_t>(shape.elements()), kSlabSeed);
        const auto whole = denoise(*make_denoiser(weights, slab_options()), weights, slab_options(), values, shape);
        using Cuts = std::vector<int64_t>;
        for (const auto& [cuts, threads] :
             {std::pair{Cuts{0, height}, 1},
              {Cuts{0, 3 * unit, height}, 2},
              {Cuts{0, unit, 4 * unit, height}, 1},
              {Cuts{0, unit, 2 * unit, 3 * unit, 4 * unit, 5 * unit, 6 * unit, height}, 1}})
            EXPECT_TRUE(exchange(weights, values, shape, cuts, threads) == whole)
                << cuts.size() - 1 << " slabs, " << threads << " threads";
    }
}

TEST(NativeSlabs, TakeTheMemoryThatIsPlanned) {
    const Weights weights = make_seeded_weights(kSlabNetworks[4], kSlabSeed);
    const network::Graph graph = network::graph_of(weights.shape);
    const auto denoiser = make_denoiser(weights, slab_options(2));
    const network::ExchangedSlab slab(graph,
                                      {.rows = {64, 96}, .above = {0, 64}, .below = {96, 160}, .image = {160, 40}});
    reset_allocator_peaks({});
    const int64_t before = allocator_counters({}).allocated_bytes;
    const auto pass = denoiser->make_slab_pass(slab);
    const int64_t planned = network::plan_exchanged(graph, slab).arena.bytes + 2 * network::native_scratch_bytes(graph);
    EXPECT_EQ(allocator_counters({}).peak_allocated_bytes - before, planned);
    const int64_t made = allocator_counters({}).num_allocations;
    std::vector<float> in(static_cast<size_t>(slab.held(0).size() * 40 * 4)), out(static_cast<size_t>(32 * 40 * 3));
    pass->run(in.data(), out.data(), nullptr);
    EXPECT_EQ(allocator_counters({}).num_allocations, made);
}

TEST(NativeSlabs, OtherEnginesRefuseThem) {
    const Weights weights = make_seeded_weights(kSlabNetworks[0], kSlabSeed);
    const network::ExchangedSlab slab(network::graph_of(weights.shape), {.rows = {0, 8}, .image = {8, 8}});
    for (const EngineKind engine : {EngineKind::torch, EngineKind::reference})
        EXPECT_THROW((void)make_denoiser(weights, {.engine = engine})->make_slab_pass(slab), UsageError);
}

}  // namespace
}  // namespace pb::engine
