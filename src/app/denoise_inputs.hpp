// Which files `denoise` reads and what their outputs are called.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pb {

struct DenoiseJob {
    std::filesystem::path input;
    std::filesystem::path output;
};

/// `inputs`: files, folders (their images, not recursive, by name) or glob patterns. One file: `output` is a file, or
/// an existing folder. Several: `output` is a folder, made when it is missing. Throws UsageError: nothing found, two
/// inputs of one name, an output that is an input of any of them or the weights, an output that could not be written.
[[nodiscard]] std::vector<DenoiseJob> list_jobs(const std::vector<std::string>& inputs,
                                                const std::filesystem::path& output, const std::string& weights);

}  // namespace pb
