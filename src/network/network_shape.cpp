#include "patchbench/network/network_shape.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace pb::network {

namespace {

Graph build(const DrunetShape& shape) { return drunet(shape); }
Graph build(const UnetShape& shape) { return unet(shape); }
Graph build(const DncnnShape& shape) { return dncnn(shape); }

template <NetworkKind kind, class Shape>
constexpr bool kIsAt = std::is_same_v<std::variant_alternative_t<static_cast<size_t>(kind), NetworkShape>, Shape>;
static_assert(kIsAt<NetworkKind::drunet, DrunetShape> && kIsAt<NetworkKind::unet, UnetShape> &&
              kIsAt<NetworkKind::dncnn, DncnnShape>);

std::string text_of(const DrunetShape& shape) {
    return fmt::format("widths {}, {} blocks", fmt::join(shape.widths, "-"), shape.blocks);
}

std::string text_of(const UnetShape& shape) { return fmt::format("widths {}", fmt::join(shape.widths, "-")); }

std::string text_of(const DncnnShape& shape) {
    return fmt::format("depth {}, width {}, residual {}", shape.depth, shape.width, name_of(shape.residual));
}

/// Reads a text of `text_of` from left to right.
class ShapeText {
  public:
    explicit ShapeText(const std::string& text) : text_(text), rest_(text_) {}

    void expect(std::string_view word) {
        if (!rest_.starts_with(word)) refuse();
        rest_.remove_prefix(word.size());
    }

    int64_t number() {
        constexpr int64_t kMost = 4096;  // channels, convolutions or blocks
        int64_t value = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc{} || value < 1 || value > kMost) refuse();
        rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
        return value;
    }

    std::vector<int64_t> widths() {
        expect("widths ");
        std::vector<int64_t> widths{number()};
        while (rest_.starts_with('-')) {
            expect("-");
            widths.push_back(number());
        }
        return widths;
    }

    std::string take_rest() { return std::string(std::exchange(rest_, {})); }

    void end() const {
        if (!rest_.empty()) refuse();
    }

  private:
    [[noreturn]] void refuse() const { throw UsageError(fmt::format("'{}' is no shape of a network", text_)); }

    std::string text_;
    std::string_view rest_;
};

}  // namespace

NetworkKind kind_of(const NetworkShape& shape) { return static_cast<NetworkKind>(shape.index()); }

int64_t channels_of(const NetworkShape& shape) {
    return std::visit([](const auto& each) { return each.channels; }, shape);
}

NetworkShape standard_shape(NetworkKind kind, int64_t image_channels) {
    const int64_t channels = image_channels == 1 ? 1 : 3;
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

std::string to_text(const NetworkShape& shape) {
    return std::visit([](const auto& each) { return text_of(each); }, shape);
}

NetworkShape parse_network_shape(NetworkKind kind, int64_t channels, const std::string& text) {
    NetworkShape shape = standard_shape(kind, channels);
    ShapeText reader(text);
    if (auto* const drunet = std::get_if<DrunetShape>(&shape)) {
        drunet->widths = reader.widths();
        reader.expect(", ");
        drunet->blocks = reader.number();
        reader.expect(" blocks");
    } else if (auto* const unet = std::get_if<UnetShape>(&shape)) {
        unet->widths = reader.widths();
    } else if (auto* const dncnn = std::get_if<DncnnShape>(&shape)) {
        reader.expect("depth ");
        dncnn->depth = reader.number();
        reader.expect(", width ");
        dncnn->width = reader.number();
        reader.expect(", residual ");
        dncnn->residual = parse_enum<DncnnResidual>(reader.take_rest());
    }
    reader.end();
    return shape;
}

}  // namespace pb::network
