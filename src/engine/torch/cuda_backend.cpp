#include "engine/torch/cuda_backend.hpp"

#include "patchbench/base/error.hpp"

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace pb::engine::torch_engine {

namespace {

namespace caching = c10::cuda::CUDACachingAllocator;

/// Initialises LibTorch's CUDA state; throws UsageError with the reason when `index` cannot be used. It is called each
/// time a counter is read, so the list of devices is made once.
void require_device(int index) {
    static const int count = static_cast<int>(device::visible_cuda_devices().size());
    if (index >= 0 && index < count) {
        at::globalContext().lazyInitDevice(c10::kCUDA);
        return;
    }
    const std::string reason = count == 0 ? device::why_no_cuda_device() : fmt::format("{} are visible", count);
    throw UsageError(fmt::format("engine: no CUDA device {} ({}); use device cpu", index, reason));
}

/// Called by every run_on, because LibTorch has these settings for the whole process. Uses the older setters: LibTorch
/// forbids mixing them with the newer ones.
void apply_settings(const EngineOptions& options) {
    auto& context = at::globalContext();
    const bool tf32 = options.precision == Precision::tf32;
    context.setAllowTF32CuDNN(tf32);
    context.setAllowTF32CuBLAS(tf32);
    context.setBenchmarkCuDNN(options.cudnn_benchmark);
    context.setDeterministicCuDNN(true);
}

/// Ends the capture in any case: a stream left in capture would refuse all later work.
class Capture {
  public:
    Capture(at::cuda::CUDAGraph& graph, c10::cuda::MempoolId_t pool, int index)
        : graph_(graph), pool_(pool), index_(static_cast<c10::DeviceIndex>(index)) {
        graph_.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    }
    ~Capture() {
        if (ended_) return;
        try {
            graph_.capture_end();
        } catch (const std::exception&) {
            leave_pool();  // the exception in flight already gives the reason
            leave_generator();
        }
        (void)cudaGetLastError();
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    void end() {
        graph_.capture_end();
        ended_ = true;
    }

  private:
    /// When CUDA has abandoned the capture, capture_end() throws before it ends the capture mode of the allocator and
    /// before the graph owns its share of the pool.
    void leave_pool() const noexcept {
        try {
            caching::endAllocateToPool(index_, pool_);
            caching::releasePool(index_, pool_);
        } catch (const std::exception&) {
            // capture_end() had done this itself.
        }
    }
    /// The generator of random numbers, too, is in a capture from begin to end; later it would refuse to give any. Its
    /// state is shared with the graph: a copy takes its place.
    void leave_generator() const noexcept {
        try {
            at::Generator random = at::cuda::detail::getDefaultCUDAGenerator(index_);
            random.graphsafe_set_state(random.clone());
        } catch (const std::exception&) {
            // Upper bounds and the check of fused layers then report that they could not draw.
        }
    }

    at::cuda::CUDAGraph& graph_;
    c10::cuda::MempoolId_t pool_;
    c10::DeviceIndex index_;
    bool ended_ = false;
};

class TorchCudaBackend final : public CudaBackend {
  public:
    explicit TorchCudaBackend(EngineOptions options) : options_(std::move(options)) {
        require_device(options_.device.index);
    }

    void run_on(device::Stream& stream, const std::function<void()>& work) override {
        apply_settings(options_);
        const c10::cuda::CUDAStreamGuard guard(as_torch(stream));  // also makes its device current
        const int64_t ooms_before = num_ooms();
        try {
            work();
        } catch (const c10::OutOfMemoryError&) {
            throw;
        } catch (const c10::Error& error) {
            // When cuDNN's scratch memory does not fit, LibTorch reports that no algorithm could be found.
            TORCH_CHECK_WITH(OutOfMemoryError, num_ooms() == ooms_before, error.what_without_backtrace());
            throw;
        }
    }

    void capture(const BatchView& in, const BatchView& out, device::Stream& stream,
                 const std::function<void()>& work) override {
        graphs_.erase(key_of(in, out));
        reset_cuda_peaks(options_.device.index);
        graphs_.emplace(key_of(in, out), captured(stream, work));
    }

    /// Peaks are not reset: a pass that is measured goes on. Before the first capture the allocator gives back what
    /// enqueued work has left, since the graphs' pool cannot use it.
    void repeat(const ReplayKey& key, device::Stream& stream, const std::function<void()>& work) override {
        if (seen_.insert(key).second) return run_on(stream, work);
        auto found = graphs_.find(key);
        if (found == graphs_.end()) {
            if (graphs_.empty()) {
                stream.synchronise();
                empty_cuda_cache();
            }
            found = graphs_.emplace(key, captured(stream, work)).first;
        }
        replay(*found->second, stream);
    }

    bool keep_only(const Shape& shape) override {
        if (shape == shape_) return !graphs_.empty();
        graphs_.clear();
        captured_bytes_ = 0;
        shape_ = shape;
        return false;
    }

    [[nodiscard]] int64_t captured_bytes() const override { return captured_bytes_; }

    bool replay(const BatchView& in, const BatchView& out, device::Stream& stream) override {
        const auto found = graphs_.find(key_of(in, out));
        if (found == graphs_.end() || in.shape != shape_) return false;
        replay(*found->second, stream);
        return true;
    }

  private:
    static ReplayKey key_of(const BatchView& in, const BatchView& out) { return {in.pointer, out.pointer}; }

    [[nodiscard]] std::unique_ptr<at::cuda::CUDAGraph> captured(device::Stream& stream,
                                                                const std::function<void()>& work) {
        const int index = options_.device.index;
        const int64_t held = cuda_counters(index).allocated_bytes;
        auto graph = std::make_unique<at::cuda::CUDAGraph>();
        run_on(stream, [&] {
            Capture capture(*graph, pool(), index);
            work();
            capture.end();
        });
        captured_bytes_ = std::max(captured_bytes_, cuda_counters(index).peak_allocated_bytes - held);
        return graph;
    }

    void replay(at::cuda::CUDAGraph& graph, device::Stream& stream) const {
        const c10::cuda::CUDAStreamGuard guard(as_torch(stream));
        graph.replay();
    }

    [[nodiscard]] c10::cuda::CUDAStream as_torch(const device::Stream& stream) const {
        return c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream.native()),
                                                static_cast<c10::DeviceIndex>(options_.device.index));
    }

    [[nodiscard]] int64_t num_ooms() const {
        return caching::getDeviceStats(static_cast<c10::DeviceIndex>(options_.device.index)).num_ooms;
    }

    /// Pool of an existing graph: a pool is freed with its last graph.
    [[nodiscard]] c10::cuda::MempoolId_t pool() const {
        return graphs_.empty() ? at::cuda::graph_pool_handle() : graphs_.begin()->second->pool();
    }

    EngineOptions options_;
    Shape shape_;  // of the captured pairs
    int64_t captured_bytes_ = 0;
    std::map<ReplayKey, std::unique_ptr<at::cuda::CUDAGraph>> graphs_;
    std::set<ReplayKey> seen_;  // by repeat()
};

}  // namespace

std::unique_ptr<CudaBackend> make_cuda_backend(const EngineOptions& options) {
    return std::make_unique<TorchCudaBackend>(options);
}

AllocatorCounters cuda_counters(int index) {
    require_device(index);
    const auto stats = caching::getDeviceStats(static_cast<c10::DeviceIndex>(index));
    constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return {.allocated_bytes = stats.allocated_bytes[kAll].current,
            .peak_allocated_bytes = stats.allocated_bytes[kAll].peak,
            .reserved_bytes = stats.reserved_bytes[kAll].current,
            .peak_reserved_bytes = stats.reserved_bytes[kAll].peak,
            .num_allocations = stats.num_device_alloc};
}

void reset_cuda_peaks(int index) {
    require_device(index);
    caching::resetPeakStats(static_cast<c10::DeviceIndex>(index));
}

void set_cuda_memory_limit(int index, int64_t bytes) {
    require_device(index);
    const auto total = static_cast<double>(device::device_memory({DeviceKind::cuda, index}).total_bytes);
    const double fraction = bytes == 0 ? 1.0 : std::min(1.0, static_cast<double>(bytes) / total);
    caching::setMemoryFraction(fraction, static_cast<c10::DeviceIndex>(index));
}

void empty_cuda_cache() { caching::emptyCache(); }

void release_cublas_workspaces() { at::cuda::clearCublasWorkspaces(); }

c10::DataPtr allocate_cuda(int index, size_t bytes) {
    require_device(index);
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(index));
    return caching::get()->allocate(bytes);
}

std::vector<device::LibraryVersion> cudnn_versions() {
    const auto text = [](long v) { return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100); };
    return {{"cudnn", text(at::Context::versionCuDNN()), text(at::Context::versionRuntimeCuDNN())}};
}

}  // namespace pb::engine::torch_engine
