// A denoised image to its file.
#pragma once

#include "patchbench/run/slab.hpp"

#include <filesystem>

namespace pb {

/// Writes the whole output in the type of the source's file (u8 for a scene), with alpha and metadata of the file where
/// the image is not cropped. An existing file of that name is replaced only when the new one is complete.
void save_output(const Slab& output, ImageSource& source, const std::filesystem::path& file);

}  // namespace pb
