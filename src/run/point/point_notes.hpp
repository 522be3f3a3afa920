// Notes about a point for the user, which accompany its figures.
#pragma once

#include "run/pixels/image_source.hpp"
#include "run/runner.hpp"

#include "patchbench/engine/weights.hpp"

namespace pb::run {

/// Notes which networks and tensors of the weights' file are not read.
void note_weights(const engine::Weights& weights, plan::Point& point);

/// Notes the range that `image.range: auto` found.
void note_range(const ImageSource& source, plan::Point& point);

/// Notes the input's metadata that the output does not hold. `placed`: all ranks wrote the output. The text is written
/// both into the notes and into the field that `denoise` prints.
void note_lost_metadata(ImageSource& source, const PointFiles& files, bool placed, record::PointTrace& trace);

}  // namespace pb::run
