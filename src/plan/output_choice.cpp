#include "plan/output_choice.hpp"

namespace pb {

bool is_beyond_memory(double image_bytes, int64_t free_bytes) {
    constexpr double kLargestShare = 0.5;
    return 2 * image_bytes > kLargestShare * static_cast<double>(free_bytes);
}

OutputChoice choose_output(const std::string& obstacle) {
    const std::string larger = "the image takes more than half of a host's free memory: ";
    if (!obstacle.empty())
        return {OutputKind::memory, larger + "it is held all the same (output: memory), because " + obstacle};
    return {OutputKind::file, larger + "the output is written by all ranks (output: file)"};
}

}  // namespace pb
