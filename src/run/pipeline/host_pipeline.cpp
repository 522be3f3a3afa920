// The pipeline of a CPU rank: every stage inline. Windows are converted while they are cut, cores while they are
// written; network types other than f32 channels_last go through a buffer of samples.
#include "base/fault.hpp"
#include "run/pipeline/pipelines.hpp"

#include <cstring>
#include <vector>

namespace pb {

namespace {

class HostPipeline final : public Pipeline {
  public:
    HostPipeline(Denoiser& denoiser, const Work& work, const PipelineOptions& options, int64_t channels,
                 DType sample_type)
        : denoiser_(denoiser),
          work_(work),
          options_(options),
          channels_(channels),
          sample_type_(sample_type),
          stream_(options.device),
          batches_(work.batches()) {
        if (batches_.empty()) return;
        const auto shapes = shapes_of(run_size(batches_.front(), work_));
        in_ = EngineBuffer(options.device, view(nullptr, shapes.in).bytes());
        out_ = EngineBuffer(options.device, view(nullptr, shapes.out).bytes());
        if (!fused()) samples_.resize(static_cast<size_t>(shapes.samples.elements()) * size_of(sample_type));
        denoiser_.prepare(view(in_.pointer(), shapes.in), view(out_.pointer(), shapes.out), stream_);
    }

    void pass(BatchQueue& batches, WindowSource& input, Output& output, PassLog& log) override {
        while (const auto batch = batches.next()) {
            stop_if_interrupted();
            StageWatch watch(log, number_of(*batch, work_));
            inject_fault("gather");
            gather(input, *batch);
            watch.done(Stage::gather);
            inject_fault("forward");
            forward(run_size(*batch, work_));
            watch.done(Stage::forward);
            scatter(output, *batch);
            watch.done(Stage::scatter);
        }
    }

    double forward_call() override {
        if (batches_.empty()) return 0;
        const Stopwatch watch;
        forward(run_size(batches_.front(), work_));
        return watch.seconds();
    }

  private:
    [[nodiscard]] bool fused() const {
        return options_.precision == Precision::fp32 && options_.layout == Layout::channels_last;
    }
    [[nodiscard]] BatchShapes shapes_of(int64_t n) const {
        return batch_shapes(n, work_.window, channels_, options_.conversion);
    }
    [[nodiscard]] BatchView view(void* pointer, const Shape& shape) const {
        return {pointer, shape, storage_of(options_.precision), options_.layout, options_.device};
    }
    [[nodiscard]] BatchView samples_view(const Shape& shape) {
        return {samples_.data(), shape, sample_type_, Layout::channels_last, options_.device};
    }

    void gather(WindowSource& input, const Range& batch) {
        const int64_t n = run_size(batch, work_);
        const auto shapes = shapes_of(n);
        for (int64_t i = 0; i < n; ++i) {
            const Rect seen = work_.task(window_at(batch, i)).seen;
            if (fused())
                cut_window_to_f32(input, seen, options_.conversion,
                                  static_cast<float*>(in_.pointer()) + i * shapes.in.c * seen.extent.pixels());
            else
                cut_window(input, seen, samples_.data() + sample_bytes(i));
        }
        if (!fused())
            samples_to_network(samples_view(shapes.samples), view(in_.pointer(), shapes.in), options_.conversion,
                               stream_);
    }

    void forward(int64_t n) {
        const auto shapes = shapes_of(n);
        denoiser_.forward(view(in_.pointer(), shapes.in), view(out_.pointer(), shapes.out), stream_);
    }

    void scatter(Output& output, const Range& batch) {
        const auto shapes = shapes_of(run_size(batch, work_));
        if (!fused())
            network_to_samples(view(out_.pointer(), shapes.out), samples_view(shapes.samples), options_.conversion,
                               stream_);
        for (int64_t i = 0; i < batch.size(); ++i) {
            const WindowTask task = work_.task(batch.begin + i);
            if (fused())
                write_core_from_f32(static_cast<const float*>(out_.pointer()) + i * channels_ * work_.window.pixels(),
                                    task, options_.conversion, output);
            else
                write_core(samples_.data() + sample_bytes(i), task, output);
        }
    }

    [[nodiscard]] size_t sample_bytes(int64_t num_windows) const {
        return static_cast<size_t>(num_windows * work_.window.pixels() * channels_) * size_of(sample_type_);
    }

    Denoiser& denoiser_;
    const Work& work_;
    PipelineOptions options_;
    int64_t channels_;
    DType sample_type_;
    Stream stream_;
    std::vector<Range> batches_;
    EngineBuffer in_, out_;
    std::vector<std::byte> samples_;
};

}  // namespace

std::unique_ptr<Pipeline> make_host_pipeline(Denoiser& denoiser, const Work& work, const PipelineOptions& options,
                                             int64_t channels, DType sample_type) {
    return std::make_unique<HostPipeline>(denoiser, work, options, channels, sample_type);
}

}  // namespace pb
