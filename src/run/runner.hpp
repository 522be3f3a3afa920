// Runs the points of a Plan one after another and returns a PointTrace for each. It is the only stage with side effects
// on ranks and devices.
#pragma once

#include "comm/communicator.hpp"
#include "image/placed_image.hpp"
#include "record/point.hpp"
#include "run/progress.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace pb::run {

/// The files that a point writes. An empty name means no file.
struct PointFiles {
    std::filesystem::path image;  // the denoised image
    std::optional<image::Compression>
        compression;               // of `image`, if a TIFF; none: the input's, if the output is in memory
    std::filesystem::path folder;  // folder of the results
    std::string preview;           // prefix of the names of the pictures for the report, relative to `folder`
    // Replaces writing `image`: called on the root with the denoised image, in the input file's type.
    std::function<void(const PixelView&)> take = {};
};

/// Called only on the root.
using OutputNames = std::function<PointFiles(const plan::Point&)>;

/// Called on every rank after each point. Only the root's trace is complete.
using PointSink = std::function<void(const record::PointTrace&)>;

class ImageSource;

/// How an image ended.
struct ImageOutcome {
    const record::PointTrace& trace;  // only the root's is complete
    std::string user_error;           // of an error that the user must correct; then there is no output
    int64_t images_in_pass = 1;       // its windows shared batches with those of so many images, itself included
};

/// One of many images. Its windows may share batches with those of other images.
struct ImageJob {
    plan::Point point;
    PointFiles files;
    std::shared_ptr<ImageSource> source;
    // Makes the page of `source` the current one of its file again. Empty: the file has one page.
    std::function<void()> turn = {};
    // Called on every rank: at once if the image cannot be read, else when it is done, in the order of the images.
    std::function<void(const ImageOutcome&)> done;
};

class Runner {
  public:
    /// `world` and `topology` must outlive it. Collective. `blocks`: those of the launch (make_shared_blocks), where
    /// `world` is a part of it.
    Runner(const comm::Communicator& world, const plan::Topology& topology, const config::StudySettings& study,
           std::shared_ptr<SharedBlocks> blocks = nullptr);
    ~Runner();

    /// Tells `listener`, which must outlive the runs, what this rank does. For the ranks that show it.
    void report_to(ProgressListener* listener);

    /// From now on keeps engines and weights for later points, where they are on the CPU: for many small images. The
    /// memory figures of a point then contain those of earlier points.
    void keep_engines();

    /// From now on `halo: auto` is searched on an image only where that takes at most 5 % of the pixels of the image;
    /// for smaller images the halo is that of a scene (point/settle.hpp). `cache` is the folder that keeps such
    /// answers; empty: none.
    void bound_searches(const std::filesystem::path& cache);

    /// Runs one point. Collective over the world: ranks that do not take part sleep until it ends. A point that fails
    /// returns its status and reason; AgreedError is thrown for errors that the user must correct. `opened` is the
    /// point's image on this rank; it must be given on every rank or on none. Without it, the image is opened here.
    [[nodiscard]] record::PointTrace run(const plan::Point& point, const PointFiles& files,
                                         ImageSource* opened = nullptr);

    /// From now on computes the windows of an image again only as long as this takes at most `share` of the network's
    /// work so far (CheckBudget). All other checks stay.
    void bound_verification(double share);

    /// Reads an image, and runs it when its windows and those of images added before fill their batches, or at once
    /// when they do not fit together (joins, in image_group.cpp). The output has the same bytes as that of run(), where
    /// those of the engine do not depend on the batch; all of LibTorch and native on a CPU. What fails fails for one
    /// image only. All ranks must take part in the point. Collective.
    void add(ImageJob job);
    /// Runs the images that wait. Collective.
    void finish_images();
    /// Drops the images that wait, without a call of their `done`.
    void drop_images();
    [[nodiscard]] int64_t num_waiting() const;

    /// `WeightsCache::lookup` for the plan; the weights are kept for the run. Calls of it are not collective.
    [[nodiscard]] plan::NetworkLookup network_lookup();
    /// Reads the weights of a point, which are kept for its run. Throws UsageError as find_weights. Not collective.
    void read_weights(const plan::Point& point);
    /// The same, and says in the point what the weights make of the noise level, as its run does.
    void settle_weights(plan::Point& point);

    /// Returns what interrupted the run on any rank ("rank 0@host: SIGTERM came"). Collective; the same on all ranks.
    [[nodiscard]] std::optional<std::string> find_interruption() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Runs all points in order. Stops early after a signal or when --max-time is over; the remaining points are `skipped`.
void run_plan(const plan::Plan& plan, Runner& runner, const OutputNames& outputs, const PointSink& sink);

}  // namespace pb::run
