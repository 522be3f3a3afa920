// CUDA's status codes as errors, and the current device of a thread as a scope.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

namespace pb::device {

/// Throws OutOfMemory for cudaErrorMemoryAllocation and Error for any other failure, with the place of the call, the
/// name and the text of the code. Clears the thread's last error, so that a failure that is met is not reported twice.
void check(cudaError_t status, std::source_location where = std::source_location::current());

namespace cuda {

/// Makes a device the thread's current one and the former one current again at the end of the scope. Does nothing when
/// it is current already: a rank selects its device first, since going back to another would open a context there.
class DeviceScope {
  public:
    explicit DeviceScope(int index);
    ~DeviceScope() {
        if (changed_) (void)cudaSetDevice(former_);
    }
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

  private:
    int former_ = 0;
    bool changed_ = false;
};

}  // namespace cuda
}  // namespace pb::device
