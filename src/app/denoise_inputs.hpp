// Finds the files that `denoise` reads, and names their outputs.
#pragma once

#include "comm/communicator.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace pb::app {

struct DenoiseJob {
    std::filesystem::path input;
    std::filesystem::path output;
};

/// `inputs` are files, folders (their images by name, not recursive) or glob patterns. `output` is read as by cp: it is
/// a folder if it exists as one or ends in '/' (it is made if missing). Otherwise it is a file, which needs exactly one
/// input. If the only input is a folder, the output is a folder and is made. Throws UsageError when nothing is found,
/// for several inputs with one output file, two inputs of one name, an output that is an input or the weights, and an
/// output that cannot be written.
[[nodiscard]] std::vector<DenoiseJob> list_jobs(const std::vector<std::string>& inputs,
                                                const std::filesystem::path& output, const std::string& weights);

/// Removes the jobs whose output exists already, and prints which. The root decides which exist. Collective.
void keep_existing(const comm::Communicator& world, std::vector<DenoiseJob>& jobs);

}  // namespace pb::app
