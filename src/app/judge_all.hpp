// Gives one verdict on images that ranks worked on separately.
#pragma once

#include "comm/communicator.hpp"
#include "measure/image_verdict.hpp"

namespace pb::app {

/// Applies judge_images to the summaries of the images of all ranks, in the order of the ranks. Collective. Only rank 0
/// gets the reasons; all ranks get the exit code.
[[nodiscard]] measure::ImageVerdict judge_all(const comm::Communicator& world,
                                              const std::vector<measure::Summary>& mine);

}  // namespace pb::app
