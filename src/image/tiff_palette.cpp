#include "image/tiff_layout.hpp"

#include <algorithm>

namespace pb {

std::vector<uint8_t> read_tiff_palette(TIFF* tiff, const RandomAccessFile& file) {
    constexpr size_t kEntries = 256;
    uint16_t* maps[3] = {nullptr, nullptr, nullptr};
    if (TIFFGetField(tiff, TIFFTAG_COLORMAP, &maps[0], &maps[1], &maps[2]) != 1)
        file.refuse_damaged("a palette image without a colour map");
    // Some writers put 8-bit values into the map, which holds 16 bits by the book.
    bool eight_bits = true;
    for (const uint16_t* map : maps) eight_bits &= *std::max_element(map, map + kEntries) < 256;
    std::vector<uint8_t> palette;
    for (size_t i = 0; i < kEntries; ++i)
        for (const uint16_t* map : maps) palette.push_back(static_cast<uint8_t>(eight_bits ? map[i] : map[i] >> 8U));
    return palette;
}

}  // namespace pb
