#include "app/tuned_config.hpp"

#include "base/controls.hpp"
#include "config/settings_access.hpp"

#include <fmt/format.h>

namespace pb::app {

namespace {

constexpr const char* kKeys[] = {"network",      "weights",          "trained_sigma", "engine",    "device",
                                 "dtype",        "threads",          "patch",         "halo",      "batch",
                                 "ranks",        "memory_limit_mib", "image.path",    "image.raw", "image.range",
                                 "image.nodata", "image.noise_sigma"};

/// A double-quoted scalar of YAML, in which any byte but a control character may stand as it is.
std::string quoted(const std::string& text) {
    std::string all = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            all += {'\\', c};
        else if (static_cast<unsigned char>(c) < 0x20)
            all += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
            all += c;
    }
    return all + '"';
}

}  // namespace

std::string tuned_config(const config::PointSettings& settings, const std::vector<std::string>& remarks) {
    std::string text;
    for (const std::string& remark : remarks) text += "# " + without_controls(remark, ' ') + "\n";
    for (const char* key : kKeys) {
        const config::SettingHelp help = config::help_by_key(settings, key);
        const std::string value = config::text_by_key(settings, key);
        if (value.empty()) continue;
        text += std::string(key) + ": " + (help.is_text ? quoted(value) : value) + "\n";
    }
    return text;
}

}  // namespace pb::app
