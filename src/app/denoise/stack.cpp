#include "app/denoise/stack.hpp"

#include "app/denoise/band_output.hpp"
#include "app/denoise/image_passes.hpp"
#include "app/denoise/noise_level.hpp"
#include "image/stack_file.hpp"
#include "measure/study/recommendation.hpp"
#include "run/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace pb::app {

namespace {

/// What is worth a note on some of the pages: the text for one of them, and the numbers of all.
struct PageNote {
    std::string text;
    std::set<int64_t> pages;

    [[nodiscard]] std::string line() const {
        if (pages.size() < 2) return text;
        return fmt::format("{} ({} pages have such a note)", text, pages.size());
    }
};

/// The figures of all passes, for one line.
class StackFigures {
  public:
    void add(const PassResult& result, int64_t page) {
        const record::PointTrace& trace = result.trace;
        if (!first_) first_ = result;
        add_notes(result, page);
        add_lost(trace.lost_metadata);
        lowest_sigma_ = std::min(lowest_sigma_, trace.point.sigma);
        highest_sigma_ = std::max(highest_sigma_, trace.point.sigma);
        pixels_ += trace.useful_pixels;
        seconds_ += result.summary.pipeline_s.value_or(0);
        if (!trace.quality) return;
        psnr_noisy_db_ += trace.quality->psnr_noisy_db;
        psnr_denoised_db_ += trace.quality->psnr_denoised_db;
        ++num_qualities_;
    }

    [[nodiscard]] std::string line(const DenoiseJob& names, int64_t num_pages) const {
        PassResult all = first_.value();
        record::PointTrace& trace = all.trace;
        trace.point.settings.image.bands.clear();
        if (trace.quality) {
            trace.quality->psnr_noisy_db = psnr_noisy_db_ / num_qualities_;
            trace.quality->psnr_denoised_db = psnr_denoised_db_ / num_qualities_;
        }
        trace.lost_metadata = fmt::format("{}", fmt::join(lost_, ", "));
        trace.verification.seam_error.reset();  // the worst of all pages has its note
        measure::Summary summary;
        summary.pipeline_s = seconds_;
        if (seconds_ > 0) summary.useful_mpx_per_s = pixels_ / seconds_ / 1e6;
        const std::string pages = fmt::format("{}, {} pages", names.input.string(), num_pages);
        return denoise_line({pages, names.output}, trace, summary,
                            {range_.line(), trace.point.sigma_note, sigma_note(trace.point), trace.point.weights_note,
                             trace.point.channel_note, seams_.line()});
    }

  private:
    /// Keeps the range of the first page beside [0, 1] and the largest seams.
    void add_notes(const PassResult& result, int64_t page) {
        if (!result.note.empty()) {
            if (range_.pages.empty()) range_.text = fmt::format("page {}: {}", page, result.note);
            range_.pages.insert(page);
        }
        const auto seams = measure::visible_seams(result.trace);
        if (!seams) return;
        if (seams_.pages.empty() || *seams > largest_seams_) {
            seams_.text = fmt::format("page {}: {}", page, seam_note(result.trace));
            largest_seams_ = *seams;
        }
        seams_.pages.insert(page);
    }

    /// Adds names that are separated as in record::PointTrace, each once.
    void add_lost(const std::string& names) {
        constexpr std::string_view kSeparator = ", ";
        for (size_t begin = 0; begin < names.size();) {
            const size_t end = std::min(names.find(kSeparator, begin), names.size());
            const std::string name = names.substr(begin, end - begin);
            if (std::find(lost_.begin(), lost_.end(), name) == lost_.end()) lost_.push_back(name);
            begin = end + kSeparator.size();
        }
    }

    [[nodiscard]] std::string sigma_note(const plan::Point& point) const {
        if (!point.uses_sigma || lowest_sigma_ == highest_sigma_) return "";
        return fmt::format("sigma is that of the first page, of all pages {:.4g} to {:.4g}", lowest_sigma_,
                           highest_sigma_);
    }

    std::optional<PassResult> first_;
    PageNote range_, seams_;
    std::vector<std::string> lost_;  // metadata that the output lacks, of any page
    double largest_seams_ = 0;
    double lowest_sigma_ = 1, highest_sigma_ = 0;
    double pixels_ = 0, seconds_ = 0;
    double psnr_noisy_db_ = 0, psnr_denoised_db_ = 0, num_qualities_ = 0;
};

class Stack {
  public:
    explicit Stack(const StackJob& job) : job_(job) {
        if (job_.band_groups.empty()) groups_ = {""};
    }

    std::string run() {
        run::together(job_.ranks, [&] { open_output(); });
        find_ranges();
        const int64_t num_pages = job_.file->num_pages();
        for (int64_t page = 0; page < num_pages && failure_.empty(); ++page) {
            run::together(job_.ranks, [&] { job_.file->turn_to(page); });
            job_.band_groups.empty() ? add_page(page) : run_bands();
        }
        naming_page([&] { job_.finish_pages(); });
        if (!failure_.empty()) return failure_;
        run::together(job_.ranks, [&] {
            if (output_) output_->commit();
        });
        return job_.ranks.is_root() ? figures_.line(job_.names, num_pages) : "";
    }

  private:
    void open_output() {
        image::check_can_save_stack(job_.file->info(), job_.names.output);
        if (job_.ranks.is_root()) output_.emplace(*job_.file, job_.names.output, job_.compression);
    }

    /// The root finds automatic ranges, because other ranks would have to decode the file for it.
    void find_ranges() {
        const bool searches = config::parse_range(job_.image.range).kind == config::RangeChoice::Kind::automatic;
        for (const std::string& bands : groups_) {
            std::string range = job_.image.range;
            run::together(job_.ranks, [&] {
                config::ImageSettings image = job_.image;
                image.bands = bands;
                if (searches && job_.ranks.is_root()) range = run::range_setting(run::range_of_pages(image, job_.file));
            });
            ranges_[bands] = job_.ranks.broadcast(range);
        }
    }

    /// Adds the current page to the output, now or together with later pages.
    void add_page(int64_t page) {
        const auto save = [this](const PixelView& denoised) {
            if (failure_.empty()) add(denoised);
        };
        const auto done = [this](const PassResult& result) {
            if (failure_.empty()) take(result);
        };
        naming_page([&] { job_.add_page({"", ranges_.at(""), save}, page, done); });
    }

    /// Adds the current page, whose groups of bands are denoised one after the other.
    void run_bands() {
        std::optional<BandOutput> joined;
        if (job_.ranks.is_root()) joined.emplace(job_.file);
        for (const std::string& bands : groups_) {
            const auto save = [&](const PixelView& denoised) { joined.value().take(bands, denoised); };
            naming_page([&] { take(job_.run_pass({bands, ranges_.at(bands), save})); });
            if (!failure_.empty()) return;
        }
        run::together(job_.ranks, [&] {
            if (joined) joined->give([&](const image::ImageToSave& page) { output_.value().add(page); });
        });
    }

    /// Takes the figures of a pass over the current page, or the line that says why it failed.
    void take(const PassResult& result) {
        failure_ = failure_of(result);
        if (failure_.empty()) figures_.add(result, job_.file->page_number());
    }

    void add(const PixelView& denoised) {
        image::Image alpha;
        if (job_.file->info().has_alpha) alpha = job_.file->read_alpha();
        output_.value().add({denoised, alpha.view(), &job_.file->metadata()});
    }

    [[nodiscard]] std::string page_text() const { return fmt::format("page {} of ", job_.file->page_number()); }

    /// Errors of reading name the page; this names it in others, such as those of the noise level.
    template <class Step>
    void naming_page(Step&& step) const {
        try {
            step();
        } catch (const run::AgreedError& error) {
            const std::string text = error.what();
            const bool is_named = text.find(page_text()) != std::string::npos;
            throw run::AgreedError(is_named ? text : page_text() + job_.names.input.string() + ": " + text,
                                   error.code());
        }
    }

    /// Only the root knows whether there is an output. Returns its line on all ranks; empty: there is one.
    [[nodiscard]] std::string failure_of(const PassResult& result) const {
        const bool failed = job_.ranks.is_root() && result.trace.output_file.empty();
        return job_.ranks.broadcast(
            failed ? denoise_line({page_text() + job_.names.input.string(), job_.names.output}, result.trace, {}, {})
                   : "");
    }

    const StackJob& job_;
    std::vector<std::string> groups_ = job_.band_groups;
    std::map<std::string, std::string> ranges_;  // by bands
    std::optional<image::StackFile> output_;     // on the root
    StackFigures figures_;
    std::string failure_;  // the line about a page that failed, on all ranks
};

}  // namespace

std::vector<int64_t> parse_pages(const std::string& text) {
    constexpr int64_t kMostPages = int64_t{1} << 20U;  // of libtiff
    std::vector<int64_t> pages;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (text != "all") {
        int64_t first = -1, last = -1;
        at = std::from_chars(at, end, first).ptr;
        last = first;
        if (at != end && *at == '-') {
            last = -1;
            at = std::from_chars(at + 1, end, last).ptr;
        }
        const bool ascends = pages.empty() || first > pages.back();
        if (first < 0 || last < first || last >= kMostPages || !ascends || (at != end && *at != ','))
            throw UsageError("--pages " + text + ": must be page numbers from 0 in ascending order, as 0-9,20, or all");
        for (int64_t page = first; page <= last; ++page) pages.push_back(page);
        if (at == end) break;
        ++at;
    }
    return pages;
}

std::string denoise_stack(const StackJob& job) {
    try {
        return Stack(job).run();
    } catch (const run::PointFailed& failure) {  // outside a pass, as when the disk is full at the end
        throw run::AgreedError(failure.what(), failure.code());
    }
}

}  // namespace pb::app
