// Slabs of one image, each computed by a thread with an engine of its own, which hand each other their border rows.
#include "engine/native_rows.hpp"
#include "network/exchanged_memory.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace pb::engine {
namespace {

using test::native_options;
using test::row_networks;
using test::WholeImage;

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
        for (const BorderRows& side : {above, below})
            require(side.sent.empty() == side.received.empty(), "an empty message says that a rank has failed");
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

/// The output of `image` in slabs of rows `cuts[i]` to `cuts[i + 1]`, computed twice with the same memory.
std::vector<float> exchange(const Weights& weights, const WholeImage& image, const std::vector<int64_t>& cuts,
                            const EngineOptions& options) {
    const Shape& shape = image.shape;
    const network::Graph graph = weights.graph();
    const int64_t in_floats = shape.w * shape.c, out_floats = shape.w * weights.graph().channels_out();
    std::vector<float> result(static_cast<size_t>(shape.h * out_floats), -1.F);
    std::vector<BorderMail> mail(cuts.size());
    const auto rows = [&](size_t slab) { return Range{cuts[slab], cuts[slab + 1]}; };
    const auto run = [&](size_t slab) {
        const network::ExchangedSlab own(graph, {.rows = rows(slab),
                                                 .above = slab > 0 ? rows(slab - 1) : Range{},
                                                 .below = slab + 2 < cuts.size() ? rows(slab + 1) : Range{},
                                                 .image = {shape.h, shape.w}});
        const auto denoiser = make_denoiser(weights, options);
        const auto pass = denoiser->make_slab_pass(own);
        MailExchange border(mail[slab], mail[slab + 1]);
        for (int repetition = 0; repetition < 2; ++repetition)
            pass->run(image.values.data() + own.held(0).begin * in_floats,
                      result.data() + own.owned(graph.output()).begin * out_floats, &border);
    };
    std::vector<std::jthread> slabs;
    for (size_t slab = 0; slab + 1 < cuts.size(); ++slab) slabs.emplace_back(run, slab);
    slabs.clear();
    return result;
}

void expect_same_bits_for_any_cuts_and_threads(const Weights& weights, network::WinogradForm form) {
    const int64_t align = network::alignment_of(weights.graph());
    const int64_t unit = network::slab_unit(weights.graph());
    const int64_t height = 6 * unit + align;  // the last slab is as thin as it can be
    const WholeImage image(weights, form, height, 5 * align);
    using Cuts = std::vector<int64_t>;
    for (const auto& [cuts, threads] : {std::pair{Cuts{0, height}, 1},
                                        {Cuts{0, 3 * unit, height}, 2},
                                        {Cuts{0, unit, 4 * unit, height}, 1},
                                        {Cuts{0, unit, 2 * unit, 3 * unit, 4 * unit, 5 * unit, 6 * unit, height}, 1}})
        EXPECT_TRUE(exchange(weights, image, cuts, native_options(form, threads)) == image.denoised)
            << cuts.size() - 1 << " slabs, " << threads << " threads";
}

TEST(NativeSlabs, EqualTheWholeImageBitForBitForAnyCutsAndThreads) {
    for (const network::NetworkShape& network : row_networks())
        for (const network::WinogradForm form : test::forms()) {
            SCOPED_TRACE(test::text_of(network::graph_of(network), form));
            expect_same_bits_for_any_cuts_and_threads(make_seeded_weights(network, test::kRowSeed), form);
        }
}

TEST(NativeSlabs, EqualTheWholeImageBitForBitForAnyGraph) {
    for (const network::Graph& graph : test::any_graphs(12)) {
        SCOPED_TRACE(network::to_text(graph));
        expect_same_bits_for_any_cuts_and_threads(test::weights_of(graph, test::kRowSeed), {});
    }
}

TEST(NativeSlabs, TakeTheMemoryThatIsPlanned) {
    const Weights weights = make_seeded_weights(row_networks()[4], test::kRowSeed);
    const network::Graph graph = weights.graph();
    const network::ExchangedSlab slab(graph,
                                      {.rows = {64, 96}, .above = {0, 64}, .below = {96, 160}, .image = {160, 40}});
    std::vector<float> in(static_cast<size_t>(slab.held(0).size() * 40 * 4)), out(static_cast<size_t>(32 * 40 * 3));
    for (const network::WinogradForm form : test::forms()) {
        const auto denoiser = make_denoiser(weights, native_options(form, 2));
        test::expect_planned_memory(
            network::plan_exchanged(graph, slab).arena.bytes + 2 * network::native_scratch_bytes(graph, form),
            [&] { return denoiser->make_slab_pass(slab); },
            [&](SlabPass& pass) { pass.run(in.data(), out.data(), nullptr); });
    }
}

TEST(NativeSlabs, OtherEnginesRefuseThem) {
    const Weights weights = make_seeded_weights(row_networks()[0], test::kRowSeed);
    const network::ExchangedSlab slab(weights.graph(), {.rows = {0, 8}, .image = {8, 8}});
    test::expect_others_refuse(weights, {EngineKind::torch, EngineKind::reference},
                               [&](Denoiser& denoiser) { return denoiser.make_slab_pass(slab); });
}

}  // namespace
}  // namespace pb::engine
