#include "engine/weights/noise_metadata.hpp"

#include "base/text.hpp"
#include "engine/checkpoint/checkpoint_file.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/network_facts.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>

namespace pb::engine {

namespace {

constexpr const char *kLevel = "sigma_train", *kRange = "sigma_range";
constexpr std::string_view kTo = " to ";

std::optional<double> noise_level(const std::string& text) {
    double sigma = 0;
    const bool is_level = read_number(text, sigma) && sigma >= network::kSmallestSigma && sigma <= 1;
    return is_level ? std::optional(sigma) : std::nullopt;
}

/// Reads `sigma_train`, which must be a level. Without it `sigma` is taken where it is one: other programs store other
/// values under that name.
std::optional<double> trained_sigma(const Metadata& metadata, const std::string& source) {
    const auto ours = metadata.find(kLevel);
    const auto other = metadata.find("sigma");
    const auto level_of_other = other == metadata.end() ? std::nullopt : noise_level(other->second);
    if (ours == metadata.end()) return level_of_other;
    const auto level = noise_level(ours->second);
    if (!level)
        throw UsageError(
            fmt::format("{}, metadata '{}': {} is no noise level in [0,1] units (25 of 255 grey levels are 0.098)",
                        source, kLevel, shown(ours->second)));
    if (level_of_other && *level_of_other != *level)
        throw UsageError(source +
                         ", metadata 'sigma_train' and 'sigma': they say two noise levels; leave the wrong one out");
    return level;
}

std::optional<double> most_sigma(const Metadata& metadata) {
    const auto found = metadata.find(kRange);
    const size_t at = found == metadata.end() ? std::string::npos : found->second.find(kTo);
    if (at == std::string::npos) return std::nullopt;
    double sigma = 0;
    const bool is_number = read_number(std::string_view(found->second).substr(at + kTo.size()), sigma);
    return is_number && sigma > 0 && sigma <= 1 ? std::optional(sigma) : std::nullopt;
}

}  // namespace

void take_training_noise(const Metadata& metadata, Weights& weights) {
    weights.trained_sigma = trained_sigma(metadata, weights.source);
    weights.most_sigma = most_sigma(metadata);
}

Metadata training_noise_of(const Weights& weights) {
    Metadata metadata;
    if (weights.trained_sigma) metadata[kLevel] = fmt::format("{}", *weights.trained_sigma);
    if (weights.most_sigma) metadata[kRange] = fmt::format("0{}{}", kTo, *weights.most_sigma);
    return metadata;
}

}  // namespace pb::engine
