#include "run/pixels/core_sink.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace pb::run {

namespace {

template <class Sample, class Odd>
int64_t count_if_odd(const PixelView& samples, Odd&& odd) {
    int64_t count = 0;
    for (int64_t y = 0; y < samples.extent.h; ++y) {
        const auto* row = reinterpret_cast<const Sample*>(samples.row(y));
        count += std::count_if(row, row + samples.extent.w * samples.channels, odd);
    }
    return count;
}

/// The finalizer of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
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

/// The core of a tile, whose window holds f32 NHWC values.
PixelView core_of(const float* values, const plan::Tile& tile, int64_t channels) {
    const auto* bytes = reinterpret_cast<const std::byte*>(values);
    return dense_view(bytes, tile.window.extent, channels, DType::f32).part(tile.core_in_window());
}

}  // namespace

int64_t count_odd(const PixelView& samples) {
    const auto is_zero = [](auto sample) { return sample == 0; };
    if (samples.dtype == DType::u8) return count_if_odd<uint8_t>(samples, is_zero);
    if (samples.dtype == DType::u16) return count_if_odd<uint16_t>(samples, is_zero);
    return count_if_odd<float>(samples, [](float sample) { return !std::isfinite(sample); });
}

bool AnomalyTracker::add(const Rect& part, int64_t odd, int64_t count, bool floats) {
    constexpr int64_t kShare = 16;  // a smaller share of zeros can occur in a normal image
    const bool is_it = odd > most_ && (floats || odd * kShare >= count);
    if (is_it) {
        part_ = part;
        most_ = odd;
    }
    return is_it;
}

/// For integer samples, the conversion from the network's numbers rounds and clips.
Quantisation CoreSink::quantisation() const {
    if (is_float(dtype())) return {};
    return {0.5 / full_scale(dtype()) + 1e-6, image::SampleRange{0, 1}};
}

image::Image CoreSink::as_stored(const Rect& /*part*/, const image::Image& samples) const {
    if (is_float(dtype())) return samples;
    image::Image stored(samples.extent(), samples.channels(), dtype()),
        back(samples.extent(), samples.channels(), DType::f32);
    image::from_float(samples.view(), stored.view());
    image::to_float(stored.view(), back.view());
    return back;
}

image::Image MemorySink::read(const Rect& part) {
    image::Image image(part.extent, slab_.pixels.channels, DType::f32);
    image::to_float(slab_.part(part), image.view());
    if (source_ != nullptr) source_->restore_gaps(part, image.view());
    return image;
}

Slab StreamedSink::map(const Rect& core) { return slab_of(core, extent(), channels(), source_.dtype(), samples_); }

void StreamedSink::commit(const Rect& core) {
    const PixelView samples = dense_view(samples_.data(), core.extent, channels(), source_.dtype());
    const int64_t odd = count_odd(samples);
    const bool floats = is_float(source_.dtype());
    counts_.pixels += core.extent.pixels();
    counts_.not_finite += floats ? odd : 0;
    counts_.anomaly.add(core, odd, core.extent.pixels() * channels(), floats);
    store(core, samples, counts_);
}

void write_core(const std::byte* samples, const plan::Tile& tile, int64_t num_lost, CoreSink& sink) {
    write_core(samples, tile, sink.map(tile.core));
    sink.count_lost(tile.core, num_lost);
    sink.commit(tile.core);
}

void write_core_from_f32(const float* values, const plan::Tile& tile, const device::Conversion& conversion,
                         CoreSink& sink) {
    const Slab slab = sink.map(tile.core);
    write_core_from_f32(values, tile, conversion, slab);
    if (!is_float(slab.pixels.dtype))
        sink.count_lost(tile.core, count_odd(core_of(values, tile, slab.pixels.channels)));
    sink.commit(tile.core);
}

uint64_t checksum_of(const PixelView& samples, int64_t row, int64_t column, int64_t width) {
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

void ChecksumSink::remember(const std::vector<Rect>& parts) {
    for (const Rect& part : parts) remembered_.push_back({part, {}});
}

void ChecksumSink::remember_some(int64_t count) { num_chosen_ = count; }

void ChecksumSink::start_pass() {
    StreamedSink::start_pass();
    num_written_ = 0;
    if (num_chosen_ > 0) remembered_.clear();
}

/// Makes room for the core, or not: each of the cores so far is kept with the same probability.
void ChecksumSink::choose(const Rect& core) {
    ++num_written_;
    const auto place = static_cast<int64_t>(random_() % static_cast<uint64_t>(num_written_));
    if (std::ssize(remembered_) < num_chosen_)
        remembered_.push_back({core, {}});
    else if (place < num_chosen_)
        remembered_[static_cast<size_t>(place)] = {core, {}};
}

const ChecksumSink::Remembered* ChecksumSink::find(const Rect& part) const {
    const auto found = std::ranges::find(remembered_, part, &Remembered::part);
    return found == remembered_.end() ? nullptr : &*found;
}

void ChecksumSink::store(const Rect& core, const PixelView& samples, StreamCounts& counts) {
    counts.checksum += checksum_of(samples, core.row, core.column, extent().w);
    if (num_chosen_ > 0) choose(core);
    for (Remembered& remembered : remembered_) {
        if (remembered.part != core) continue;
        remembered.samples = image::Image(core.extent, channels(), DType::f32);
        image::to_float(samples, remembered.samples.view());
    }
}

bool ChecksumSink::holds(const Rect& part) const {
    const Remembered* const found = find(part);
    return found != nullptr && !found->samples.empty();
}

image::Image ChecksumSink::read(const Rect& part) {
    if (!holds(part)) throw Error("a checksum keeps no pixels that could be read");
    image::Image copy(part.extent, channels(), DType::f32);
    std::ranges::copy(find(part)->samples.bytes(), copy.bytes().begin());
    source().restore_gaps(part, copy.view());
    return copy;
}

uint64_t sum_of_ranks(uint64_t mine, const comm::Communicator& ranks) {
    uint64_t sum = 0;
    for (const std::string& text : ranks.all_gather(std::to_string(mine))) sum += std::stoull(text);
    return sum;
}

}  // namespace pb::run
