// Denoises a stack: its pages one after the other, each as an image, into one file.
#include "app/denoise/band_output.hpp"
#include "app/denoise/images.hpp"
#include "app/denoise/stack_figures.hpp"
#include "image/stack_file.hpp"
#include "run/agreement.hpp"
#include "run/from_root.hpp"

#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pb::app {

/// `image` and `file` must outlive it. `run` is collective over the group and throws AgreedError or PointFailed.
class Stack {
  public:
    Stack(Denoise& denoise, const Denoise::Image& image, const run::OpenFiles& files,
          const std::vector<std::string>& groups)
        : denoise_(denoise),
          ranks_(denoise.group_.ranks),
          image_(image),
          files_(files),
          file_(files.image),
          has_groups_(!groups.empty()),
          groups_(has_groups_ ? groups : std::vector<std::string>{""}) {}

    /// Returns the line about the stack on the root. If a page fails, no file is written and the line is about that
    /// page. An automatic range is found for the whole stack, the noise level for each page.
    ImageLine run() {
        run::together(ranks_, [&] { open_output(); });
        for (const std::string& bands : groups_) ranges_[bands] = denoise_.find_range(files_, bands);
        const int64_t num_pages = file_->num_pages();
        for (int64_t page = 0; page < num_pages && !has_failed(); ++page) {
            run::together(ranks_, [&] { files_.turn_to(page); });
            has_groups_ ? run_bands() : add_page(page);
        }
        naming_page([&] { denoise_.runner_.finish_images(); });
        if (has_failed()) return failure_;
        run::together(ranks_, [&] {
            files_.require_unchanged();
            if (output_) output_->commit();
        });
        if (!ranks_.is_root()) return {};
        return figures_.line(image_.job, num_pages, denoise_.sigma_note(figures_.first_point()));
    }

    [[nodiscard]] const ImagePasses& passes() const { return passes_; }

  private:
    void open_output() {
        image::check_can_save_stack(file_->info(), image_.job.output);
        if (ranks_.is_root()) output_.emplace(*file_, image_.job.output, denoise_.compression_);
    }

    /// Plans a pass over the current page, or over a group of its bands.
    [[nodiscard]] Denoise::Pass plan_pass(const std::string& bands) {
        Denoise::Pass pass = denoise_.plan_pass(image_.job, files_, bands, ranges_.at(bands));
        const int64_t num_pages = file_->num_pages();
        denoise_.progress_.expect(static_cast<double>(pass.source->extent().pixels() * num_pages),
                                  num_pages * std::ssize(groups_));
        return pass;
    }

    /// `take` receives the denoised samples on the root.
    [[nodiscard]] run::PointFiles files_with(std::function<void(const PixelView&)> take) const {
        return {.image = image_.job.output, .compression = denoise_.compression_, .take = std::move(take)};
    }

    /// Adds the current page to the output, now or in one pass with later pages. `save` and `done` are called in the
    /// order of the pages, when their page is the current one again.
    void add_page(int64_t page) {
        const auto save = [this](const PixelView& denoised) {
            if (!has_failed()) add(denoised);
        };
        naming_page([&] {
            Denoise::Pass pass = plan_pass("");
            const auto done = [this, fit = pass.range](const run::ImageOutcome& outcome) {
                if (!outcome.user_error.empty()) throw run::AgreedError(outcome.user_error, ExitCode::usage);
                const measure::Summary summary = passes_.add(outcome.trace, outcome.images_in_pass);
                if (!has_failed()) take({outcome.trace, summary, fit});
            };
            denoise_.runner_.add({.point = std::move(pass.point),
                                  .files = files_with(save),
                                  .source = std::move(pass.source),
                                  .turn = [this, page] { files_.turn_to(page); },
                                  .done = done});
        });
    }

    /// Adds the current page, whose groups of bands are denoised one after the other.
    void run_bands() {
        std::optional<BandOutput> joined;
        if (ranks_.is_root()) joined.emplace(file_);
        for (const std::string& bands : groups_) {
            const auto save = [&](const PixelView& denoised) { joined.value().take(bands, denoised); };
            naming_page([&] {
                const Denoise::Pass pass = plan_pass(bands);
                const record::PointTrace trace = denoise_.runner_.run(pass.point, files_with(save), pass.source.get());
                take({trace, passes_.add(trace), pass.range});
            });
            if (has_failed()) return;
        }
        run::together(ranks_, [&] {
            if (joined) joined->give([&](const image::ImageToSave& page) { output_.value().add(page); });
        });
    }

    /// Takes the figures of a pass over the current page, or the line that says why it failed.
    void take(const StackPass& result) {
        failure_ = failure_of(result);
        if (!has_failed()) figures_.add(result, file_->page_number());
    }

    [[nodiscard]] bool has_failed() const { return failure_.status != record::PointStatus::ok; }

    void add(const PixelView& denoised) {
        image::Image alpha;
        if (file_->info().has_alpha) alpha = file_->read_alpha();
        output_.value().add({denoised, alpha.view(), &file_->metadata()});
    }

    [[nodiscard]] std::string page_text() const { return fmt::format("page {} of ", file_->page_number()); }

    /// Errors of reading name the page; this names it in others, such as those of the noise level.
    template <class Step>
    void naming_page(Step&& step) const {
        try {
            step();
        } catch (const run::AgreedError& error) {
            std::string text = error.what();
            const std::string name = image_.job.input.string() + ": ";
            const bool is_named = text.find(page_text()) != std::string::npos;
            const size_t after = text.find(": " + name);  // behind the names of ranks
            if (!is_named && !text.starts_with(name) && after == std::string::npos) text.insert(0, name);
            if (!is_named) text.insert(text.starts_with(name) ? 0 : after + 2, page_text());
            throw run::AgreedError(text, error.code());
        }
    }

    /// Only the root knows whether there is an output. Returns its line on all ranks; that of no failure: there is one.
    [[nodiscard]] ImageLine failure_of(const StackPass& result) const {
        ImageLine line;
        if (ranks_.is_root() && result.trace.output_file.empty()) {
            line = denoise_line(image_.job, result.trace, {}, {});
            line.page = file_->page_number();
        }
        return run::from_root(ranks_, line);
    }

    Denoise& denoise_;
    const comm::Communicator& ranks_;
    const Denoise::Image& image_;
    const run::OpenFiles& files_;
    const run::OpenImage& file_;
    bool has_groups_;                  // of bands; otherwise a network takes a page as it is
    std::vector<std::string> groups_;  // of bands; one without a name where a page is taken as it is
    ImagePasses passes_;
    std::map<std::string, std::string> ranges_;  // by bands
    std::optional<image::StackFile> output_;     // on the root
    StackFigures figures_;
    ImageLine failure_;  // about a page that failed, on all ranks
};

void Denoise::run_stack(const Image& image, const run::OpenFiles& files, const std::vector<std::string>& groups) {
    runner_.finish_images();
    keep_engines();
    Stack stack(*this, image, files, groups);
    try {
        ImageLine said = stack.run();
        report_(image.index, {std::move(said)}, stack.passes());
    } catch (const run::PointFailed& failure) {  // outside a pass, as when the disk is full at the end
        runner_.drop_images();
        throw run::AgreedError(failure.what(), failure.code());
    } catch (...) {
        runner_.drop_images();  // their callbacks refer to the stack
        throw;
    }
}

}  // namespace pb::app
