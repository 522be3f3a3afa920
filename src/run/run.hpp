// The only stage with side effects on ranks and devices: a Plan's points, one after the other, each to a PointTrace.
#pragma once

#include "comm/communicator.hpp"
#include "image/placed_image.hpp"
#include "record/point.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace pb {

/// Files that a point leaves behind; empty: none.
struct PointFiles {
    std::filesystem::path image;             // the denoised image
    std::optional<Compression> compression;  // of that, a TIFF; not chosen: as the input's, where it is held in memory
    std::filesystem::path folder;            // of the results
    std::string preview;                     // pictures for the report: how their names begin, relative to `folder`
    // In place of writing `image`, which is then somebody else's work: called on the root with the denoised image, in
    // the input file's type.
    std::function<void(const PixelView&)> take = {};
};

/// Asked on the root only.
using OutputNames = std::function<PointFiles(const Point&)>;

/// Called after each point on every rank; traces are complete on the root.
using PointSink = std::function<void(const PointTrace&)>;

class ImageSource;

class Runner {
  public:
    /// `world` and `topology` must outlive it. Collective.
    Runner(const Communicator& world, const Topology& topology, const StudySettings& study);
    ~Runner();

    /// One point. Collective over the world: ranks beyond the point's sleep until it ends. A point that fails is data
    /// (status and reason); AgreedError is thrown for what the user must mend first. `opened` is the point's image on
    /// this rank, on every rank or on none: without it, the image is opened here.
    [[nodiscard]] PointTrace run(const Point& point, const PointFiles& files, ImageSource* opened = nullptr);

    /// For the plan: `WeightsCache::shape_of`, with weights that are kept for the run. Not collective.
    [[nodiscard]] std::optional<NetworkShape> shape_of(const PointSettings& settings, int64_t channels);

    /// What asked the run to end, on any rank ("rank 0@host: SIGTERM came"). The same on all ranks: collective.
    [[nodiscard]] std::optional<std::string> find_interruption() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// All points in order; stops early when a signal came or --max-time is over (the rest is `skipped`).
void run_plan(const Plan& plan, Runner& runner, const OutputNames& outputs, const PointSink& sink);

}  // namespace pb
