#include "patchbench/base/network_facts.hpp"

#include <array>

namespace pb {

namespace {

constexpr int64_t kKernel64 = int64_t{64} * 64 * 9 * 4;     // bytes of a 3x3 convolution of 64 channels
constexpr int64_t kKernel512 = int64_t{512} * 512 * 9 * 4;  // and of 512

constexpr std::array<NetworkFacts, 3> kFacts{{
    {.kind = NetworkKind::drunet,
     .alignment = 8,
     .receptive_radius = 185,
     .exact_halo = 192,
     .takes_sigma = true,
     .parameters_colour = 32'640'960,
     .parameters_gray = 32'638'656,
     .mac_per_pixel_colour = 2'117'568,
     .mac_per_pixel_gray = 2'115'264,
     .values_moved_colour = 5231,
     .values_moved_gray = 5227,
     .num_convolutions = 64,
     .widest = {768, kKernel64},
     .deepest = {544, kKernel512},
     .widest_sum_bytes_per_pixel = 256,
     .deepest_sum_bytes_per_pixel = 32,
     .widest_map = 64},
    {.kind = NetworkKind::unet,
     .alignment = 8,
     .receptive_radius = 58,
     .exact_halo = 56,
     .takes_sigma = false,
     .parameters_colour = 8'564'163,
     .parameters_gray = 8'562'881,
     .mac_per_pixel_colour = 757'632,
     .mac_per_pixel_gray = 756'352,
     .values_moved_colour = 1357,
     .values_moved_gray = 1351,
     .num_convolutions = 18,
     .widest = {1024, kKernel64},
     .deepest = {512, kKernel512},
     .widest_sum_bytes_per_pixel = 0,
     .deepest_sum_bytes_per_pixel = 0,
     .widest_map = 128},
    {.kind = NetworkKind::dncnn,
     .alignment = 1,
     .receptive_radius = 20,
     .exact_halo = 20,
     .takes_sigma = false,
     .parameters_colour = 668'227,
     .parameters_gray = 665'921,
     .mac_per_pixel_colour = 667'008,
     .mac_per_pixel_gray = 664'704,
     .values_moved_colour = 2441,
     .values_moved_gray = 2435,
     .num_convolutions = 20,
     .widest = {512, kKernel64},
     .deepest = {512, kKernel64},
     .widest_sum_bytes_per_pixel = 0,
     .deepest_sum_bytes_per_pixel = 0,
     .widest_map = 64},
}};

}  // namespace

const NetworkFacts& network_facts(NetworkKind kind) { return kFacts.at(static_cast<size_t>(kind)); }

int64_t mac_per_pixel(NetworkKind kind, int64_t channels) {
    const auto& facts = network_facts(kind);
    return channels == 1 ? facts.mac_per_pixel_gray : facts.mac_per_pixel_colour;
}

int64_t values_moved_per_pixel(NetworkKind kind, int64_t channels) {
    const auto& facts = network_facts(kind);
    return channels == 1 ? facts.values_moved_gray : facts.values_moved_colour;
}

}  // namespace pb
