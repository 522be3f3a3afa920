// A halo for images that are too small to search their own: it depends on the network, its weights and the noise level,
// never on the image.
#pragma once

#include "base/user_cache.hpp"
#include "run/verify/reference_path.hpp"

#include <functional>
#include <map>
#include <string>

namespace pb::run {

/// Makes the serial path over a source for a point; the source must outlive it.
using MakeReference = std::function<std::unique_ptr<ReferencePath>(const plan::Point&, ImageSource&)>;

/// Finds halos on one synthetic scene of 384 x 384 pixels with noise. On four photographs at four noise levels the halo
/// found there was within one step (8 px of DRUNet, 1 px of DnCNN) of that found on the photograph, or larger. Answers
/// are kept for later points, and in `cache` for later runs.
class TypicalHalos {
  public:
    explicit TypicalHalos(const std::filesystem::path& cache) : cache_(cache.empty() ? cache : cache / "halos") {}

    /// Returns a multiple of the alignment. The noise level of the point is rounded up to a power of 0.8, so that
    /// images with nearly the same level share an answer. Not collective.
    [[nodiscard]] int64_t find(const plan::Point& point, const engine::Weights& weights,
                               const MakeReference& make_reference);

  private:
    UserCache cache_;
    std::map<std::string, int64_t> known_;
};

}  // namespace pb::run
