// What a user should know of a point beside its figures, as notes.
#pragma once

#include "run/pixels/image_source.hpp"
#include "run/run.hpp"

namespace pb {

/// The range that `image.range: auto` found.
void note_range(const ImageSource& source, Point& point);

/// Metadata of the input that the output does not hold; `placed`: the output was written by all ranks. For people: in
/// the notes, and for `denoise` by itself.
void note_lost_metadata(ImageSource& source, const PointFiles& files, bool placed, PointTrace& trace);

}  // namespace pb
