// Writes a denoised image to its file.
#pragma once

#include "run/pixels/image_source.hpp"
#include "run/pixels/slab.hpp"
#include "run/run.hpp"

namespace pb::run {

/// Writes the whole output in the sample type of the source's file (u8 for a scene), with the file's metadata, and its
/// alpha unless the image is cropped. An existing file is replaced only when the new one is complete. With compression,
/// a TIFF is the same tiled BigTIFF that a FileSink writes.
void save_output(const Slab& output, ImageSource& source, const PointFiles& files);

}  // namespace pb::run
