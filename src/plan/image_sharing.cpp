#include "plan/image_sharing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace pb::plan {

namespace {

constexpr int64_t kLargest = int64_t{64} << 20;  // a rank of its own would need the memory for it
constexpr int64_t kSetUp = int64_t{1} << 20;     // what every image costs besides its pixels, in bytes of a file
constexpr double kMostOfEvenShare = 1.25;

}  // namespace

ImageSharing share_images(const std::vector<int64_t>& bytes, int num_ranks) {
    std::vector<size_t> order(bytes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (num_ranks == 1) return {{}, order};
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return bytes[a] > bytes[b]; });
    double rest = 0;
    for (const int64_t size : bytes) rest += static_cast<double>(size + kSetUp);
    size_t num_together = 0;
    for (const size_t image : order) {
        const auto work = static_cast<double>(bytes[image] + kSetUp);
        if (bytes[image] <= kLargest && work * num_ranks <= kMostOfEvenShare * rest) break;
        rest -= work;
        ++num_together;
    }
    const auto first_apart = order.begin() + static_cast<std::ptrdiff_t>(num_together);
    std::sort(order.begin(), first_apart);
    return {{order.begin(), first_apart}, {first_apart, order.end()}};
}

ImageOrder::ImageOrder(const ImageSharing& sharing, const std::vector<int64_t>& bytes) : bytes_before_{0} {
    for (const auto* images : {&sharing.together, &sharing.apart})
        for (const size_t image : *images)
            bytes_before_.push_back(bytes_before_.back() + static_cast<double>(bytes[image]));
}

ImagePlace ImageOrder::place(int64_t number, int num_ranks) const {
    const auto at = static_cast<size_t>(number);
    const double before = bytes_before_[at - 1], bytes = bytes_before_[at] - before;
    // Each other rank is, on average, in the middle of an image of nearly the same size.
    const double begun = 0.5 * bytes * (num_ranks - 1);
    return {number, std::ssize(bytes_before_) - 1, std::max(0.0, before - begun), bytes, bytes_before_.back()};
}

std::string sharing_line(const ImageSharing& sharing, int num_ranks) {
    const size_t together = sharing.together.size(), apart = sharing.apart.size();
    if (num_ranks == 1 || together + apart < 2) return {};
    const std::string head = fmt::format("{} images on {} ranks: ", together + apart, num_ranks);
    if (apart == 0) return head + "all ranks work on each";
    if (together == 0) return head + "one rank works on each, the next image goes to the rank that is free first";
    return head +
           fmt::format("all ranks work on each of the {} large ones, then one rank on each of the others", together);
}

}  // namespace pb::plan
