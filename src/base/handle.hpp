// RAII for C handles: `using Stream = Handle<cudaStream_t, cudaStreamDestroy>`. One closer, no wrapper classes.
#pragma once

#include <memory>
#include <type_traits>

namespace pb {

template <class H, auto Close>
struct Closer {
    using pointer = H;
    void operator()(H handle) const noexcept { (void)Close(handle); }
};

template <class H, auto Close>
using Handle = std::unique_ptr<std::remove_pointer_t<H>, Closer<H, Close>>;

}  // namespace pb
