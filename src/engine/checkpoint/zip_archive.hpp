// A zip archive in memory whose entries are stored without compression, as torch.save writes them. A compressed entry
// is refused, since its announced size could be false.
#pragma once

#include "engine/checkpoint/byte_reader.hpp"

#include <memory>
#include <string>
#include <vector>

namespace pb::engine {

class ZipArchive {
  public:
    /// `file` must outlive the archive; `name` is used in messages. Throws UsageError when it is not a zip
    /// archive, or contains a name twice.
    ZipArchive(Bytes file, const std::string& name);
    ~ZipArchive();
    ZipArchive(const ZipArchive&) = delete;
    ZipArchive& operator=(const ZipArchive&) = delete;

    /// Names of all entries, sorted.
    [[nodiscard]] std::vector<std::string> names() const;

    [[nodiscard]] bool contains(const std::string& entry) const;

    /// The bytes of `entry`, checksum verified. Throws UsageError when it is missing, compressed or damaged.
    [[nodiscard]] std::vector<std::byte> read(const std::string& entry) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pb::engine
