// The destination of the cores of a pass: in memory, as a file or as a checksum. A streamed one notes the part that
// most likely is wrong.
#pragma once

#include "image/image.hpp"
#include "run/pixels/image_source.hpp"
#include "run/pixels/slab.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace pb::run {

/// Counts samples that a network with an error may have produced: in floats those that are not finite, in integers
/// zeros, because conversion maps NaN to 0.
[[nodiscard]] int64_t count_odd(const PixelView& samples);

/// Finds the part of an output that most likely is wrong, when not every part is verified: that with the most odd
/// samples, because NaN spreads. A part of integers counts only if enough of its samples are odd.
class AnomalyTracker {
  public:
    /// `odd` (from count_odd) of the `count` samples of `part` are odd. `floats` states whether the samples are floats.
    /// Returns true when this part is now the one that is kept.
    bool add(const Rect& part, int64_t odd, int64_t count, bool floats);
    [[nodiscard]] const std::optional<Rect>& part() const { return part_; }

  private:
    int64_t most_ = 0;  // odd samples of part_
    std::optional<Rect> part_;
};

/// The change of a number in [0,1] when it is stored.
struct Quantisation {
    double rounding = 0;                       // largest change by rounding
    std::optional<image::SampleRange> limits;  // range to which values are clipped
    bool floats = false;                       // clipped to what floats hold: large values are stored
    const image::SampleMap* map = nullptr;     // null, or what adds to the rounding of some values
};

/// The destination of the cores of a pass. In memory: a slab that the ranks of a node share. Streamed: each core is
/// stored when it is written, so that no rank holds more of the image than its batches. A core is written in two steps:
/// `map` returns memory for it, and `commit` states that its samples are there.
class CoreSink {
  public:
    virtual ~CoreSink() = default;
    [[nodiscard]] virtual Extent extent() const = 0;
    /// Type of the stored samples: that of the pass, or the file's.
    [[nodiscard]] virtual DType dtype() const = 0;
    [[nodiscard]] virtual Quantisation quantisation() const;
    /// Returns memory for the samples of `core`, in the type of the pass. It is valid until the next call.
    [[nodiscard]] virtual Slab map(const Rect& core) = 0;
    /// The samples of `core` are in the memory that `map` returned. Throws Error when they cannot be stored.
    virtual void commit(const Rect& core) = 0;
    /// Whether the memory of all cores stays valid, and several threads may write at once. Then no call throws.
    [[nodiscard]] virtual bool is_in_memory() const { return false; }
    /// Whether `read` can return `part`. All sinks except a checksum store every pixel.
    [[nodiscard]] virtual bool holds(const Rect& /*part*/) const { return true; }
    /// Returns `part` as it was stored, as f32 in [0,1]. Gaps have the values that the network received.
    [[nodiscard]] virtual image::Image read(const Rect& part) = 0;
    /// Returns f32 `samples` of `part` as `read` would return them after they were stored.
    [[nodiscard]] virtual image::Image as_stored(const Rect& part, const image::Image& samples) const;

    /// Called between `map` and `commit`, with the number of the core's values that were lost.
    virtual void count_lost(const Rect& /*core*/, int64_t values) { num_lost_ += values; }
    /// How many values of the network were not finite before they became integers, which cannot say so.
    [[nodiscard]] int64_t num_lost() const { return num_lost_; }
    /// Called before each pass.
    void forget_lost() { num_lost_ = 0; }

  private:
    std::atomic<int64_t> num_lost_ = 0;
};

/// Writes cores directly into a slab, without a copy.
class MemorySink final : public CoreSink {
  public:
    /// `source` knows the gaps of the image; null: it has none. It must outlive the sink.
    explicit MemorySink(const Slab& slab, ImageSource* source = nullptr) : slab_(slab), source_(source) {}
    [[nodiscard]] Extent extent() const override { return slab_.image; }
    [[nodiscard]] DType dtype() const override { return slab_.pixels.dtype; }
    [[nodiscard]] Slab map(const Rect& /*core*/) override { return slab_; }
    void commit(const Rect& /*core*/) override {}
    [[nodiscard]] bool is_in_memory() const override { return true; }
    [[nodiscard]] image::Image read(const Rect& part) override;

  private:
    Slab slab_;
    ImageSource* source_;
};

/// What this rank wrote in the last pass.
struct StreamCounts {
    int64_t pixels = 0;
    int64_t not_finite = 0;  // number of samples
    uint64_t checksum = 0;   // only for a ChecksumSink
    AnomalyTracker anomaly;
};

/// An output that keeps no image in memory. It counts what is written.
class StreamedSink : public CoreSink {
  public:
    /// The image has the extent, channels and type of `source`, which must outlive the sink.
    explicit StreamedSink(ImageSource& source) : source_(source) {}
    [[nodiscard]] Extent extent() const final { return source_.extent(); }
    [[nodiscard]] Slab map(const Rect& core) final;
    void commit(const Rect& core) final;

    virtual void start_pass() { counts_ = {}; }
    [[nodiscard]] const StreamCounts& counts() const { return counts_; }
    /// Waits until the data that this rank wrote is on the disk. Not collective. Throws Error.
    virtual void flush() {}
    /// Makes the file appear under its name. Only on the root, after all ranks called flush(). Throws Error.
    virtual void publish() {}

  protected:
    virtual void store(const Rect& core, const PixelView& samples, StreamCounts& counts) = 0;
    [[nodiscard]] ImageSource& source() const { return source_; }
    [[nodiscard]] int64_t channels() const { return source_.channels(); }

  private:
    ImageSource& source_;
    std::vector<std::byte> samples_;
    StreamCounts counts_;
};

/// Write a core as the functions of slab.hpp do, to any sink, and tell the sink what integers lose: `num_lost` values,
/// or those that the second one counts.
void write_core(const std::byte* samples, const plan::Tile& tile, int64_t num_lost, CoreSink& output);
void write_core_from_f32(const float* values, const plan::Tile& tile, const device::Conversion& conversion,
                         CoreSink& output);

/// Reduces samples to a number: the sum, modulo 2^64, of a hash of each sample and its position. It does not depend on
/// the order of writing or on how the image is divided. Only the parts that it remembers can be read back.
class ChecksumSink final : public StreamedSink {
  public:
    using StreamedSink::StreamedSink;
    /// Keeps these parts of the output for verification.
    void remember(const std::vector<Rect>& parts);
    /// Keeps up to `count` cores of each pass after start_pass(), a random choice of those that are written (Vitter's
    /// algorithm R).
    void remember_some(int64_t count);
    void start_pass() override;
    [[nodiscard]] DType dtype() const override { return source().dtype(); }
    [[nodiscard]] bool holds(const Rect& part) const override;
    [[nodiscard]] image::Image read(const Rect& part) override;

  protected:
    void store(const Rect& core, const PixelView& samples, StreamCounts& counts) override;

  private:
    struct Remembered {
        Rect part;
        image::Image samples;  // f32; empty until they are written
    };
    [[nodiscard]] const Remembered* find(const Rect& part) const;
    void choose(const Rect& core);

    std::vector<Remembered> remembered_;
    int64_t num_chosen_ = 0;   // cores of each pass to keep; 0: `remembered_` is given
    int64_t num_written_ = 0;  // in this pass
    std::mt19937_64 random_;
};

/// For tests only (base/fault.hpp): returns `sink`, or, when a fault of the stage `output` is requested for this
/// process, a sink that changes samples before it passes them to `sink`: those of one rank's network, for every kind of
/// output, device and precision. `source` supplies the noisy image, which the fault `identity` writes, and must outlive
/// it.
[[nodiscard]] std::unique_ptr<CoreSink> with_faults(std::unique_ptr<CoreSink> sink, ImageSource& source);

/// Returns the checksum of `samples`, a part of an image with `width` columns. Its first pixel is (row, column).
[[nodiscard]] uint64_t checksum_of(const PixelView& samples, int64_t row, int64_t column, int64_t width);

/// Returns the sum of all ranks' checksums, modulo 2^64, on all ranks. Collective.
[[nodiscard]] uint64_t sum_of_ranks(uint64_t mine, const comm::Communicator& ranks);

}  // namespace pb::run
