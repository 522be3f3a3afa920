// Tensors of LibTorch: device, type and memory format, the memory of the engines in which those on the CPU lie
// (engine/counting_memory.hpp), the number of threads of operators, and the exceptions.
#pragma once

#include "engine/counting_memory.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/engine/denoiser.hpp"

#include <ATen/core/Tensor.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/TensorOptions.h>
#include <c10/util/Exception.h>

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>

namespace pb::engine::torch_engine {

/// To be called before the first tensor is made; a second call has no effect. `memory` outlives the last tensor.
void put_tensors_into(CountingMemory& memory);

/// Null before put_tensors_into().
[[nodiscard]] CountingMemory* tensor_memory();

/// As empty_allocator_cache.
void empty_tensor_cache(DeviceId device);

class Fusion;

/// Device and element type, memory format of weights and activations, and the fusion of layers.
struct Placement {
    at::TensorOptions options;
    at::MemoryFormat format = at::MemoryFormat::ChannelsLast;
    std::shared_ptr<Fusion> fusion;  // null when layers run unfused
};

[[nodiscard]] Placement placement_of(const EngineOptions& options);

[[nodiscard]] at::MemoryFormat memory_format(Layout layout);

/// The view as a tensor that owns nothing.
[[nodiscard]] at::Tensor as_tensor(const BatchView& view, const at::TensorOptions& options);

/// Runs work that calls LibTorch: with the threads and the errors of an engine.
using Runner = std::function<void(const std::function<void()>&)>;

/// Sets the number of threads of CPU operators that the calling thread runs from now on.
void use_threads(int threads);

/// Throws UsageError for options that a CPU does not support.
void check_cpu_options(const EngineOptions& options);

// Turns LibTorch's exceptions into this program's own: one line, no C++ stack trace, OutOfMemory kept apart.

[[nodiscard]] inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Runs `work` and throws its exception as OutOfMemory or Error. The original exception is destroyed before `after_oom`
/// runs: it keeps tensors alive, whose memory could otherwise not be freed.
template <class Work>
void translate_errors(const std::string& where, const std::function<void()>& after_oom, Work&& work) {
    std::optional<std::string> out_of_memory;
    try {
        work();
    } catch (const c10::OutOfMemoryError& error) {
        out_of_memory = first_line(error.what_without_backtrace());
    } catch (const std::bad_alloc&) {
        out_of_memory = "the host has no more";
    } catch (const c10::Error& error) {
        throw Error(where + ": " + first_line(error.what_without_backtrace()));
    } catch (const Error&) {
        throw;
    } catch (const std::exception& error) {  // dnnl::error and the like
        throw Error(where + ": " + first_line(error.what()));
    }
    if (!out_of_memory) return;
    after_oom();
    throw OutOfMemory(where + ": out of memory: " + *out_of_memory);
}

}  // namespace pb::engine::torch_engine
