// Rows of an image over its whole width before and after a network on a CPU, in fp32: they are converted while they are
// cut and while they are written. On a CUDA device: device_rows.hpp.
#pragma once

#include "engine/memory.hpp"
#include "run/pipeline/pipeline.hpp"

namespace pb::run {

class HostRows {
  public:
    /// Room for `taken` rows of the input and `made` rows of the output. Throws OutOfMemory.
    HostRows(const PipelineOptions& options, int64_t width, int64_t channels, int64_t taken, int64_t made)
        : conversion_(options.conversion),
          out_row_floats_(width * channels),
          in_({}, bytes_of(taken * width * (channels + (options.conversion.sigma ? 1 : 0)))),
          out_({}, bytes_of(made * out_row_floats_)) {}

    [[nodiscard]] float* in() const { return static_cast<float*>(in_.pointer()); }
    [[nodiscard]] float* out() const { return static_cast<float*>(out_.pointer()); }

    void cut(const Rect& rows, WindowSource& input) { cut_window_to_f32(input, rows, conversion_, in()); }
    /// Writes rows of the output from number `row` on; `band` begins with the first of them.
    void write(int64_t row, const plan::Tile& band, CoreSink& output) const {
        write_core_from_f32(out() + row * out_row_floats_, band, conversion_, output);
    }

  private:
    static size_t bytes_of(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); }

    device::Conversion conversion_;
    int64_t out_row_floats_;
    engine::EngineBuffer in_, out_;
};

}  // namespace pb::run
