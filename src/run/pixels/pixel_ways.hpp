// Where a pass takes its windows from and brings its cores to. Held: slabs in memory that the ranks of a node share.
// Streamed: a window is read when it is cut, and a core goes where it belongs at once, so that no rank holds more of
// the image than its batches.
#pragma once

#include "run/pixels/image_source.hpp"
#include "run/pixels/slab.hpp"
#include "run/verify/anomaly_tracker.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace pb {

class WindowSource {
  public:
    virtual ~WindowSource() = default;
    /// Memory with all of the image that `seen` sees, until the next call.
    [[nodiscard]] virtual Slab around(const Rect& seen) = 0;
};

/// What becomes of a number in [0,1] that is kept.
struct Keeping {
    double rounding = 0;                // changed by at most
    std::optional<SampleRange> limits;  // clipped to
};

class Output {
  public:
    virtual ~Output() = default;
    [[nodiscard]] virtual Extent extent() const = 0;
    /// Type in which the samples are kept: that of the pass, or the file's.
    [[nodiscard]] virtual DType dtype() const = 0;
    [[nodiscard]] virtual Keeping keeping() const;
    /// Memory for the samples of `kept`, in the type of the pass.
    [[nodiscard]] virtual Slab room_for(const Rect& kept) = 0;
    /// They have been written there. Throws Error where they cannot be kept.
    virtual void take(const Rect& kept) = 0;
    /// Whether `read` can give `part`: all but a checksum keep every pixel.
    [[nodiscard]] virtual bool holds(const Rect& /*part*/) const { return true; }
    /// `part` as it was kept, as f32 in [0,1]; samples that are no data as the network saw them.
    [[nodiscard]] virtual Image read(const Rect& part) = 0;
    /// `samples` of `part`, f32, as they would be read had they been kept.
    [[nodiscard]] virtual Image as_kept(const Rect& part, const Image& samples) const;
};

/// Both of a slab: nothing is copied.
class HeldWindows final : public WindowSource {
  public:
    explicit HeldWindows(const Slab& slab) : slab_(slab) {}
    [[nodiscard]] Slab around(const Rect& /*seen*/) override { return slab_; }

  private:
    Slab slab_;
};

class HeldOutput final : public Output {
  public:
    /// `source` must outlive it.
    HeldOutput(const Slab& slab, ImageSource& source) : slab_(slab), source_(source) {}
    [[nodiscard]] Extent extent() const override { return slab_.image; }
    [[nodiscard]] DType dtype() const override { return slab_.dtype; }
    [[nodiscard]] Slab room_for(const Rect& /*kept*/) override { return slab_; }
    void take(const Rect& /*kept*/) override {}
    [[nodiscard]] Image read(const Rect& part) override;

  private:
    Slab slab_;
    ImageSource& source_;
};

/// Windows of a source that can be read by windows, with the study's noise. `source` must outlive it.
class StreamedWindows final : public WindowSource {
  public:
    explicit StreamedWindows(ImageSource& source) : source_(source) {}
    [[nodiscard]] Slab around(const Rect& seen) override;

  private:
    ImageSource& source_;
    std::vector<std::byte> samples_;
};

/// What this rank brought in the last pass.
struct StreamCounts {
    int64_t pixels = 0;
    int64_t not_finite = 0;  // samples
    uint64_t checksum = 0;   // of a ChecksumOutput
    AnomalyTracker anomaly;
};

/// An output that keeps no image in memory: counts what comes.
class StreamedOutput : public Output {
  public:
    StreamedOutput(Extent extent, int64_t channels, DType sample_type)
        : extent_(extent), channels_(channels), sample_type_(sample_type) {}
    [[nodiscard]] Extent extent() const final { return extent_; }
    [[nodiscard]] Slab room_for(const Rect& kept) final;
    void take(const Rect& kept) final;

    void start_pass() { counts_ = {}; }
    [[nodiscard]] const StreamCounts& counts() const { return counts_; }
    /// Not collective: what this rank wrote is on the disk. Throws Error.
    virtual void flush() {}
    /// On the root, after all flushed: the file appears under its name. Throws Error.
    virtual void commit() {}

  protected:
    virtual void keep(const Rect& kept, const ImageView& samples, StreamCounts& counts) = 0;
    [[nodiscard]] int64_t channels() const { return channels_; }
    [[nodiscard]] DType sample_type() const { return sample_type_; }

  private:
    Extent extent_;
    int64_t channels_;
    DType sample_type_;
    std::vector<std::byte> samples_;
    StreamCounts counts_;
};

/// Windows and cores as slab.hpp cuts and writes them, wherever they come from and go to.
void cut_window(WindowSource& source, const Rect& seen, std::byte* window);
void cut_window_to_f32(WindowSource& source, const Rect& seen, const Conversion& conversion, float* window);
void write_core(const std::byte* window, const Tile& tile, Output& output);
void write_core_from_f32(const float* window, const Tile& tile, const Conversion& conversion, Output& output);

/// Samples into a number: the sum, modulo 2^64, of a hash of each sample and its place. The same whatever the order and
/// the cut. Nothing can be read back but the parts that it was told to remember.
class ChecksumOutput final : public StreamedOutput {
  public:
    /// Of an image like that of `source`, which must outlive it.
    explicit ChecksumOutput(ImageSource& source)
        : StreamedOutput(source.extent(), source.channels(), source.dtype()), source_(source) {}
    /// Parts of the output that verification will look at, whenever they come.
    void remember(const std::vector<Rect>& parts);
    [[nodiscard]] DType dtype() const override { return sample_type(); }
    [[nodiscard]] bool holds(const Rect& part) const override;
    [[nodiscard]] Image read(const Rect& part) override;

  protected:
    void keep(const Rect& kept, const ImageView& samples, StreamCounts& counts) override;

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
[[nodiscard]] uint64_t checksum_of(const ImageView& samples, int64_t row, int64_t column, int64_t width);

/// The sum of all ranks' checksums, modulo 2^64, on all ranks. Collective.
[[nodiscard]] uint64_t sum_of_ranks(uint64_t mine, const Communicator& ranks);

}  // namespace pb
