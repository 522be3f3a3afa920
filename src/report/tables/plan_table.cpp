#include "base/mapped.hpp"
#include "base/text.hpp"
#include "config/text.hpp"
#include "plan/cropping.hpp"
#include "plan/memory_limit.hpp"
#include "plan/prediction.hpp"
#include "report/tables/tables.hpp"
#include "report/tables/text.hpp"
#include "report/tables/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace pb::report {

namespace {

/// Describes a point's windows before the run; "?" where `auto` is not yet decided.
struct WindowTexts {
    std::string window = "?", windows = "?", batches = "?", patches = "?", processed = "?", computed = "?";
};

std::string span_text(const std::set<int64_t>& counts) {
    return *counts.begin() == *counts.rbegin() ? std::to_string(*counts.begin())
                                               : fmt::format("{}-{}", *counts.begin(), *counts.rbegin());
}

WindowTexts describe_tiles(const plan::Point& point) {
    WindowTexts texts;
    if (!point.halo) return texts;
    const plan::TileGrid grid = plan::tile_grid(point);
    std::set<int64_t> patches, batches;
    for (int rank = 0; rank < point.num_ranks; ++rank) {
        const Range windows = plan::windows_of_rank(point, grid, rank);
        patches.insert(grid.num_patches(windows));
        if (point.batch) batches.insert(ceil_div(windows.size(), *point.batch));
    }
    texts.window = fmt::format("{} x {}", grid.window().h, grid.window().w);
    texts.windows = std::to_string(grid.num_windows());
    texts.patches = span_text(patches);
    texts.processed = readable(plan::processed_per_useful(point));
    texts.computed = readable(plan::computed_per_useful(point));
    if (point.batch) texts.batches = span_text(batches);
    if (point.settings.schedule == config::Schedule::dynamic) {  // known only after the windows are taken
        texts.patches = fmt::format("of {}", grid.num_patches());
        texts.batches = point.batch ? fmt::format("of {}", ceil_div(grid.num_windows(), *point.batch)) : "?";
    }
    return texts;
}

WindowTexts describe_refused() { return {"-", "-", "-", "-", "-", "-"}; }

WindowTexts describe_whole(const plan::Point& point) {
    const auto calls = plan::whole_image_calls(point.facts(), point.source.extent, point.settings.odd_shape);
    const Extent window = calls.front().window.extent;
    const std::string idle = point.num_ranks > 1 && !point.settings.replicate ? "0-" : "";
    const std::string processed = readable(plan::processed_per_useful(point));
    return {fmt::format("{} x {}", window.h, window.w),
            std::to_string(calls.size()),
            fmt::format("{}{}", idle, calls.size()),
            idle + "1",
            processed,
            processed};
}

/// Columns that only some plans have.
struct PlanColumns {
    bool arithmetic = false;  // where windows are cropped
    std::optional<double> rank_tflops{};
};

TextTable make_plan_table(const PlanColumns& columns) {
    using enum TextTable::Align;
    TextTable table;
    table.add_column("#");
    table.add_columns({"point", "image\n(h x w x c)", "device"}, left);
    table.add_columns({"ranks", "window\npx", "windows", "batches\na rank", "patches\na rank", "processed/\nuseful"});
    if (columns.arithmetic) table.add_column("arithmetic/\nuseful");
    table.add_columns({"predicted\npeak MiB", "TFLOP"});
    if (columns.rank_tflops) table.add_column("predicted\ns");
    return table;
}

std::string peak_text(const plan::Prediction& prediction) {
    return prediction.peak_mib > 0 ? readable_mib(prediction.peak_mib) : "-";
}

std::vector<std::string> row_of(const plan::Point& point, const PlanColumns& columns) {
    const bool refused = !point.refusal.empty();
    const auto texts = refused                                              ? describe_refused()
                       : point.settings.workload == config::Workload::tiles ? describe_tiles(point)
                                                                            : describe_whole(point);
    const auto prediction = plan::predict(point);
    const std::string open = refused || !point.settings.network.has_layers() ? "-" : "?";
    const auto& extent = point.source.extent;
    std::vector<std::string> row{std::to_string(point.index),
                                 plan::label_of(point),
                                 fmt::format("{} x {} x {}", extent.h, extent.w, point.source.channels),
                                 std::string(refused ? name_of(point.settings.device) : name_of(point.device)),
                                 std::to_string(point.num_ranks),
                                 texts.window,
                                 texts.windows,
                                 texts.batches,
                                 texts.patches,
                                 texts.processed};
    if (columns.arithmetic) row.push_back(texts.computed);
    row.push_back(prediction ? peak_text(*prediction) : open);
    row.push_back(prediction ? readable(prediction->flop / 1e12) : open);
    if (columns.rank_tflops)
        row.push_back(prediction ? readable(prediction->flop_busiest_rank / 1e12 / *columns.rank_tflops) : open);
    return row;
}

/// Returns "512 B x pixels + 0.1 MiB", or "max(.., ..)" when the pixels decide which peak is the highest.
std::string peaks_text(const std::vector<network::MemorySize>& peaks) {
    const auto texts = mapped(peaks, [](const network::MemorySize& peak) {
        return fmt::format("{:.0f} B x pixels + {:.1f} MiB", peak.bytes_per_pixel,
                           static_cast<double>(peak.fixed_bytes) / kMiB);
    });
    return texts.size() == 1 ? texts.front() : fmt::format("max({})", fmt::join(texts, ", "));
}

/// Returns "halo carried, bands of 64 x 1024: 498.2 MiB of weights + ..", which is exact of the engine native.
std::string carried_formula_of(const plan::Point& point, double weights) {
    const Extent band = plan::tile_grid(point).window();
    const auto [rows, in_out] = plan::band_bytes(point);
    const std::string strips = point.strip_columns ? " in " + plan::strips_text(point) : "";
    return fmt::format(
        "halo carried, bands of {} x {}{}: {:.1f} MiB of weights + {:.1f} MiB of rows, whatever the height + "
        "{:.1f} MiB of a band's input and output\n",
        band.h, band.w, strips, weights / kMiB, static_cast<double>(rows) / kMiB, static_cast<double>(in_out) / kMiB);
}

/// Returns "1 window of 640 x 640 cropped to their core: 498.2 MiB of weights + ..", which is exact of the
/// engine native. While the batch is open it is of one window.
std::string cropped_formula_of(plan::Point point, const plan::PeakParts& parts) {
    const Extent window = plan::tile_grid(point).window();
    if (!point.batch) point.batch = 1;
    const int64_t pixels = *point.batch * window.pixels();
    const double in_out = parts.in_out_per_pixel * static_cast<double>(plan::batches_in_flight(point) * pixels);
    const double peak = plan::predict(point).value().peak_mib * kMiB;
    return fmt::format(
        "{} of {} x {} cropped to what the core needs: {:.1f} MiB of weights + {:.1f} MiB of maps + "
        "{:.1f} MiB of input and output\n",
        counted(*point.batch, "window"), window.h, window.w, parts.weights / kMiB,
        (peak - parts.weights - in_out) / kMiB, in_out / kMiB);
}

/// Returns a formula such as "channels_last, 3 channels: 124.5 MiB + 28 B x pixels + max(..)".
std::string formula_of(const plan::Point& point) {
    const auto& settings = point.settings;
    const plan::PeakParts parts = plan::peak_parts(point);
    if (plan::is_carried(point)) return carried_formula_of(point, parts.weights);
    if (plan::is_exchanged(point)) return exchanged_formula_of(point, parts.weights);
    if (parts.crop) return cropped_formula_of(point, parts);
    const int64_t batches = plan::batches_in_flight(point);
    const std::string in_flight = batches > 1 ? fmt::format(" x {} batches", batches) : "";
    return fmt::format("{}, {}: {:.1f} MiB + {:.0f} B x pixels{} + {}\n", config::format_setting(settings.layout),
                       counted(point.source.channels, "channel"), parts.weights / kMiB, parts.in_out_per_pixel,
                       in_flight, peaks_text(parts.forward));
}

constexpr size_t kFewNotes = 3;  // below the heading of a long plan

}  // namespace

std::string prediction_text(const plan::Plan& plan) {
    std::vector<std::string> formulas;
    bool gpu = false, cropped = false, native = false;
    for (const auto& point : plan.points) {
        if (!point.refusal.empty() || has_own_process(point.settings.engine) || !point.settings.network.has_layers())
            continue;
        gpu = gpu || point.device == DeviceKind::cuda;
        cropped = cropped || plan::is_cropped(point);
        native = native || point.settings.engine == EngineKind::native;
        const std::string formula = fmt::format("    {}, engine {}, {}, {}", point.settings.network.name(),
                                                config::format_setting(point.settings.engine),
                                                name_of(point.settings.dtype), formula_of(point));
        if (std::ranges::find(formulas, formula) == formulas.end()) formulas.push_back(formula);
    }
    if (formulas.empty()) return "";
    return fmt::format(
        "How it is predicted, from the layers of the networks\n"
        "  peak MiB of a rank in the engine's allocator: weights + input and output of the batches in flight + the "
        "larger of two moments\n  of a forward call, at full extent and at the deepest layers; pixels = batch x window"
        "{}\n{}{}"
        "  TFLOP: 2 x multiply-accumulates a pixel x pixels processed, halo and repeated windows included{}\n",
        gpu ? "; on a GPU a batch holds its samples, too, and cuDNN's scratch memory comes on top" : "",
        native ? "  with engine native also memory of each thread: of one a rank where `threads` is auto (--set "
                 "threads=N)\n"
               : "",
        fmt::join(formulas, ""), cropped ? "; of cropped windows what each layer computes" : "");
}

std::string plan_table(const plan::Plan& plan, std::optional<double> rank_tflops, const TextSize& size) {
    const PlanColumns columns{std::ranges::any_of(plan.points, plan::is_cropped), rank_tflops};
    TextTable table = make_plan_table(columns);
    Remarks notes;  // by the numbers of their points
    bool open = false;
    const bool is_short = plan.points.size() > size.most;
    for (const auto& point : plan.points) {
        if (!is_short) table.add_row(row_of(point, columns));
        open = open || (point.refusal.empty() && (!point.halo || !point.batch));
        if (!point.refusal.empty()) notes.add("refused: " + point.refusal, std::to_string(point.index));
        for (const auto& note : point.notes) notes.add(note, std::to_string(point.index));
    }
    const std::string heading = fmt::format("Plan of {}: {}", plan.study.name, counted(plan.points.size(), "point"));
    const std::vector<std::string> remarks = notes.lines(0);  // none of them as that of all points
    if (is_short)
        return heading + "; patchbench plan, or --verbose, prints them\n" +
               first_lines(remarks, {size.width, kFewNotes});
    std::string below = first_lines(remarks, {});
    if (open) below += "  ?: settled by trying out, halo or batch is auto\n";
    return heading + "\n" + table.text(size.width) + (below.empty() ? "" : "\n" + below);
}

}  // namespace pb::report
