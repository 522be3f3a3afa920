// Decides which of many images are shared out over the ranks, and on which images all ranks work together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pb::plan {

/// Indices of images. Each image is in one of the lists.
struct ImageSharing {
    std::vector<size_t> together;  // all ranks work on each, one image after the other, in the order of the input
    std::vector<size_t> apart;     // one rank works on each: the next one goes to the rank that is free first
};

/// `bytes`: the sizes of the files, known without opening them; they stand for the work. A file above 64 MiB, and one
/// that takes more than 1.25 times the even share of a rank in what is left, is worked on by all ranks. The others are
/// shared out, the largest first, so that ranks finish at nearly the same time. A single rank keeps the order.
[[nodiscard]] ImageSharing share_images(const std::vector<int64_t>& bytes, int num_ranks);

/// An image among all of a launch, in the order in which ranks begin them. The sizes of files stand for the work.
struct ImagePlace {
    int64_t number = 1, count = 1;  // from 1
    double bytes_before = 0;        // of the images that are done by then, about
    double bytes = 0;
    double bytes_in_all = 0;
};

class ImageOrder {
  public:
    ImageOrder(const ImageSharing& sharing, const std::vector<int64_t>& bytes);
    /// `number`: from 1. `num_ranks`: those that work on images of their own at that time; 1: all work on this one.
    [[nodiscard]] ImagePlace place(int64_t number, int num_ranks) const;

  private:
    std::vector<double> bytes_before_;  // of the images before each, and of all
};

/// Returns the decision as a line; empty for a single rank or a single image.
[[nodiscard]] std::string sharing_line(const ImageSharing& sharing, int num_ranks);

}  // namespace pb::plan
