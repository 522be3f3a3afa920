// A denoised image to its file.
#pragma once

#include "run/pixels/image_source.hpp"
#include "run/pixels/slab.hpp"
#include "run/run.hpp"

namespace pb {

/// Writes the whole output in the type of the source's file (u8 for a scene), with alpha and metadata of the file where
/// the image is not cropped. An existing file of that name is replaced only when the new one is complete. A TIFF that
/// is to be compressed is the BigTIFF of tiles that a FileSink would write.
void save_output(const Slab& output, ImageSource& source, const PointFiles& files);

}  // namespace pb
