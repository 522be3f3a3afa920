#include "app/study/output_names.hpp"

#include "base/user_paths.hpp"
#include "image/image_file.hpp"
#include "run/pixels/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace pb::app {

namespace fs = std::filesystem;

namespace {

std::string output_extension(const config::PointSettings& settings) {
    if (settings.image.path.empty()) return settings.output == config::OutputKind::file ? ".tif" : ".png";
    if (!settings.image.raw.empty()) return ".raw";
    return fs::path(settings.image.path).extension().string();
}

/// The files that a point writes.
std::vector<fs::path> files_in(const run::PointFiles& files) {
    std::vector<fs::path> outputs = run::preview_files(files);
    if (!files.image.empty()) outputs.push_back(files.image);
    return outputs;
}

run::PointFiles files_named(const std::string& name, const plan::Point& point, const StudyOutput& output) {
    run::PointFiles files{.folder = output.folder, .preview = "previews/" + name};
    if (!output.save_images) return files;
    const std::string extension = output_extension(point.settings);
    files.image = output.folder / (name + (image::is_lossy(name + extension) ? ".png" : extension));
    return files;
}

bool would_replace_kept(const run::PointFiles& files, const StudyOutput& output) {
    return std::ranges::any_of(files_in(files), [&](const fs::path& file) {
        return std::ranges::find(output.kept_files, file.filename().string()) != output.kept_files.end();
    });
}

}  // namespace

run::OutputNames output_names(const StudyOutput& output) {
    return [output](const plan::Point& point) {
        const std::string name = fmt::format("{:03}-", point.index) + plan::label_of(point);
        run::PointFiles files = files_named(name, point, output);
        for (int i = 2; would_replace_kept(files, output); ++i)
            files = files_named(fmt::format("{}-{}", name, i), point, output);
        return files;
    };
}

void require_no_input_is_replaced(const plan::Plan& plan, const run::OutputNames& names,
                                  const std::set<fs::path>& inputs) {
    for (const plan::Point& point : plan.points) {
        std::vector<fs::path> outputs = files_in(names(point));
        std::error_code ignored;
        std::erase_if(outputs, [&](const fs::path& output) { return !fs::exists(output, ignored); });
        for (const fs::path& output : outputs)
            for (const fs::path& input : inputs) require_not_input(output, input);
    }
}

}  // namespace pb::app
