// A limit on the size of files, which stands for a full disk.
#pragma once

#include "support/resource_limit.hpp"

#include <csignal>

namespace pb::test {

/// Files of this process cannot grow beyond `bytes`, as on a full disk.
class FileSizeLimit {
  public:
    explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)), limit_(RLIMIT_FSIZE, bytes) {}
    ~FileSizeLimit() { (void)std::signal(SIGXFSZ, handler_); }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

  private:
    void (*handler_)(int);
    ResourceLimit limit_;
};

}  // namespace pb::test
