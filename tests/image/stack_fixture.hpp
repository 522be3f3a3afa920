// TIFF files of several pages, written by libtiff.
#pragma once

#include "tiff_fixture.hpp"

namespace pb::test {

inline constexpr Extent kPlaneExtent{20, 30};
inline constexpr const char* kOme = "<?xml version=\"1.0\"?><OME>five planes</OME>";

struct FixturePage {
    image::Image image;
    uint32_t kind = 0;  // NewSubfileType
    std::string description = {};
    bool alpha = false;
};

inline image::Image plane(uint32_t number) { return make_pattern(kPlaneExtent, 1, DType::u16, 1000 * number); }

inline void write_pages(const std::filesystem::path& path, const std::vector<FixturePage>& pages,
                        const TiffKind& kind = {}) {
    TIFF* tiff = TIFFOpen(path.c_str(), kind.mode);
    ASSERT_NE(tiff, nullptr);
    for (const FixturePage& page : pages) {
        set_tiff_tags(tiff, page.image, page.alpha, kind);
        TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, page.kind);
        if (!page.description.empty()) TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, page.description.c_str());
        write_tiff_pixels(tiff, page.image, kind);
        TIFFWriteDirectory(tiff);
    }
    TIFFClose(tiff);
}

/// Five gray planes; the description is that of the first.
inline void write_planes(const std::filesystem::path& path, const std::string& description, const TiffKind& kind = {}) {
    std::vector<FixturePage> pages;
    for (uint32_t i = 0; i < 5; ++i) pages.push_back({plane(i), 0, i == 0 ? description : ""});
    write_pages(path, pages, kind);
}

inline image::Image read_page(image::ImageFile& file, int64_t page) {
    file.turn_to(page);
    return read_part(file, {0, 0, file.info().extent});
}

inline std::string description_of(const image::ImageFile& file) {
    for (const image::TiffTag& tag : file.metadata().tiff_tags)
        if (tag.number == TIFFTAG_IMAGEDESCRIPTION) return reinterpret_cast<const char*>(tag.values.data());
    return "";
}

}  // namespace pb::test
