// Allows only one run at a time to write into a folder. A second run would mix its lines with those of the first.
#pragma once

#include <filesystem>

namespace pb::app {

class FolderLock {
  public:
    /// Locks the folder until destruction or until the process ends in any way. Throws UsageError when another process
    /// holds the lock. Always succeeds on file systems without locks.
    explicit FolderLock(const std::filesystem::path& folder);
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

  private:
    int descriptor_ = -1;
};

}  // namespace pb::app
