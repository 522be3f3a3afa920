// LibTorch's exceptions as this program's own: one line each, no C++ stack trace, out-of-memory told apart.
#pragma once

#include "patchbench/base/error.hpp"

#include <c10/util/Exception.h>

#include <functional>
#include <new>
#include <optional>
#include <string>

namespace pb::torch_engine {

[[nodiscard]] std::string first_line(const std::string& text);

/// Runs `work` and throws what it threw as OutOfMemory or Error. The exception is gone by the time `after_oom` runs: it
/// keeps tensors alive, and only without it can their memory be given back.
template <class Work>
void translated(const std::string& where, const std::function<void()>& after_oom, Work&& work) {
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
    } catch (const std::exception& error) {  // dnnl::error and others of its kind
        throw Error(where + ": " + first_line(error.what()));
    }
    if (!out_of_memory) return;
    after_oom();
    throw OutOfMemory(where + ": out of memory: " + *out_of_memory);
}

}  // namespace pb::torch_engine
