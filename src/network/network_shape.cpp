#include "patchbench/network/network_shape.hpp"

#include "patchbench/base/error.hpp"

namespace pb {

namespace {

Graph build(const DrunetShape& shape) { return drunet(shape); }
Graph build(const UnetShape& shape) { return unet(shape); }
Graph build(const DncnnShape& shape) { return dncnn(shape); }

template <NetworkKind kind, class Shape>
constexpr bool kIsAt = std::is_same_v<std::variant_alternative_t<static_cast<size_t>(kind), NetworkShape>, Shape>;
static_assert(kIsAt<NetworkKind::drunet, DrunetShape> && kIsAt<NetworkKind::unet, UnetShape> &&
              kIsAt<NetworkKind::dncnn, DncnnShape>);

}  // namespace

NetworkKind kind_of(const NetworkShape& shape) { return static_cast<NetworkKind>(shape.index()); }

int64_t channels_of(const NetworkShape& shape) {
    return std::visit([](const auto& each) { return each.channels; }, shape);
}

NetworkShape standard_shape(NetworkKind kind, int64_t channels) {
    switch (kind) {
        case NetworkKind::drunet:
            return DrunetShape{.channels = channels};
        case NetworkKind::unet:
            return UnetShape{.channels = channels};
        case NetworkKind::dncnn:
            return DncnnShape{.channels = channels};
    }
    throw Error("network: an unknown network");
}

Graph graph_of(const NetworkShape& shape) {
    return std::visit([](const auto& each) { return build(each); }, shape);
}

}  // namespace pb
