#include "app/denoise/inputs.hpp"

#include "base/user_paths.hpp"
#include "engine/network_file.hpp"
#include "image/image_file.hpp"
#include "run/agreement.hpp"
#include "run/from_root.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace pb::app {

namespace fs = std::filesystem;

template <class V, record::Like<DenoiseJob> J>
void fields(V& v, J& job) {
    v("input", job.input);
    v("output", job.output);
    v("clean", job.clean);
    v("bytes", job.bytes);
    v("is_done", job.is_done);
    v("has_folder", job.has_folder);
}

template <class V, record::Like<DenoiseJobs> J>
void fields(V& v, J& all) {
    v("jobs", all.jobs);
    v("num_passed_over", all.num_passed_over);
    v("into_folder", all.into_folder);
}

namespace {

bool is_hidden(const fs::path& file) { return file.filename().string().starts_with('.'); }

/// An image, and the name of its output in an output folder.
struct FoundImage {
    fs::path file;
    fs::path name;
};

struct Found {
    std::vector<FoundImage> images;
    int64_t num_passed_over = 0;
};

/// A link whose target is not there counts as an image: it fails when it is read, which says so.
void add_if_image(const fs::directory_entry& entry, const fs::path& folder, Found& found) {
    std::error_code broken_link;
    if (is_hidden(entry.path()) || entry.is_directory(broken_link)) return;
    const bool can_be_one = entry.is_regular_file(broken_link) || !entry.exists(broken_link);
    if (image::is_image_name(entry.path()) && can_be_one)
        found.images.push_back({entry.path(), entry.path().lexically_relative(folder)});
    else
        ++found.num_passed_over;
}

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
    std::vector<fs::directory_entry> entries;
    std::error_code failure;
    for (fs::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure))
        entries.push_back(*it);
    if (failure)
        throw UsageError("cannot list the folder '" + folder.string() + "': " + failure.message() +
                         "; name the folders that you can read, or patterns");
    return entries;
}

/// `part`: the folder `whole`, or one in it.
void add_recursively(const fs::path& whole, const fs::path& part, const fs::path& output, Found& found) {
    std::error_code not_there;
    for (const fs::directory_entry& entry : entries_of(part)) {
        const bool is_left_out =
            is_hidden(entry.path()) || entry.is_symlink(not_there) || fs::equivalent(entry.path(), output, not_there);
        if (!is_left_out && entry.is_directory(not_there)) add_recursively(whole, entry.path(), output, found);
        add_if_image(entry, whole, found);
    }
}

Found images_in(const fs::path& folder, const DenoisePaths& paths) {
    Found found;
    if (paths.recursive)
        add_recursively(folder, folder, paths.output, found);
    else
        for (const auto& entry : entries_of(folder)) add_if_image(entry, folder, found);
    std::ranges::sort(found.images, {}, &FoundImage::file);
    if (found.images.empty())
        throw UsageError("no images (.png .jpg .webp .bmp .tif .npy) in the folder '" + folder.string() + "'" +
                         (paths.recursive ? "" : "; --recursive also looks into the folders in it"));
    return found;
}

std::vector<fs::path> matches_of(const std::string& pattern) {
    glob_t found{};
    const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
    const std::unique_ptr<glob_t, void (*)(glob_t*)> owner(&found, ::globfree);
    if (status != 0) throw UsageError("'" + pattern + "': no such file, folder or pattern");
    return {found.gl_pathv, found.gl_pathv + found.gl_pathc};
}

Found expand(const DenoisePaths& paths) {
    Found all;
    for (const auto& input : paths.inputs) {
        if (fs::is_directory(input)) {
            Found found = images_in(input, paths);
            std::move(found.images.begin(), found.images.end(), std::back_inserter(all.images));
            all.num_passed_over += found.num_passed_over;
            continue;
        }
        const auto files = fs::exists(input) ? std::vector<fs::path>{input} : matches_of(input);
        for (const fs::path& file : files) all.images.push_back({file, file.filename()});
    }
    return all;
}

fs::path output_for(const FoundImage& image, const DenoisePaths& paths, bool into_folder) {
    if (!into_folder) return paths.output;
    fs::path output = paths.output / image.name;
    if (paths.format != OutputFormat::same) output.replace_extension(name_of(paths.format));
    return output;
}

/// The image without noise that belongs to `image`.
fs::path clean_for(const FoundImage& image, const DenoisePaths& paths, bool is_one) {
    if (paths.clean.empty()) return {};
    if (!fs::is_directory(paths.clean)) {
        if (is_one) return paths.clean;
        throw UsageError(fmt::format(
            "--clean {}: is one image, but there are several inputs: name a folder with a file of each name",
            paths.clean.string()));
    }
    fs::path clean = paths.clean / image.name;
    if (fs::exists(clean)) return clean;
    throw UsageError(
        fmt::format("--clean {}: there is no {} for {}", paths.clean.string(), clean.string(), image.file.string()));
}

void require_not_itself(const DenoiseJob& job) {
    std::error_code not_there;
    if (!job.clean.empty() && fs::equivalent(job.input, job.clean, not_there))
        throw UsageError(fmt::format(
            "--clean {}: is the image itself; where noise is added (--add-noise), it is compared with the image anyway",
            job.clean.string()));
}

/// Finds outputs that are inputs, clean images or the weights, and outputs of several inputs.
class OutputCheck {
  public:
    OutputCheck(const Found& found, const std::string& weights) {
        for (const FoundImage& image : found.images) keep(image.file);
        for (const fs::path& file : engine::files_of_network(weights)) keep(file);
    }
    void keep(const fs::path& file) {
        if (const auto id = id_of(file)) untouchable_.emplace(*id, file);
    }
    /// Throws UsageError.
    void check(const DenoiseJob& job) {
        if (const auto id = id_of(job.output); id && untouchable_.contains(*id))
            require_not_input(job.output, untouchable_.at(*id));
        const auto [other, is_new] = outputs_.emplace(job.output, job.input);
        if (is_new) return;
        if (const auto id = id_of(job.input); id && id == id_of(other->second))
            throw UsageError(fmt::format("'{}' is an input twice, also as '{}': name it once", job.input.string(),
                                         other->second.string()));
        throw UsageError(fmt::format(
            "'{}' and '{}' would both be written to '{}': rename one, or denoise them into different folders",
            other->second.string(), job.input.string(), job.output.string()));
    }

  private:
    using FileId = std::pair<dev_t, ino_t>;

    static std::optional<FileId> id_of(const fs::path& file) {
        struct stat status {};
        if (::stat(file.c_str(), &status) != 0) return std::nullopt;
        return FileId{status.st_dev, status.st_ino};
    }

    std::map<FileId, fs::path> untouchable_;
    std::map<fs::path, fs::path> outputs_;  // with their inputs
};

/// What all ranks must take from one of them, as files may change meanwhile.
void examine(DenoiseJob& job, bool into_folder) {
    std::error_code unknown;
    const auto bytes = fs::file_size(job.input, unknown);
    job.bytes = unknown ? 0 : static_cast<int64_t>(bytes);
    job.is_done = fs::exists(job.output, unknown);
    job.has_folder = !into_folder || fs::exists(job.output.parent_path(), unknown);
}

/// Decides as cp does: a name that is no folder and does not end in '/' means one file.
bool goes_into_folder(const std::vector<std::string>& inputs, size_t num_files, const fs::path& output) {
    const bool says_folder = !output.has_filename();
    if (fs::is_directory(output) || says_folder) return true;
    const bool one_folder = inputs.size() == 1 && fs::is_directory(inputs.front());
    if (num_files == 1 && !one_folder) return false;
    if (fs::exists(output))
        throw UsageError("'" + output.string() + "' is a file, but there are several inputs: name a folder");
    if (one_folder && !image::is_image_name(output)) return true;
    throw UsageError(fmt::format(
        "'{}' is no folder, and one file cannot be the output of {}: name a folder that is there, or end its name "
        "in '/' and it is made",
        output.string(), one_folder ? "a folder" : fmt::format("{} images", num_files)));
}

/// Throws UsageError when the name of the only output says another format than the user.
void require_format(const DenoisePaths& paths) {
    if (paths.format == OutputFormat::same) return;
    fs::path named = paths.output;
    if (named.replace_extension(name_of(paths.format)) == paths.output) return;
    throw UsageError(fmt::format(
        "--format {}: is for outputs in a folder, but '{}' is one file: end its name in '/', or leave --format out",
        name_of(paths.format), paths.output.string()));
}

}  // namespace

std::string remove_done(std::vector<DenoiseJob>& jobs) {
    std::string lines;
    for (const DenoiseJob& job : jobs)
        if (job.is_done)
            lines += fmt::format("{}: not denoised: {} is there (--no-clobber)\n", without_controls(job.input),
                                 without_controls(job.output));
    std::erase_if(jobs, [](const DenoiseJob& job) { return job.is_done; });
    return lines;
}

DenoiseJobs list_jobs(const DenoisePaths& paths) {
    const Found found = expand(paths);
    DenoiseJobs all{.num_passed_over = found.num_passed_over};
    all.into_folder = goes_into_folder(paths.inputs, found.images.size(), paths.output);
    if (!all.into_folder) require_format(paths);
    OutputCheck outputs(found, paths.weights);
    const bool is_one = found.images.size() == 1;
    for (const FoundImage& image : found.images) {
        all.jobs.push_back({image.file, output_for(image, paths, all.into_folder), clean_for(image, paths, is_one)});
        require_not_itself(all.jobs.back());
        outputs.keep(all.jobs.back().clean);
    }
    for (const DenoiseJob& job : all.jobs) outputs.check(job);
    return all;
}

DenoiseJobs list_jobs(const comm::Communicator& world, const DenoisePaths& paths) {
    DenoiseJobs all;
    run::together(world, [&] {
        if (!world.is_root()) return;
        all = list_jobs(paths);
        for (DenoiseJob& job : all.jobs) examine(job, all.into_folder);
    });
    return run::from_root(world, all);
}

void require_can_make_folder(const fs::path& folder) {
    std::error_code unknown;
    fs::path there = fs::absolute(folder, unknown);
    while (!fs::exists(there, unknown) && there.has_relative_path()) there = there.parent_path();
    if (fs::is_directory(there, unknown) && ::access(there.c_str(), W_OK) == 0) return;
    throw UsageError(fmt::format("cannot make the folder {}: '{}' is no folder, or none that may be written in",
                                 folder.string(), there.string()));
}

void make_folders(const comm::Communicator& world, const DenoiseJobs& all) {
    std::set<fs::path> folders;
    run::together(world, [&] {
        for (const DenoiseJob& job : all.jobs)
            if (all.into_folder && folders.insert(job.output.parent_path()).second)
                make_folder(job.output.parent_path());
    });
}

}  // namespace pb::app
