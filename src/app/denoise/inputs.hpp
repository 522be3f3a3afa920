// Finds the files that `denoise` reads, and names their outputs.
#pragma once

#include "comm/communicator.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace pb::app {

/// The type of the output files. `same`: that of the input, or what the name of the output says.
enum class OutputFormat : uint8_t { same, png, jpg, webp, bmp, tif, npy, raw };

struct DenoiseJob {
    std::filesystem::path input;
    std::filesystem::path output;
    std::filesystem::path clean{};  // the image without noise; empty: not known
    int64_t bytes = 0;              // of the input; 0 where it cannot be examined
    bool is_done = false;           // the output exists
    bool has_folder = true;         // the folder of the output exists, or is not made for it
};

struct DenoiseJobs {
    std::vector<DenoiseJob> jobs;
    int64_t num_passed_over = 0;  // files in folders whose names are not those of images; hidden files are not counted
    bool into_folder = false;     // the outputs are files in a folder
};

/// What is to be denoised, as the user gave it.
struct DenoisePaths {
    std::vector<std::string> inputs;  // files, folders or glob patterns
    std::filesystem::path output;
    std::string weights;
    std::filesystem::path clean;  // file or folder; empty: none
    bool recursive = false;
    OutputFormat format = OutputFormat::same;
};

/// Lists the images in `inputs`: of a folder its images by name, with `recursive` also those in folders in it, except
/// hidden folders, links and the output folder. `output` is read as by cp: it is a folder if it exists as one or ends
/// in '/'. Otherwise it is a file, which needs exactly one input. If the only input is a folder, the output is a
/// folder. Outputs in a folder, and clean images, are named as the inputs, below the folder of the input as there.
/// Throws UsageError when nothing is found, for several inputs with one output file or one clean one, two outputs of
/// one name, an output that is an input, a clean image or the weights, and a format that the name of the output
/// contradicts. Makes no folders.
[[nodiscard]] DenoiseJobs list_jobs(const DenoisePaths& paths);

/// list_jobs on the root, whose result all ranks get: the order of the jobs, and which are done. Collective; errors are
/// agreed.
[[nodiscard]] DenoiseJobs list_jobs(const comm::Communicator& world, const DenoisePaths& paths);

/// Each rank makes the folders of the outputs. Collective; errors are agreed.
void make_folders(const comm::Communicator& world, const DenoiseJobs& all);

/// Throws UsageError where a folder that does not exist cannot be made. Makes none.
void require_can_make_folder(const std::filesystem::path& folder);

/// Removes the jobs that are done. Returns a line about each.
[[nodiscard]] std::string remove_done(std::vector<DenoiseJob>& jobs);

}  // namespace pb::app
