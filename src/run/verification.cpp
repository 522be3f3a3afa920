#include "run/verification.hpp"

#include "run/likeness.hpp"
#include "run/probes.hpp"

#include "patchbench/image/difference_map.hpp"
#include "patchbench/image/quality.hpp"
#include "patchbench/run/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace pb {

namespace {

constexpr const char* kNotFinite = "windows are not finite";

double largest_magnitude(const Image& image) {
    double largest = 0;
    const auto* samples = image.as<float>();
    const auto count = static_cast<size_t>(image.extent().pixels() * image.channels());
    for (size_t i = 0; i < count; ++i) largest = std::max(largest, static_cast<double>(std::abs(samples[i])));
    return largest;
}

/// What integer samples can hold at best: values clipped to [0,1].
void clip(Image& image) {
    auto* samples = image.as<float>();
    const auto count = static_cast<size_t>(image.extent().pixels() * image.channels());
    for (size_t i = 0; i < count; ++i) samples[i] = std::clamp(samples[i], 0.0F, 1.0F);
}

/// Largest difference between the output and `expected` at `part`, relative to the largest expected value (at least 1).
double relative_error(Output& output, const Rect& part, Image expected) {
    if (!is_float(output.dtype())) clip(expected);
    return max_abs_difference(output.read(part).view(), expected.view()) / std::max(1.0, largest_magnitude(expected));
}

/// As relative_error, cell by cell.
SeamRegion compare_cells(Output& output, const Rect& part, Image expected) {
    if (!is_float(output.dtype())) clip(expected);
    DifferenceMap map = map_differences(output.read(part).view(), expected.view());
    const double scale = std::max(1.0, largest_magnitude(expected));
    for (double& difference : map.largest) difference /= scale;
    return {part, map.cell_px, std::move(map.largest)};
}

/// NaN counts as larger than everything.
double worse(double a, double b) {
    return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : std::max(a, b);
}

/// max over ranks that keeps NaN: it travels as infinity.
double worst_of_ranks(const Communicator& ranks, double error) {
    return ranks.max(std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
}

/// Up to `count` windows of those that a rank did.
std::vector<int64_t> some_windows(const std::vector<Range>& done, int64_t count, uint64_t seed) {
    std::vector<int64_t> all, chosen;
    for (const Range& run : done)
        for (int64_t index = run.begin; index < run.end; ++index) all.push_back(index);
    for (const int64_t place : pick({0, std::ssize(all)}, count, seed))
        chosen.push_back(all[static_cast<size_t>(place)]);
    return chosen;
}

/// Windows to rerun of those that this rank did: all, or its part of the probes.
std::vector<int64_t> windows_to_check(const ProtocolSettings& protocol, const std::vector<Range>& done,
                                      const Communicator& ranks) {
    if (protocol.verify == VerifyMode::full) return some_windows(done, std::numeric_limits<int64_t>::max(), 0);
    const int64_t probes = shard(protocol.verify_probes, ranks.rank(), ranks.size()).size();
    return some_windows(done, std::max<int64_t>(probes, ranks.rank() == 0 ? 1 : 0),
                        static_cast<uint64_t>(ranks.rank()));
}

class Verifier {
  public:
    Verifier(const PointTrace& trace, const Team& team, const RankShare& share, ReferencePath& reference,
             ReferenceCache& cache)
        : protocol_(trace.point.settings.protocol),
          trace_(trace),
          point_(trace.point),
          team_(team),
          share_(share),
          output_(share.cores()),
          reference_(reference),
          cache_(cache) {
        const double rounding = is_float(output_.dtype()) ? 0 : 0.5 / full_scale(output_.dtype()) + 1e-6;
        result_.window_tolerance = tolerance_of(point_.settings.dtype) + rounding;
        result_.seam_tolerance = result_.window_tolerance;
    }

    Verification run() {
        if (const auto fault = find_coverage_fault(trace_, team_, share_)) fail(*fault);
        const bool is_held = share_.streamed() == nullptr;
        if (is_held || check_stream()) check_windows();
        together(team_.ranks, [&] {
            if (!team_.is_root()) return;
            if (is_held) scan_output();
            if (is_held || result_.pixels_not_finite == 0) check_seams();
        });
        result_.outcome = result_.reasons.empty() ? Verification::Outcome::passed : Verification::Outcome::failed;
        return result_;
    }

  private:
    void fail(const std::string& reason) { result_.reasons.push_back(reason); }

    [[nodiscard]] bool tiled() const { return point_.settings.workload == Workload::tiles; }

    void check_windows() {
        const Work& work = share_.work();
        auto indices = windows_to_check(protocol_, share_.windows_done(), team_.ranks);
        double error = 0;
        together(team_.ranks, [&] {
            add_suspect(indices);
            for (const int64_t index : indices) {
                const WindowTask task = work.task(index);
                const Image expected = crop(reference_.run(task.seen), task.seen, task.kept);
                error = worse(error, relative_error(output_, task.kept, expected));
            }
        });
        result_.windows_checked = static_cast<int64_t>(team_.ranks.sum(static_cast<double>(indices.size())));
        result_.window_error = worst_of_ranks(team_.ranks, error);
        const bool wrong = !(error <= result_.window_tolerance);
        if (const auto reason = team_.ranks.agree(wrong ? std::optional(difference_text(error)) : std::nullopt))
            fail(*reason);
    }

    /// The window whose output looks worst, unless it is among them. A streamed output was looked at on its way.
    void add_suspect(std::vector<int64_t>& indices) const {
        const Work& work = share_.work();
        const auto runs = share_.windows_done();
        const StreamedOutput* streamed = share_.streamed();
        const auto suspect =
            streamed == nullptr ? find_suspect(output_, work, runs) : streamed->counts().suspect.part();
        if (!suspect) return;
        const auto is_it = [&](int64_t index) { return work.task(index).kept == *suspect; };
        if (std::any_of(indices.begin(), indices.end(), is_it)) return;
        for (const Range& run : runs)
            for (int64_t index = run.begin; index < run.end; ++index)
                if (is_it(index)) return indices.push_back(index);
    }

    /// The same text on all ranks that it is true of: they are named together.
    [[nodiscard]] std::string difference_text(double error) const {
        if (std::isnan(error)) return kNotFinite;
        return "windows differ from the serial fp32 path by more than " + std::to_string(result_.window_tolerance);
    }

    /// What scan_output looks for, where no rank holds the image: all that each rank brought was counted on its way,
    /// and windows of all ranks tell the rest. False when the file holds samples that cannot be read as numbers.
    bool check_stream() {
        const StreamCounts& counts = share_.streamed()->counts();
        const double written = team_.ranks.sum(static_cast<double>(counts.pixels));
        result_.pixels_unwritten = static_cast<int64_t>(trace_.useful_pixels - written);
        result_.pixels_not_finite = static_cast<int64_t>(team_.ranks.sum(static_cast<double>(counts.not_finite)));
        if (result_.pixels_unwritten != 0)
            fail(std::to_string(static_cast<int64_t>(written)) + " output pixels were written, not each one once");
        if (const auto ranks = name_ranks_not_finite(team_, counts)) fail(*ranks);
        if (result_.pixels_not_finite > 0)
            fail(std::to_string(result_.pixels_not_finite) +
                 " output samples are not finite; with fp16 or untrained weights try bf16 or fp32");
        else
            check_likeness();
        return result_.pixels_not_finite == 0;
    }

    void check_likeness() {
        constexpr int64_t kMostWindows = 8;  // of a rank: one that differs is enough
        Likeness likeness;
        together(team_.ranks, [&] {
            for (const int64_t index : some_windows(share_.windows_done(), kMostWindows, 1)) {
                const Rect part = share_.work().task(index).kept;
                likeness.add(reference_.source().read_noisy(part), output_.read(part));
            }
        });
        const auto on_all = [&](bool answer) { return team_.ranks.min(answer ? 1 : 0) > 0; };
        const bool input_constant = on_all(likeness.input_constant);
        const bool equal = on_all(likeness.equal);
        judge(input_constant, equal, on_all(likeness.output_constant));
    }

    /// Poison, values that are not finite, and outputs that are no outputs: constant, or the input itself.
    void scan_output() {
        Likeness likeness;
        const Extent extent = output_.extent();
        constexpr int64_t kBand = 256;
        for (int64_t row = 0; row < extent.h; row += kBand) {
            const Rect band{row, 0, {std::min(kBand, extent.h - row), extent.w}};
            const Image out = output_.read(band);
            const Image in = reference_.source().read_noisy(band);
            likeness.add(in, out);
            const auto* written = out.as<float>();
            const auto count = static_cast<size_t>(band.extent.pixels() * out.channels());
            for (size_t i = 0; i < count; ++i) {
                if (std::isnan(written[i])) ++result_.pixels_unwritten;
                if (!std::isfinite(written[i])) ++result_.pixels_not_finite;
            }
        }
        if (result_.pixels_not_finite > 0)
            fail(std::to_string(result_.pixels_not_finite) +
                 " output samples are unwritten or not finite; with fp16 or untrained weights try bf16 or fp32");
        judge(likeness.input_constant, likeness.equal, likeness.output_constant);
    }

    void judge(bool input_constant, bool equal, bool output_constant) {
        if (!input_constant && equal) fail("the output equals the input");
        if (!input_constant && output_constant) fail("the output is constant");
    }

    void check_seams() {
        if (!tiled()) return;
        const TileGrid grid = tile_grid(point_);
        const double megapixels = static_cast<double>(grid.image().pixels()) / 1e6;
        result_.seam_against_whole_image = megapixels <= protocol_.verify_whole_max_mpx;
        const auto probes = result_.seam_against_whole_image ? std::vector<Rect>{{0, 0, grid.image()}}
                                                             : seam_probes(grid, protocol_.verify_probes);
        if (probes.empty()) return;
        double error = 0;
        for (const Rect& probe : probes) {
            result_.seam_map.push_back(compare_cells(output_, probe, with_context(grid, probe)));
            for (const double cell : result_.seam_map.back().errors) error = worse(error, cell);
        }
        result_.seam_error = error;
        result_.seam_decides = point_.halo.value() >= point_.facts().exact_halo;
        if (result_.seam_decides && !(error <= result_.seam_tolerance))
            fail("with an exact halo the tiled output differs from the whole image by " + std::to_string(error) +
                 " (tolerance " + std::to_string(result_.seam_tolerance) + ")");
    }

    const Image& with_context(const TileGrid& grid, const Rect& probe) {
        const auto& image = point_.settings.image;
        const std::string key = std::string(name_of(point_.settings.network)) + trace_.weights_sha256 + image.path +
                                ' ' + std::to_string(image.seed) + ' ' + std::to_string(image.noise_sigma) + ' ' +
                                std::to_string(point_.sigma) + ' ' + std::to_string(grid.image().h) + 'x' +
                                std::to_string(grid.image().w) + ' ' + std::to_string(probe.row) + ' ' +
                                std::to_string(probe.column) + ' ' + std::to_string(probe.extent.h) + ' ' +
                                std::to_string(probe.extent.w);
        return cache_.find(
            key, [&] { return reference_.run_with_context(probe, point_.facts().exact_halo, grid.padded()); });
    }

    const ProtocolSettings& protocol_;
    const PointTrace& trace_;
    const Point& point_;
    const Team& team_;
    const RankShare& share_;
    Output& output_;
    ReferencePath& reference_;
    ReferenceCache& cache_;
    Verification result_;
};

}  // namespace

std::optional<std::string> find_coverage_fault(const PointTrace& trace, const Team& team, const RankShare& share) {
    const double kept = team.ranks.sum(share.work().kept_pixels(share.windows_done()));
    if (kept == trace.useful_pixels) return std::nullopt;
    return "the windows keep " + std::to_string(static_cast<int64_t>(kept)) + " pixels of " +
           std::to_string(static_cast<int64_t>(trace.useful_pixels)) + ": a fault of the tiling, please report it";
}

std::optional<std::string> name_ranks_not_finite(const Team& team, const StreamCounts& counts) {
    return team.ranks.agree(counts.not_finite > 0 ? std::optional<std::string>(kNotFinite) : std::nullopt);
}

double tolerance_of(Precision precision) {
    switch (precision) {
        case Precision::fp32:
            return 1e-4;
        case Precision::tf32:
            return 1e-2;
        case Precision::fp16:
            return 2e-2;
        case Precision::bf16:
            return 1e-1;
    }
    return 0;
}

Verification verify(const PointTrace& trace, const Team& team, const RankShare& share, ReferencePath& reference,
                    ReferenceCache& cache) {
    return Verifier(trace, team, share, reference, cache).run();
}

}  // namespace pb
