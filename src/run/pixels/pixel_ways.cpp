#include "run/pixels/pixel_ways.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <string>

namespace pb {

namespace {

Rect inside(const Rect& seen, Extent image) {
    return {seen.row,
            seen.column,
            {std::min(seen.extent.h, image.h - seen.row), std::min(seen.extent.w, image.w - seen.column)}};
}

/// Memory for a rectangle of the image, no larger than that.
Slab slab_of(const Rect& part, std::vector<std::byte>& samples, const Slab& whole) {
    Slab slab = whole;
    slab.rows = {part.row, part.row + part.extent.h};
    slab.columns = {part.column, part.column + part.extent.w};
    samples.resize(slab.bytes());
    slab.pixels = samples.data();
    return slab;
}

/// Finalizer of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111eb;
    return x ^ (x >> 31U);
}

template <class Sample>
uint64_t row_checksum(const std::byte* row, int64_t count, uint64_t first_place) {
    const auto* samples = reinterpret_cast<const Sample*>(row);
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; ++i)
        sum += mix((first_place + static_cast<uint64_t>(i)) * 0x9e3779b97f4a7c15 + samples[i]);
    return sum;
}

}  // namespace

/// Integers of the pass are rounded and clipped by the conversion from the network's numbers.
Keeping Output::keeping() const {
    if (is_float(dtype())) return {};
    return {0.5 / full_scale(dtype()) + 1e-6, SampleRange{0, 1}};
}

Image Output::as_kept(const Rect& /*part*/, const Image& samples) const {
    if (is_float(dtype())) return samples;
    Image kept(samples.extent(), samples.channels(), dtype()), back(samples.extent(), samples.channels(), DType::f32);
    from_float(samples.view(), kept.view());
    to_float(kept.view(), back.view());
    return back;
}

Image HeldOutput::read(const Rect& part) {
    Image image(part.extent, slab_.channels, DType::f32);
    to_float(slab_.part(part), image.view());
    source_.restore_gaps(part, image.view());
    return image;
}

Slab StreamedWindows::around(const Rect& seen) {
    const Extent image = source_.extent();
    const Rect part = inside(seen, image);
    const Slab slab = slab_of(part, samples_, {nullptr, image, {}, source_.channels(), source_.dtype()});
    source_.read(part, slab.part(part));
    source_.add_noise_to(part, slab.part(part));
    return slab;
}

Slab StreamedOutput::room_for(const Rect& kept) {
    return slab_of(kept, samples_, {nullptr, extent_, {}, channels_, sample_type_});
}

void StreamedOutput::take(const Rect& kept) {
    const ImageView samples{samples_.data(), kept.extent, channels_, sample_type_,
                            static_cast<size_t>(kept.extent.w * channels_) * size_of(sample_type_)};
    const int64_t odd = count_odd(samples);
    const bool floats = is_float(sample_type_);
    counts_.pixels += kept.extent.pixels();
    counts_.not_finite += floats ? odd : 0;
    counts_.anomaly.add(kept, odd, kept.extent.pixels() * channels_, floats);
    keep(kept, samples, counts_);
}

void cut_window(WindowSource& source, const Rect& seen, std::byte* window) {
    cut_window(source.around(seen), seen, window);
}

void cut_window_to_f32(WindowSource& source, const Rect& seen, const Conversion& conversion, float* window) {
    cut_window_to_f32(source.around(seen), seen, conversion, window);
}

void write_core(const std::byte* window, const Tile& tile, Output& output) {
    write_core(window, tile, output.room_for(tile.core));
    output.take(tile.core);
}

void write_core_from_f32(const float* window, const Tile& tile, const Conversion& conversion, Output& output) {
    write_core_from_f32(window, tile, conversion, output.room_for(tile.core));
    output.take(tile.core);
}

uint64_t checksum_of(const ImageView& samples, int64_t row, int64_t column, int64_t width) {
    uint64_t sum = 0;
    const int64_t count = samples.extent.w * samples.channels;
    for (int64_t y = 0; y < samples.extent.h; ++y) {
        const auto place = static_cast<uint64_t>(((row + y) * width + column) * samples.channels);
        if (samples.dtype == DType::u8) sum += row_checksum<uint8_t>(samples.row(y), count, place);
        if (samples.dtype == DType::u16) sum += row_checksum<uint16_t>(samples.row(y), count, place);
        if (samples.dtype == DType::f32) sum += row_checksum<uint32_t>(samples.row(y), count, place);
    }
    return sum;
}

void ChecksumOutput::remember(const std::vector<Rect>& parts) {
    for (const Rect& part : parts) remembered_.push_back({part, {}});
}

const ChecksumOutput::Remembered* ChecksumOutput::find(const Rect& part) const {
    const auto found = std::find_if(remembered_.begin(), remembered_.end(),
                                    [&](const Remembered& remembered) { return remembered.part == part; });
    return found == remembered_.end() ? nullptr : &*found;
}

void ChecksumOutput::keep(const Rect& kept, const ImageView& samples, StreamCounts& counts) {
    counts.checksum += checksum_of(samples, kept.row, kept.column, extent().w);
    for (Remembered& remembered : remembered_) {
        if (remembered.part != kept) continue;
        remembered.samples = Image(kept.extent, channels(), DType::f32);
        to_float(samples, remembered.samples.view());
    }
}

bool ChecksumOutput::holds(const Rect& part) const {
    const Remembered* const found = find(part);
    return found != nullptr && !found->samples.empty();
}

Image ChecksumOutput::read(const Rect& part) {
    if (!holds(part)) throw Error("a checksum keeps no pixels that could be read");
    Image copy(part.extent, channels(), DType::f32);
    std::ranges::copy(find(part)->samples.bytes(), copy.bytes().begin());
    source_.restore_gaps(part, copy.view());
    return copy;
}

uint64_t sum_of_ranks(uint64_t mine, const Communicator& ranks) {
    uint64_t sum = 0;
    for (const std::string& text : ranks.all_gather(std::to_string(mine))) sum += std::stoull(text);
    return sum;
}

}  // namespace pb
