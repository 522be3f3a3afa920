#include "plan/output_choice.hpp"

#include "patchbench/base/error.hpp"

namespace pb::plan {

std::string input_obstacle(const Point& point) {
    if (point.settings.workload != config::Workload::tiles) return "needs workload: tiles";
    if (point.source.windowed) return "";
    return point.settings.image.path + " is decoded as a whole; convert it to TIFF (tiles, or short strips) or .npy";
}

void check_output(const Point& point, const config::StudySettings& study) {
    const config::PointSettings& settings = point.settings;
    if (settings.output == config::OutputKind::automatic || settings.output == config::OutputKind::memory) return;
    const std::string output = "output = " + std::string(name_of(settings.output)) + ": ";
    const bool timed = settings.engine == EngineKind::timed;
    if (const std::string why = input_obstacle(point); !why.empty()) throw UsageError(output + why);
    if (settings.output == config::OutputKind::file && !study.save_images)
        throw UsageError(output + "there is no file to write; set save_images: on");
    if (settings.output == config::OutputKind::checksum && !timed &&
        settings.protocol.verify == config::VerifyMode::full)
        throw UsageError(output +
                         "keeps no pixels, so not every window can be run again; choose output: file, or verify.mode: "
                         "probes");
}

bool is_beyond_memory(double image_bytes, int64_t free_bytes) {
    constexpr double kLargestShare = 0.5;
    return 2 * image_bytes > kLargestShare * static_cast<double>(free_bytes);
}

OutputChoice choose_output(const std::string& obstacle) {
    const std::string larger = "the image takes more than half of a host's free memory: ";
    if (!obstacle.empty())
        return {config::OutputKind::memory, larger + "it is held all the same (output: memory), because " + obstacle};
    return {config::OutputKind::file, larger + "the output is written by all ranks (output: file)"};
}

}  // namespace pb::plan
