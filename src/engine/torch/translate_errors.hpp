// Turns LibTorch's exceptions into this program's own: one line, no C++ stack trace, OutOfMemory kept apart.
#pragma once

#include "patchbench/base/error.hpp"

#include <c10/util/Exception.h>

#include <functional>
#include <new>
#include <optional>
#include <string>

namespace pb::engine::torch_engine {

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
