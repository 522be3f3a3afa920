// A limit on what this process may use, as `ulimit` sets it.
#pragma once

#include <sys/resource.h>

namespace pb::test {

/// Lowers the limit on `resource`, one of RLIMIT_*, until the end of the scope.
class ResourceLimit {
  public:
    ResourceLimit(__rlimit_resource_t resource, rlim_t most) : resource_(resource) {
        ::getrlimit(resource_, &old_);
        const rlimit limit{most, old_.rlim_max};
        ::setrlimit(resource_, &limit);
    }
    ~ResourceLimit() { ::setrlimit(resource_, &old_); }
    ResourceLimit(const ResourceLimit&) = delete;
    ResourceLimit& operator=(const ResourceLimit&) = delete;

  private:
    __rlimit_resource_t resource_;
    rlimit old_{};
};

}  // namespace pb::test
