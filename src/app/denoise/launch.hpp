// The images of one launch of `denoise`, and the ranks that work on them.
#pragma once

#include "app/denoise/arguments.hpp"
#include "comm/communicator.hpp"
#include "plan/image_sharing.hpp"
#include "plan/topology.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace pb::app {

struct DenoiseLaunch {
    const DenoiseArguments& arguments;
    const comm::Communicator& world;
    const plan::Topology& topology;
    const std::vector<DenoiseJob>& jobs;
    plan::ImageSharing sharing;
    std::shared_ptr<engine::SharedBlocks> blocks;  // of the ranks of each node
    bool single = false;                           // one image was named: what is wrong with it ends the program
};

/// Decides how the images are shared out. The root prints it. Collective.
[[nodiscard]] DenoiseLaunch make_launch(const DenoiseArguments& arguments, const comm::Communicator& world,
                                        const plan::Topology& topology, const std::vector<DenoiseJob>& jobs);

/// Ranks that work together on one image: all ranks, or a single rank.
struct Group {
    comm::Communicator ranks;
    plan::Topology topology;
    std::shared_ptr<engine::SharedBlocks> blocks;
};
[[nodiscard]] Group make_group(const DenoiseLaunch& launch, bool apart);

/// Works on the image with index `job`, which is number `number` of all, from 1. Returns false after a signal.
using WorkOnImage = std::function<bool(size_t job, int64_t number)>;

/// Gives each image that all ranks work on to all ranks, then calls `finish`. Collective.
void work_together(const DenoiseLaunch& launch, const WorkOnImage& work, const std::function<void()>& finish);

/// Gives each of the other images to one rank, the one that is free first. A rank without further images calls
/// `finish`. Returns when all ranks are done. Collective, but not `work` and `finish`, which must not throw if there
/// are several ranks.
void work_apart(const DenoiseLaunch& launch, const WorkOnImage& work, const std::function<void()>& finish);

}  // namespace pb::app
