// The sources and options of this build. cmake/BuildInfo.cmake generates the definition.
#pragma once

#include <string>

namespace pb::run {

struct BuildInfo {
    std::string version;
    std::string git_sha;
    bool git_dirty = false;
    std::string compiler;
    std::string build_type;
};

[[nodiscard]] const BuildInfo& build_info();

}  // namespace pb::run
