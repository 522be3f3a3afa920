// Denoises images on the ranks of a group, one after the other or, where small ones fit together, several in one pass.
#pragma once

#include "app/denoise/arguments.hpp"
#include "app/denoise/image_line.hpp"
#include "app/denoise/noise_level.hpp"
#include "app/denoise/progress.hpp"
#include "comm/communicator.hpp"
#include "plan/topology.hpp"
#include "run/pixels/file_samples.hpp"
#include "run/runner.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pb::app {

/// Receives the result of an image on all ranks of the group; the lines are complete on the root: one, or one for each
/// group of bands.
using ImageReport = std::function<void(size_t job, std::vector<ImageLine> lines, const ImagePasses& passes)>;

/// Ranks that work together on one image: all ranks, or a single rank.
struct Group {
    comm::Communicator ranks;
    plan::Topology topology;
    std::shared_ptr<SharedBlocks> blocks;
};

/// Throws UsageError when the options fit no image on this launch, such as too many threads, and Error where the engine
/// is not installed. Plans an image of a usual size in place of those that are still to be opened.
void require_possible(const DenoiseArguments& arguments, const plan::Topology& topology);

class Denoise {
  public:
    /// The arguments must outlive it. Throws UsageError. Collective over the group.
    Denoise(const DenoiseArguments& arguments, const Group& group, DenoiseProgress& progress, ImageReport report);

    /// Keeps engines from one image to the next, and between the pages of a stack.
    void keep_engines();

    /// Denoises an image, or reads it and leaves it to wait for others that fill a batch with it. A file that cannot be
    /// read or written is reported as well, but if it is the only one, its error is thrown. Collective.
    void run(size_t index, const DenoiseJob& job, bool single);
    /// Denoises the images that wait. After a signal it drops them: they were not begun. Collective.
    void finish();

    /// Returns what interrupted the run. Collective over the group.
    [[nodiscard]] std::optional<std::string> find_interruption() const { return runner_.find_interruption(); }
    [[nodiscard]] int64_t num_waiting() const { return runner_.num_waiting(); }

  private:
    friend class Stack;  // stack.cpp: an image with pages

    /// An image of the launch.
    struct Image {
        size_t index = 0;
        const DenoiseJob& job;
        bool single = false;
    };
    /// One pass over one image, or over a group of its bands. The output file holds all groups.
    struct Pass {
        plan::Point point;
        std::shared_ptr<run::ImageSource> source;
        RangeFit range;  // on the root only
    };

    void fail(const Image& image, record::PointStatus status, const std::string& reason);
    void run_image(const Image& image, const run::OpenFiles& files);
    void run_bands(const Image& image, const run::OpenFiles& files, const std::vector<std::string>& groups);
    void run_stack(const Image& image, const run::OpenFiles& files, const std::vector<std::string>& groups);

    [[nodiscard]] std::string find_range(const run::OpenFiles& files, const std::string& bands);
    [[nodiscard]] std::string require_parts(const Image& image, Pass& pass, bool is_joined);
    void say_plan(const Image& image, const run::OpenFiles& files, const std::vector<std::string>& groups);
    [[nodiscard]] Pass plan_pass(const DenoiseJob& job, const run::OpenFiles& files, const std::string& bands,
                                 const std::string& range);
    [[nodiscard]] std::shared_ptr<run::ImageSource> open_source(const run::OpenFiles& files,
                                                                config::ImageSettings& image);
    [[nodiscard]] image::NoiseEstimate find_sigma(const config::ImageSettings& image, run::ImageSource& source,
                                                  const RangeFit& fit) const;
    void require_noise_found(plan::Point point, run::ImageSource& source, const RangeFit& fit);
    [[nodiscard]] ImageLine line(const DenoiseJob& job, const record::PointTrace& trace,
                                 const measure::Summary& summary, const RangeFit& fit) const;
    [[nodiscard]] LineNotes notes_on(const plan::Point& point, const RangeFit& fit) const;
    [[nodiscard]] LineNote sigma_note(const plan::Point& point) const;
    [[nodiscard]] bool finds_sigma() const { return !sigma_ && settings_.image.noise_sigma == 0; }

    config::PointSettings settings_;
    std::optional<image::Compression> compression_;
    std::string bands_;
    bool dry_run_;
    std::vector<int64_t> pages_;
    std::optional<NoiseLevel> sigma_;
    const Group& group_;
    config::StudySettings study_;
    run::Runner runner_;
    DenoiseProgress& progress_;
    ImageReport report_;
};

}  // namespace pb::app
