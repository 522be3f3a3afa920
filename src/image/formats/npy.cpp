#include "image/formats/npy.hpp"

#include "image/formats/formats.hpp"
#include "image/formats/interleaved.hpp"
#include "image/sample_types.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <string_view>
#include <utility>

namespace pb::image {
namespace {

constexpr size_t kMagicBytes = 8;  // "\x93NUMPY" and two version bytes

/// What a header of version 1, 2 or 3 says, a Python dictionary as text.
struct NpyHeader {
    // (H,W) and (H,W,1) are gray, (H,W,2) gray and alpha, (H,W,3) RGB, (H,W,4) RGB and alpha; more channels are bands.
    ImageInfo info;
    bool big_endian = false;
    uint64_t samples_begin = 0;  // byte offset of the first sample
};

/// Finds values in the text of a Python dictionary that holds strings, True or False, and one tuple of whole numbers.
class Dictionary {
  public:
    Dictionary(const RandomAccessFile& file, std::string text) : file_(file), text_(std::move(text)) {}

    [[nodiscard]] std::string_view string_at(const char* key) const {
        const std::string_view value = value_at(key);
        const size_t end = value.empty() ? std::string_view::npos : value.find(value.front(), 1);
        if (value.empty() || (value.front() != '\'' && value.front() != '"') || end == std::string_view::npos)
            refuse(key);
        return value.substr(1, end - 1);
    }

    [[nodiscard]] bool is_list_at(const char* key) const { return value_at(key).starts_with('['); }

    [[nodiscard]] bool bool_at(const char* key) const {
        const std::string_view value = value_at(key);
        if (!value.starts_with("True") && !value.starts_with("False")) refuse(key);
        return value.front() == 'T';
    }

    [[nodiscard]] std::vector<int64_t> tuple_at(const char* key) const {
        const std::string_view value = value_at(key);
        const size_t end = value.find(')');
        if (!value.starts_with('(') || end == std::string_view::npos) refuse(key);
        std::vector<int64_t> numbers;
        for (const char* at = value.data() + 1; at < value.data() + end;) {
            if (*at == ' ' || *at == ',' || *at == 'L') {  // Python 2 writes whole numbers as 8L
                ++at;
                continue;
            }
            int64_t number = 0;
            const auto [next, failure] = std::from_chars(at, value.data() + end, number);
            if (failure != std::errc() || number < 0) refuse(key);
            numbers.push_back(number);
            at = next;
        }
        return numbers;
    }

  private:
    [[nodiscard]] std::string_view value_at(const char* key) const {
        const size_t place = text_.find(std::string("'").append(key).append("'"));
        const size_t colon = place == std::string::npos ? place : text_.find(':', place);
        const size_t begin = colon == std::string::npos ? colon : text_.find_first_not_of(' ', colon + 1);
        if (begin == std::string::npos) refuse(key);
        return std::string_view(text_).substr(begin);
    }

    [[noreturn]] void refuse(const char* key) const {
        file_.refuse_damaged(std::string("no legal '").append(key).append("' in the .npy header"));
    }

    const RandomAccessFile& file_;
    std::string text_;
};

Dictionary read_dictionary(const RandomAccessFile& file, uint64_t& samples_begin) {
    std::array<std::byte, kMagicBytes + 4> head{};
    file.read_at(0, head);
    const auto version = std::to_integer<int>(head[kMagicBytes - 2]);
    if (version < 1 || version > 3)
        file.refuse(fmt::format(".npy version {} is not known", version), "save it with numpy.save");
    const size_t length_bytes = version == 1 ? 2 : 4;
    const uint64_t length = number_in(std::span(head).subspan(kMagicBytes, length_bytes));
    const uint64_t begin = kMagicBytes + length_bytes;
    if (length > file.size() - begin) file.refuse_damaged("its .npy header is longer than the file");
    std::string text(length, ' ');
    file.read_at(begin, {reinterpret_cast<std::byte*>(text.data()), text.size()});
    samples_begin = begin + length;
    return {file, std::move(text)};
}

DType dtype_of(const RandomAccessFile& file, std::string_view descr) {
    const std::string_view kind = descr.empty() ? descr : descr.substr(1);
    if (kind == "u1") return DType::u8;
    if (kind == "u2") return DType::u16;
    if (kind == "i2") return DType::i16;
    if (kind == "u4") return DType::u32;
    if (kind == "f2") return DType::f16;
    if (kind == "f4") return DType::f32;
    if (kind == "f8") return DType::f64;
    file.refuse("samples of type '" + std::string(descr) + "' are not supported",
                "save uint8, uint16, uint32, int16, float16, float32 or float64: array.astype(numpy.float32)");
}

/// Names a common shape that is not supported and says how to convert it to an image.
std::string advice_for(const std::vector<int64_t>& shape) {
    const size_t rank = shape.size();
    const bool one = rank > 2 && shape[0] == 1;
    const bool channels_first = rank > 2 && shape[rank - 3] >= 2 && shape[rank - 3] <= 4 && shape[rank - 1] > 4;
    if (rank == 4 && one) return channels_first ? "save array[0].transpose(1, 2, 0)" : "save array[0]";
    if (rank == 4)
        return fmt::format("it is a batch of {} images: save each by itself, array[0]{} and so on", shape[0],
                           channels_first ? ".transpose(1, 2, 0)" : "");
    if (rank == 3 && one) return "save array[0]";
    if (rank == 3 && channels_first) return "channels come last here: save array.transpose(1, 2, 0)";
    if (rank == 3)
        return fmt::format("if it is a stack of {} planes (Z,Y,X), save each by itself, array[0] and so on", shape[0]);
    return "save (H,W) or (H,W,C) with C = 1 to 4";
}

void set_shape(const RandomAccessFile& file, const std::vector<int64_t>& shape, ImageInfo& info) {
    constexpr int64_t kLongest = int64_t{1} << 31U;
    constexpr int64_t kMostBands = 65535;  // the limit of TIFF
    const int64_t channels = shape.size() == 3 ? shape[2] : 1;
    const std::string text = fmt::format("{}", fmt::join(shape, ", "));
    // Fewer channels than rows and columns: they are bands. Otherwise the axes are in another order, or the file is a
    // stack of planes.
    const bool bands = channels > 4 && channels < std::min(shape[0], shape[1]) && channels <= kMostBands;
    if ((shape.size() != 2 && shape.size() != 3) || (channels > 4 && !bands))
        file.refuse("shape (" + text + ") is no image, which is (H,W) or (H,W,C) with C = 1 to 4, or more bands",
                    advice_for(shape));
    if (shape[0] == 0 || shape[1] == 0 || channels == 0)
        file.refuse("shape (" + text + ") has no pixels", "save it again");
    if (shape[0] > kLongest || shape[1] > kLongest) file.refuse_damaged("shape (" + text + ")");
    info.extent = {shape[0], shape[1]};
    info.has_alpha = channels == 2 || channels == 4;
    info.channels = info.has_alpha ? channels - 1 : channels;
    info.has_channel_axis = channels == 1 && shape.size() == 3;
}

void check_length(const RandomAccessFile& file, const NpyHeader& header) {
    const ImageInfo& info = header.info;
    const uint64_t row_bytes = static_cast<uint64_t>(info.extent.w) * info.stored_pixel_bytes();
    const uint64_t available = file.size() - header.samples_begin;
    const auto rows = static_cast<uint64_t>(info.extent.h);
    if (available / row_bytes != rows || available % row_bytes != 0)
        file.refuse_damaged(
            fmt::format("its header says {} rows of {} bytes, but it holds {} bytes", rows, row_bytes, available));
}

/// Throws UsageError when type, shape or order are not those of an image, or the length of the file does not fit the
/// header.
NpyHeader read_npy_header(const RandomAccessFile& file) {
    NpyHeader header;
    const Dictionary dictionary = read_dictionary(file, header.samples_begin);
    if (dictionary.is_list_at("descr"))
        file.refuse("its samples are structures of named fields",
                    "save one field: array['name'], or numpy.lib.recfunctions.structured_to_unstructured(array)");
    const std::string_view descr = dictionary.string_at("descr");
    header.info.dtype = dtype_of(file, descr);
    header.big_endian = descr.front() == '>';
    if (dictionary.bool_at("fortran_order"))
        file.refuse("its samples are in Fortran order", "save numpy.ascontiguousarray(array)");
    set_shape(file, dictionary.tuple_at("shape"), header.info);
    check_length(file, header);
    return header;
}

/// A file of dense rows from a given byte offset on: .npy, and raw samples whose layout the caller supplies.
class NpyFile final : public ImageFile {
  public:
    NpyFile(OpenedFile file, const NpyHeader& header)
        : ImageFile(header.info), file_(std::move(file)), header_(header) {}

  private:
    void read_channels(const Rect& part, int64_t first, MutablePixelView to) override {
        const size_t pixel_bytes = info().stored_pixel_bytes();
        row_.resize(static_cast<size_t>(part.extent.w) * pixel_bytes);
        for (int64_t y = 0; y < part.extent.h; ++y) {
            const auto pixel = static_cast<uint64_t>((part.row + y) * info().extent.w + part.column);
            file_->read_at(header_.samples_begin + pixel * pixel_bytes, row_);
            if (header_.big_endian) swap_sample_bytes(row_, size_of(info().dtype));
            copy_bands(dense_view(row_.data(), {1, part.extent.w}, info().stored_channels(), info().dtype), first,
                       to.channels, to.part({y, 0, {1, part.extent.w}}), 0);
        }
        if (must_be_finite(first)) refuse_not_finite(*file_, part, first, to);
    }

    OpenedFile file_;
    NpyHeader header_;
    std::vector<std::byte> row_;
};

/// Returns NumPy's name of a type: byte order, kind, number of bytes.
std::string descr_of(DType dtype) {
    if (dtype == DType::u8) return "|u1";
    const char* kind = is_float(dtype) ? "f" : dtype == DType::i16 ? "i" : "u";
    return fmt::format("<{}{}", kind, size_of(dtype));
}

}  // namespace

std::unique_ptr<ImageFile> open_npy(OpenedFile file) {
    const NpyHeader header = read_npy_header(*file);
    return std::make_unique<NpyFile>(std::move(file), header);
}

std::unique_ptr<ImageFile> open_raw_image(const std::filesystem::path& file, const ImageInfo& info) {
    auto opened = std::make_unique<RandomAccessFile>(file);
    const auto samples = static_cast<uint64_t>(info.extent.pixels() * info.stored_channels());
    const uint64_t bytes = size_of(info.dtype);
    if (opened->size() % bytes != 0 || opened->size() / bytes != samples)  // a product could exceed 64 bits
        opened->refuse(fmt::format("this shape has {} samples of {} bytes, but the file has {} bytes", samples, bytes,
                                   opened->size()),
                       "check height, width, channels and type");
    return std::make_unique<NpyFile>(std::move(opened), NpyHeader{info});
}

std::string npy_header(const ImageInfo& info) {
    const int64_t channels = info.stored_channels();
    std::string shape = fmt::format("{}, {}", info.extent.h, info.extent.w);
    if (channels > 1 || info.has_channel_axis) shape += fmt::format(", {}", channels);
    std::string text = "{'descr': '" + descr_of(info.dtype) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    constexpr size_t kFixedBytes = 10;  // magic, version and length of the header
    constexpr size_t kAlignment = 64;
    while ((kFixedBytes + text.size() + 1) % kAlignment != 0) text += ' ';
    text += '\n';
    std::string header = "\x93NUMPY";
    header += {'\x01', '\x00', static_cast<char>(text.size() & 0xFFU), static_cast<char>(text.size() >> 8U)};
    return header + text;
}

void write_raw(const ImageToSave& image, AtomicFile& file) {
    static_assert(std::endian::native == std::endian::little, "samples are written as they lie in memory");
    InterleavingRows rows(image);
    constexpr size_t kPieceBytes = size_t{1} << 20U;
    std::vector<std::byte> piece;
    for (int64_t y = 0; y < image.pixels.extent.h; ++y) {
        const std::byte* row = rows.row(y);
        piece.insert(piece.end(), row, row + rows.row_bytes());
        if (piece.size() < kPieceBytes) continue;
        file.append(piece);
        piece.clear();
    }
    file.append(piece);
}

void write_npy(const ImageToSave& image, AtomicFile& file) {
    const std::string header = npy_header(info_of(image));
    file.append(std::as_bytes(std::span(header)));
    write_raw(image, file);
}

}  // namespace pb::image
