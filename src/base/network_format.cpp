#include "base/network_format.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace pb {

namespace {

struct Ending {
    std::string_view text;
    NetworkFormat format;
};

constexpr std::array kEndings{Ending{".onnx", NetworkFormat::onnx},          Ending{".pt", NetworkFormat::torchscript},
                              Ending{".pt2", NetworkFormat::torch_package},  Ending{".py", NetworkFormat::python},
                              Ending{".pth", NetworkFormat::weights},        Ending{".ckpt", NetworkFormat::weights},
                              Ending{".safetensors", NetworkFormat::weights}};

}  // namespace

std::optional<NetworkFormat> network_format(const std::filesystem::path& file) {
    const std::string ending = lower_case(file.extension().string());
    const auto* const found = std::ranges::find(kEndings, ending, &Ending::text);
    return found == kEndings.end() ? std::nullopt : std::optional(found->format);
}

bool is_code(const std::filesystem::path& file) {
    const auto format = network_format(file);
    return format && *format != NetworkFormat::onnx && *format != NetworkFormat::weights;
}

std::string network_endings_text() {
    std::string networks, weights;
    for (const auto& [ending, format] : kEndings)
        add_item(format == NetworkFormat::weights ? weights : networks, ending);
    return networks + ", or weights of a known one: " + weights;
}

}  // namespace pb
