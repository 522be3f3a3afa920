#include "image/npy_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace pb::image {
namespace {

constexpr size_t kMagicBytes = 8;  // "\x93NUMPY" and two version bytes

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
            if (*at == ' ' || *at == ',') {
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
    uint64_t length = 0;
    for (size_t i = 0; i < length_bytes; ++i) length |= std::to_integer<uint64_t>(head[kMagicBytes + i]) << (8U * i);
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
    const auto row_bytes =
        static_cast<uint64_t>(info.extent.w * (info.channels + (info.has_alpha ? 1 : 0))) * size_of(info.dtype);
    const uint64_t available = file.size() - header.samples_begin;
    const auto rows = static_cast<uint64_t>(info.extent.h);
    if (available / row_bytes != rows || available % row_bytes != 0)
        file.refuse_damaged(
            fmt::format("its header says {} rows of {} bytes, but it holds {} bytes", rows, row_bytes, available));
}

}  // namespace

NpyHeader read_npy_header(const RandomAccessFile& file) {
    NpyHeader header;
    const Dictionary dictionary = read_dictionary(file, header.samples_begin);
    const std::string_view descr = dictionary.string_at("descr");
    header.info.dtype = dtype_of(file, descr);
    header.big_endian = descr.front() == '>';
    if (dictionary.bool_at("fortran_order"))
        file.refuse("its samples are in Fortran order", "save numpy.ascontiguousarray(array)");
    set_shape(file, dictionary.tuple_at("shape"), header.info);
    check_length(file, header);
    return header;
}

}  // namespace pb::image
