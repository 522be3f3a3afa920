// Reads whole images.
#pragma once

#include "image/image_file.hpp"

#include <filesystem>
#include <memory>

namespace pb::image {

[[nodiscard]] inline Image load_image(const std::filesystem::path& file) {
    const std::unique_ptr<ImageFile> opened = open_image(file);
    const ImageInfo& info = opened->info();
    Image image(info.extent, info.channels, info.dtype);
    opened->read({0, 0, info.extent}, image.view());
    return image;
}

}  // namespace pb::image
