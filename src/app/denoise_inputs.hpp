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

/// `inputs`: files, folders (their images, not recursive, by name) or glob patterns. `output` is understood as by cp: a
/// folder when it is there as one or ends in '/', and then made where it is missing; else a file, which one input alone
/// can have. A folder as the only input goes to a folder, which is made. Throws UsageError: nothing found, several
/// inputs for one file, two inputs of one name, an output that is an input of any of them or the weights, an output
/// that could not be written.
[[nodiscard]] std::vector<DenoiseJob> list_jobs(const std::vector<std::string>& inputs,
                                                const std::filesystem::path& output, const std::string& weights);

/// For each job '1' where its output is not there yet, else '0'.
[[nodiscard]] std::string missing_outputs(const std::vector<DenoiseJob>& jobs);

}  // namespace pb
