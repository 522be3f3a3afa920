#include "app/denoise_inputs.hpp"

#include "base/handle.hpp"
#include "base/user_paths.hpp"
#include "run/agreement.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <set>

namespace pb::app {

namespace fs = std::filesystem;

namespace {

constexpr std::array kExtensions{".png", ".jpg", ".jpeg", ".tif", ".tiff", ".npy"};

bool is_image_name(const fs::path& file) {
    std::string extension = file.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

std::vector<fs::path> images_in(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder))
        if (std::error_code broken_link; entry.is_regular_file(broken_link) && is_image_name(entry.path()) &&
                                         !entry.path().filename().string().starts_with('.'))
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    if (files.empty()) throw UsageError("no images (.png .jpg .tif .npy) in the folder '" + folder.string() + "'");
    return files;
}

std::vector<fs::path> matches_of(const std::string& pattern) {
    glob_t found{};
    const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
    const std::unique_ptr<glob_t, void (*)(glob_t*)> owner(&found, ::globfree);
    if (status != 0) throw UsageError("'" + pattern + "': no such file, folder or pattern");
    return {found.gl_pathv, found.gl_pathv + found.gl_pathc};
}

std::vector<fs::path> expand(const std::vector<std::string>& inputs) {
    std::vector<fs::path> files;
    for (const auto& input : inputs) {
        const auto found = fs::is_directory(input) ? images_in(input)
                           : fs::exists(input)     ? std::vector<fs::path>{input}
                                                   : matches_of(input);
        files.insert(files.end(), found.begin(), found.end());
    }
    return files;
}

fs::path output_for(const fs::path& input, const fs::path& output, bool into_folder) {
    return into_folder ? output / input.filename() : output;
}

/// Throws UsageError when the output is an input of any job or the weights, or when two jobs have the same output.
void check(const DenoiseJob& job, const std::vector<fs::path>& inputs, std::set<fs::path>& outputs) {
    for (const fs::path& input : inputs) require_not_input(job.output, input);
    if (!outputs.insert(job.output).second)
        throw UsageError("two inputs would both be written to '" + job.output.string() + "'");
}

/// Returns one character for each job: '1' when its output does not exist yet, otherwise '0'.
std::string missing_outputs(const std::vector<DenoiseJob>& jobs) {
    std::string missing;
    for (const DenoiseJob& job : jobs) missing += fs::exists(job.output) ? '0' : '1';
    return missing;
}

/// Decides as cp does: a name that is no folder and does not end in '/' means one file.
bool goes_into_folder(const std::vector<std::string>& inputs, size_t num_files, const fs::path& output) {
    const bool says_folder = !output.has_filename();
    if (fs::is_directory(output) || says_folder) return true;
    const bool one_folder = inputs.size() == 1 && fs::is_directory(inputs.front());
    if (num_files == 1 && !one_folder) return false;
    if (fs::exists(output))
        throw UsageError("'" + output.string() + "' is a file, but there are several inputs: name a folder");
    if (one_folder && !is_image_name(output)) return true;
    throw UsageError(fmt::format(
        "'{}' is no folder, and one file cannot be the output of {}: name a folder that is there, or end its name "
        "in '/' and it is made",
        output.string(), one_folder ? "a folder" : fmt::format("{} images", num_files)));
}

}  // namespace

void keep_existing(const comm::Communicator& world, std::vector<DenoiseJob>& jobs) {
    std::string missing;
    run::together(world, [&] { missing = missing_outputs(jobs); });
    missing = world.broadcast(missing);
    std::vector<DenoiseJob> rest;
    for (size_t i = 0; i < jobs.size(); ++i) {
        if (missing.at(i) == '1')
            rest.push_back(jobs[i]);
        else if (world.is_root())
            fmt::print("{}: not denoised: {} is there (--no-clobber)\n", jobs[i].input.string(),
                       jobs[i].output.string());
    }
    jobs = std::move(rest);
}

std::vector<DenoiseJob> list_jobs(const std::vector<std::string>& inputs, const fs::path& output,
                                  const std::string& weights) {
    const auto files = expand(inputs);
    const bool into_folder = goes_into_folder(inputs, files.size(), output);
    std::vector<DenoiseJob> jobs;
    std::set<fs::path> outputs;
    std::vector<fs::path> untouchable = files;
    untouchable.emplace_back(weights);
    for (const auto& file : files) {
        jobs.push_back({file, output_for(file, output, into_folder)});
        check(jobs.back(), untouchable, outputs);
    }
    if (into_folder) make_folder(output);
    return jobs;
}

}  // namespace pb::app
