// Where a pass writes its cores. In memory: into a slab that the ranks of a node share. Streamed: a core goes where it
// belongs as soon as it is written, so that no rank holds more of the image than its batches. A core is written in two
// steps: `map` gives memory for it, `commit` says that its samples are there.
#pragma once

#include "run/pixels/image_source.hpp"
#include "run/pixels/slab.hpp"
#include "run/verify/anomaly_tracker.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace pb {

/// What a number in [0,1] loses when it is stored.
struct Quantisation {
    double rounding = 0;                // changed by at most
    std::optional<SampleRange> limits;  // clipped to
};

class CoreSink {
  public:
    virtual ~CoreSink() = default;
    [[nodiscard]] virtual Extent extent() const = 0;
    /// Type in which the samples are stored: that of the pass, or the file's.
    [[nodiscard]] virtual DType dtype() const = 0;
    [[nodiscard]] virtual Quantisation quantisation() const;
    /// Memory for the samples of `core`, in the type of the pass; valid until the next call.
    [[nodiscard]] virtual Slab map(const Rect& core) = 0;
    /// The samples of `core` are in the memory that `map` gave. Throws Error where they cannot be stored.
    virtual void commit(const Rect& core) = 0;
    /// Whether `read` can give `part`: all but a checksum store every pixel.
    [[nodiscard]] virtual bool holds(const Rect& /*part*/) const { return true; }
    /// `part` as it was stored, as f32 in [0,1]; samples that are no data as the network saw them.
    [[nodiscard]] virtual Image read(const Rect& part) = 0;
    /// `samples` of `part`, f32, as they would be read had they been stored.
    [[nodiscard]] virtual Image as_stored(const Rect& part, const Image& samples) const;
};

/// Cores of a slab: nothing is copied.
class MemorySink final : public CoreSink {
  public:
    /// `source` must outlive it.
    MemorySink(const Slab& slab, ImageSource& source) : slab_(slab), source_(source) {}
    [[nodiscard]] Extent extent() const override { return slab_.image; }
    [[nodiscard]] DType dtype() const override { return slab_.pixels.dtype; }
    [[nodiscard]] Slab map(const Rect& /*core*/) override { return slab_; }
    void commit(const Rect& /*core*/) override {}
    [[nodiscard]] Image read(const Rect& part) override;

  private:
    Slab slab_;
    ImageSource& source_;
};

/// What this rank brought in the last pass.
struct StreamCounts {
    int64_t pixels = 0;
    int64_t not_finite = 0;  // samples
    uint64_t checksum = 0;   // of a ChecksumSink
    AnomalyTracker anomaly;
};

/// An output that keeps no image in memory: counts what comes.
class StreamedSink : public CoreSink {
  public:
    StreamedSink(Extent extent, int64_t channels, DType sample_type)
        : extent_(extent), channels_(channels), sample_type_(sample_type) {}
    [[nodiscard]] Extent extent() const final { return extent_; }
    [[nodiscard]] Slab map(const Rect& core) final;
    void commit(const Rect& core) final;

    void start_pass() { counts_ = {}; }
    [[nodiscard]] const StreamCounts& counts() const { return counts_; }
    /// Not collective: what this rank wrote is on the disk. Throws Error.
    virtual void flush() {}
    /// On the root, after all flushed: the file appears under its name. Throws Error.
    virtual void publish() {}

  protected:
    virtual void store(const Rect& core, const PixelView& samples, StreamCounts& counts) = 0;
    [[nodiscard]] int64_t channels() const { return channels_; }
    [[nodiscard]] DType sample_type() const { return sample_type_; }

  private:
    Extent extent_;
    int64_t channels_;
    DType sample_type_;
    std::vector<std::byte> samples_;
    StreamCounts counts_;
};

/// As slab.hpp writes a core, to wherever it goes.
void write_core(const std::byte* samples, const Tile& tile, CoreSink& output);
void write_core_from_f32(const float* values, const Tile& tile, const Conversion& conversion, CoreSink& output);

/// Samples into a number: the sum, modulo 2^64, of a hash of each sample and its place. The same whatever the order and
/// the cut. Nothing can be read back but the parts that it was told to remember.
class ChecksumSink final : public StreamedSink {
  public:
    /// Of an image like that of `source`, which must outlive it.
    explicit ChecksumSink(ImageSource& source)
        : StreamedSink(source.extent(), source.channels(), source.dtype()), source_(source) {}
    /// Parts of the output that verification will look at, whenever they come.
    void remember(const std::vector<Rect>& parts);
    [[nodiscard]] DType dtype() const override { return sample_type(); }
    [[nodiscard]] bool holds(const Rect& part) const override;
    [[nodiscard]] Image read(const Rect& part) override;

  protected:
    void store(const Rect& core, const PixelView& samples, StreamCounts& counts) override;

  private:
    struct Remembered {
        Rect part;
        Image samples;  // f32; empty until they came
    };
    [[nodiscard]] const Remembered* find(const Rect& part) const;

    ImageSource& source_;
    std::vector<Remembered> remembered_;
};

/// The checksum of `samples`, a part of an image of `width` columns whose first pixel is (row, column).
[[nodiscard]] uint64_t checksum_of(const PixelView& samples, int64_t row, int64_t column, int64_t width);

/// The sum of all ranks' checksums, modulo 2^64, on all ranks. Collective.
[[nodiscard]] uint64_t sum_of_ranks(uint64_t mine, const Communicator& ranks);

}  // namespace pb
