// Runs the points of a Plan one after another and returns a PointTrace for each. It is the only stage with side effects
// on ranks and devices.
#pragma once

#include "comm/communicator.hpp"
#include "image/placed_image.hpp"
#include "record/point.hpp"
#include "run/progress.hpp"

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

class Runner {
  public:
    /// `world` and `topology` must outlive it. Collective.
    Runner(const comm::Communicator& world, const plan::Topology& topology, const config::StudySettings& study);
    ~Runner();

    /// Tells `listener`, which must outlive the runs, what this rank does. For the ranks that show it.
    void report_to(ProgressListener* listener);

    /// From now on keeps engines and weights for later points, where they are on the CPU: for many small images. The
    /// memory figures of a point then contain those of earlier points.
    void keep_engines();

    /// From now on `halo: auto` is searched on an image only where that takes at most 5 % of the pixels of the image;
    /// for smaller images the halo is that of a scene (point/typical_halo.hpp). `cache` is the folder that keeps such
    /// answers; empty: none.
    void bound_searches(const std::filesystem::path& cache);

    /// Runs one point. Collective over the world: ranks that do not take part sleep until it ends. A point that fails
    /// returns its status and reason; AgreedError is thrown for errors that the user must correct. `opened` is the
    /// point's image on this rank; it must be given on every rank or on none. Without it, the image is opened here.
    [[nodiscard]] record::PointTrace run(const plan::Point& point, const PointFiles& files,
                                         ImageSource* opened = nullptr);

    /// `WeightsCache::shape_of` for the plan; the weights are kept for the run. Not collective.
    [[nodiscard]] std::optional<network::NetworkShape> shape_of(const config::PointSettings& settings,
                                                                int64_t channels);

    /// Returns what interrupted the run on any rank ("rank 0@host: SIGTERM came"). Collective; the same on all ranks.
    [[nodiscard]] std::optional<std::string> find_interruption() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Runs all points in order. Stops early after a signal or when --max-time is over; the remaining points are `skipped`.
void run_plan(const plan::Plan& plan, Runner& runner, const OutputNames& outputs, const PointSink& sink);

}  // namespace pb::run
