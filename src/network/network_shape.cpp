#include "patchbench/network/network_shape.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace pb::network {

namespace {

/// Writes the parts of a text one after the other.
class ShapeWriter {
  public:
    void operator()(const auto&... parts) { (write(parts), ...); }

    std::string text;

  private:
    void write(const auto& part) { text += fmt::format("{}", part); }
    void write(const std::vector<int64_t>& widths) { text += fmt::format("{}", fmt::join(widths, "-")); }
    void write(const NamedEnum auto& value) { text += name_of(value); }
};

/// Reads a text of `ShapeWriter` from left to right.
class ShapeReader {
  public:
    explicit ShapeReader(const std::string& text) : text_(text), rest_(text_) {}

    void operator()(auto&&... parts) { (read(parts), ...); }

    void end() const {
        if (!rest_.empty()) refuse();
    }

  private:
    void read(std::string_view word) {
        if (!rest_.starts_with(word)) refuse();
        rest_.remove_prefix(word.size());
    }

    void read(int64_t& value) {
        constexpr int64_t kMost = 4096;  // channels, convolutions or blocks
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc{} || value < 1 || value > kMost) refuse();
        rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    }

    void read(std::vector<int64_t>& widths) {
        widths.clear();
        do {
            if (!widths.empty()) read("-");
            read(widths.emplace_back());
        } while (rest_.starts_with('-'));
    }

    /// Stands last in a text.
    void read(NamedEnum auto& value) {
        value = parse_enum<std::remove_reference_t<decltype(value)>>(std::exchange(rest_, {}));
    }

    [[noreturn]] void refuse() const { throw UsageError(fmt::format("'{}' is no shape of a network", text_)); }

    std::string text_;
    std::string_view rest_;
};

template <class... Shapes>
std::vector<NetworkShape> published(std::type_identity<std::variant<Shapes...>>) {
    return {Shapes{}...};
}

}  // namespace

NetworkKind kind_of(const NetworkShape& shape) { return static_cast<NetworkKind>(shape.index()); }

int64_t channels_of(const NetworkShape& shape) {
    return std::visit([](const auto& each) { return each.channels; }, shape);
}

NetworkShape standard_shape(NetworkKind kind, int64_t image_channels) {
    static const std::vector<NetworkShape> shapes = published(std::type_identity<NetworkShape>{});
    NetworkShape shape = shapes.at(static_cast<size_t>(kind));
    std::visit([&](auto& each) { each.channels = image_channels == 1 ? 1 : 3; }, shape);
    return shape;
}

Graph graph_of(const NetworkShape& shape) {
    return std::visit([](const auto& each) { return each.graph(); }, shape);
}

std::string to_text(const NetworkShape& shape) {
    ShapeWriter writer;
    std::visit([&](const auto& each) { each.text(writer, each); }, shape);
    return writer.text;
}

NetworkShape parse_network_shape(NetworkKind kind, int64_t channels, const std::string& text) {
    NetworkShape shape = standard_shape(kind, channels);
    ShapeReader reader(text);
    std::visit([&](auto& each) { each.text(reader, each); }, shape);
    reader.end();
    return shape;
}

std::vector<NetworkShape> sizes_in(const Graph& graph) {
    std::vector<NetworkShape> sizes = published(std::type_identity<NetworkShape>{});
    for (NetworkShape& size : sizes) std::visit([&](auto& each) { each = each.size_in(graph); }, size);
    return sizes;
}

}  // namespace pb::network
