// What the tests of carried and exchanged rows share.
#pragma once

#include "engine/engines.hpp"
#include "engine/memory.hpp"
#include "network/native_layout.hpp"
#include "network/parts/band_schedule.hpp"
#include "network/receptive_field.hpp"
#include "support/graph_text.hpp"
#include "support/graph_weights.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/network_facts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pb::test {

inline constexpr uint64_t kRowSeed = 7;

/// Schedules of rows are the same for all forms of Winograd's method.
inline engine::EngineOptions native_options(network::WinogradForm form = {}, int threads = 1) {
    return {.engine = EngineKind::native,
            .precision = form.bf16 ? Precision::bf16 : Precision::fp32,
            .threads = threads,
            .winograd_tile = form.tile};
}

/// Those that this processor can compute.
inline std::vector<network::WinogradForm> forms() {
    std::vector<network::WinogradForm> forms{{4}, {2}};
    if (engine::native_multiplies_bf16()) forms.push_back({2, true});
    return forms;
}

/// Relatives of each network, with Winograd's tiles wherever they can be and without.
// One of each network.
inline const std::vector<network::NetworkShape>& row_networks() {
    static const std::vector<network::NetworkShape> networks{
        network::DncnnShape{.depth = 5, .width = 32},
        network::DncnnShape{.channels = 1, .depth = 4, .width = 33, .residual = network::DncnnResidual::subtract},
        network::UnetShape{.widths = {32, 64, 32}},
        network::UnetShape{.channels = 1, .widths = {16, 20, 32}},
        network::DrunetShape{.widths = {16, 32, 64, 32}, .blocks = 2},
        network::DrunetShape{.channels = 1, .widths = {8, 32}, .blocks = 1},
    };
    return networks;
}

/// Calls `check(weights)` for each of them.
template <class Check>
void for_row_networks(Check check) {
    for (const network::NetworkShape& network : row_networks()) {
        SCOPED_TRACE(network::to_text(network::graph_of(network)));
        check(engine::make_seeded_weights(network, kRowSeed));
    }
}

/// Calls `check(weights, form)` for each of them and each form.
template <class Check>
void for_row_networks_and_forms(Check check) {
    for_row_networks([&](const engine::Weights& weights) {
        for (const network::WinogradForm form : forms()) {
            SCOPED_TRACE("tiles of " + std::to_string(form.tile) + (form.bf16 ? " in bf16" : ""));
            check(weights, form);
        }
    });
}

/// Calls `check(weights)` for each graph.
template <class Check>
void for_graphs(const std::vector<network::Graph>& graphs, Check check) {
    for (const network::Graph& graph : graphs) {
        SCOPED_TRACE(network::to_text(graph));
        check(weights_of(graph, kRowSeed));
    }
}

/// Random values of an image, and what the whole of it gives.
struct WholeImage {
    WholeImage(const engine::Weights& weights, network::WinogradForm form, int64_t h, int64_t w)
        : WholeImage(weights, native_options(form), h, w) {}
    WholeImage(const engine::Weights& weights, const engine::EngineOptions& options, int64_t h, int64_t w)
        : shape(input_shape(weights, 1, h, w)),
          values(random_values(static_cast<size_t>(shape.elements()), kRowSeed)),
          denoised(denoise(*engine::make_denoiser(weights, options), weights, options, values, shape)) {}
    Shape shape;
    std::vector<float> values, denoised;
};

/// The output rows of ranks that own `cuts[i]` to `cuts[i + 1]`, each with a pass of its own over `image`. `late`: the
/// graph of the schedule where it is not that of the weights.
inline std::vector<float> carry(engine::Denoiser& denoiser, const engine::Weights& weights, const WholeImage& image,
                                int64_t band, const std::vector<int64_t>& cuts,
                                network::ComputedUnit unit = network::ComputedUnit::tile,
                                const std::optional<network::LateGraph>& late = {}) {
    const Shape& shape = image.shape;
    const network::Graph graph = weights.graph();
    const network::LateGraph computed = late.value_or(network::without_late_map(graph));
    const int64_t in_floats = shape.w * shape.c, out_floats = shape.w * graph.channels_out();
    std::vector<float> result(static_cast<size_t>(shape.h * out_floats), -1.F);
    for (size_t rank = 0; rank + 1 < cuts.size(); ++rank) {
        const network::BandSchedule schedule(
            graph, computed,
            {.rows = {cuts[rank], cuts[rank + 1]}, .band = band, .image = {shape.h, shape.w}, .unit = unit});
        device::Stream stream({});
        const auto pass = denoiser.make_band_pass(schedule, stream);
        for (int64_t step = 0; step < schedule.num_steps(); ++step) {
            const Range taken = schedule.made(step, 0), made = schedule.made(step, computed.graph.output());
            pass->run(step, image.values.data() + taken.begin * in_floats, result.data() + made.begin * out_floats);
        }
    }
    return result;
}

/// Calls `check` with the weights and the late graph of each network and random graph that can have one.
template <class Check>
void for_late_maps(Check check) {
    int num_late = 0;
    const auto check_one = [&](const engine::Weights& weights) {
        const auto late = network::with_late_map(weights.graph());
        if (!late) return;
        SCOPED_TRACE(network::to_text(late->graph));
        check(weights, *late);
        ++num_late;
    };
    for (const network::NetworkShape& network : row_networks())
        check_one(engine::make_seeded_weights(network, kRowSeed));
    for (const auto& graphs : {any_graphs(40), wide_graphs(20)})
        for (const network::Graph& graph : graphs) check_one(weights_of(graph, kRowSeed));
    EXPECT_GE(num_late, 4);
}

/// Some columns of the image. It is not denoised.
inline WholeImage columns_of(WholeImage image, const Range& columns) {
    const Shape& shape = image.shape;
    std::vector<float> values;
    for (int64_t y = 0; y < shape.h; ++y) {
        const auto row = image.values.begin() + y * shape.w * shape.c;
        values.insert(values.end(), row + columns.begin * shape.c, row + columns.end * shape.c);
    }
    image.values = std::move(values);
    image.shape.w = columns.size();
    return image;
}

/// The same, strip by strip.
inline std::vector<float> carry_in_strips(engine::Denoiser& denoiser, const engine::Weights& weights,
                                          const WholeImage& image, int64_t band, int64_t num_strips,
                                          network::ComputedUnit unit = network::ComputedUnit::tile) {
    const int64_t channels = weights.graph().channels_out(), height = image.shape.h, width = image.shape.w;
    const network::StripCut cut(weights.graph(), width, unit);
    std::vector<float> result(static_cast<size_t>(height * width * channels), -1.F);
    for (const auto& [window, core] : cut.strips(cut.window_of(num_strips))) {
        const auto strip = carry(denoiser, weights, columns_of(image, window), band, {0, height}, unit);
        for (int64_t y = 0; y < height; ++y)
            std::copy_n(strip.begin() + (y * window.size() + core.begin - window.begin) * channels,
                        core.size() * channels, result.begin() + (y * width + core.begin) * channels);
    }
    return result;
}

/// The width of the narrowest image of which three strips can be cut, and so many alignments more.
inline int64_t width_of_strips(const network::Graph& graph, network::ComputedUnit unit, int64_t more) {
    const int64_t alignment = network::alignment_of(graph);
    int64_t width = alignment;
    while (network::StripCut(graph, width, unit).most_strips() < 3) width += alignment;
    return width + more * alignment;
}

/// Calls `make_pass`, which must allocate `planned` bytes, then `run`, which must not allocate.
template <class MakePass, class Run>
void expect_planned_memory(int64_t planned, MakePass make_pass, Run run) {
    engine::reset_allocator_peaks({});
    const int64_t before = engine::allocator_counters({}).allocated_bytes;
    const auto pass = make_pass();
    EXPECT_EQ(engine::allocator_counters({}).peak_allocated_bytes - before, planned);
    const int64_t made = engine::allocator_counters({}).num_allocations;
    run(*pass);
    EXPECT_EQ(engine::allocator_counters({}).num_allocations, made);
}

/// Calls `make_pass` with engines that have no such pass.
template <class MakePass>
void expect_others_refuse(const engine::Weights& weights, const std::vector<EngineKind>& others, MakePass make_pass) {
    for (const EngineKind engine : others) {
        const auto denoiser = engine::make_denoiser(weights, {.engine = engine});
        EXPECT_THROW((void)make_pass(*denoiser), UsageError);
    }
}

}  // namespace pb::test
