// One run writes into a folder at a time: a second one would mix its lines with the first one's.
#pragma once

#include <filesystem>

namespace pb {

class FolderLock {
  public:
    /// Held until destruction or the end of the process, however it ends. Throws UsageError when another process holds
    /// it. File systems that know no locks grant it.
    explicit FolderLock(const std::filesystem::path& folder);
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

  private:
    int descriptor_ = -1;
};

}  // namespace pb
