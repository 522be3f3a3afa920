// What `denoise` says of an image: a line of text, or with --json an object with the same figures.
#pragma once

#include "app/denoise/dry_run.hpp"
#include "app/denoise/inputs.hpp"
#include "base/mapped.hpp"
#include "measure/summary.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pb::app {

struct LineNote {
    std::string text;     // empty: there is nothing to say
    std::string subject;  // text says it of the first line with this subject only; empty: of each
};

template <class V, record::Like<LineNote> R>
void fields(V& v, R& note) {
    v("text", note.text);
    v("subject", note.subject);
}

/// The figures and notes of an image or a stack, or of one group of its bands. `reason` says why it failed.
struct ImageLine {
    std::string input, output;
    int64_t pages = 1;
    std::optional<int64_t> page;  // of a stack, where one page failed
    std::string bands;            // as "0-2"; empty: all
    record::PointStatus status = record::PointStatus::ok;
    std::string reason;
    int64_t height = 0, width = 0, channels = 0;  // 0: the image was not planned
    std::string network, engine;
    Precision dtype = Precision::fp32;
    std::optional<double> low, high;  // the range that was given or found
    std::optional<double> sigma;      // in [0,1]; none: the network does not know it
    std::string halo;
    std::optional<int64_t> batch;  // none: --dry-run leaves it open
    std::string open_batch;        // then the setting
    int ranks = 0;
    PlannedNeeds planned;  // with --dry-run, which has no figures
    std::optional<double> pipeline_s, useful_mpx_per_s, psnr_noisy_db, psnr_denoised_db;
    std::vector<LineNote> notes;
    std::string not_kept;  // metadata

    /// "in.png -> out.png: 40x36 px (height x width), dncnn, sigma 0.1, halo 8, batch 2, ...", or the reason why there
    /// is no output. The notes follow. `said`: the subjects of the lines before, to which this one's are added.
    [[nodiscard]] std::string text(std::set<std::string>& said) const;
    /// A line of --json. `verification`: of the worst pass.
    [[nodiscard]] std::string json(record::Verification::Outcome verification) const;
};

template <class V, record::Like<ImageLine> R>
void fields(V& v, R& line) {
    v("input", line.input);
    v("output", line.output);
    v("pages", line.pages);
    v("page", line.page);
    v("bands", record::or_null(line.bands));
    v("status", line.status);
    v("reason", record::or_null(line.reason));
    v("height", record::or_null(line.height));
    v("width", record::or_null(line.width));
    v("channels", record::or_null(line.channels));
    v("network", record::or_null(line.network));
    v("engine", record::or_null(line.engine));
    v("dtype", line.dtype);
    v("range_low", line.low);
    v("range_high", line.high);
    v("sigma", line.sigma);
    v("halo", record::or_null(line.halo));
    v("batch", line.batch);
    v("open_batch", record::unwritten(line.open_batch));
    v("ranks", record::or_null(line.ranks));
    v("planned", record::when(line.planned.passes > 0, line.planned));
    v("pipeline_s", line.pipeline_s);
    v("useful_mpx_per_s", line.useful_mpx_per_s);
    v("psnr_noisy_db", line.psnr_noisy_db);
    v("psnr_denoised_db", line.psnr_denoised_db);
    v("notes", record::derived([&] { return mapped(line.notes, [](const LineNote& note) { return note.text; }); }));
    v("notes_sent", record::unwritten(line.notes));
    v("not_kept", record::or_null(line.not_kept));
}

/// What a line says beside the figures of its trace.
struct LineNotes {
    std::vector<LineNote> notes;
    bool is_beyond = false;  // the samples (RangeFit): no PSNR
};

/// The notes given come first, then those of the point, on visible seams and on the clean image.
[[nodiscard]] ImageLine denoise_line(const DenoiseJob& job, const record::PointTrace& trace,
                                     const measure::Summary& summary, const LineNotes& notes);

/// Returns the same for --dry-run, without figures and the notes that need them. `needs`: of all passes over the image.
[[nodiscard]] ImageLine planned_line(const DenoiseJob& job, const plan::Point& point, const PlannedNeeds& needs,
                                     const LineNotes& notes);

/// Says once what `halo: auto` took. Empty where that is exact and costs little more than the pixels: there is nothing
/// to choose.
[[nodiscard]] LineNote halo_note(const plan::Point& point);

/// Says by how much an output with too small a halo differs from the whole image. Empty when seams are not visible.
[[nodiscard]] std::string seam_note(const record::PointTrace& trace);

// The passes over one image: one, or several for pages and groups of bands.

/// How many passes were computed again in part.
struct CheckCounts {
    int64_t passes = 0;  // those that were verified at all
    int64_t passes_checked = 0;
    int64_t windows = 0;

    void operator+=(const CheckCounts& other) {
        passes += other.passes;
        passes_checked += other.passes_checked;
        windows += other.windows;
    }
};

struct ImagePasses {
    int64_t count = 0;
    bool is_written = true;       // every pass was verified, or not to be verified
    bool is_interrupted = false;  // a signal came during a pass
    CheckCounts checks;
    std::string network_sha256;  // of the tensors of a network that is code (record::PointTrace)
    int64_t images_in_pass = 1;  // largest number of images, or pages, whose windows shared batches
    measure::Summary worst;      // by what it means for the image
    PlannedNeeds planned;        // with --dry-run, which makes no pass

    /// Returns the summary of the pass.
    measure::Summary add(const record::PointTrace& trace, int64_t together = 1);
};

}  // namespace pb::app
