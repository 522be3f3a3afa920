// patchbench networks: what is known of each network, and where its weights are.
#include "app/commands.hpp"

#include "patchbench/config/load_yaml.hpp"
#include "patchbench/network/network_facts.hpp"
#include "patchbench/run/weights_source.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>

namespace pb {

namespace {

void print_facts() {
    fmt::print("{:<8}{:>12}{:>12}{:>11}{:>8}{:>12}{:>7}{:>12}\n", "network", "parameters", "MAC/pixel", "alignment",
               "radius", "exact halo", "sigma", "bytes/pixel");
    for (const auto& [kind, name] : EnumNames<NetworkKind>::names) {
        const NetworkFacts& facts = network_facts(kind);
        fmt::print("{:<8}{:>12}{:>12}{:>11}{:>8}{:>12}{:>7}{:>12}\n", name, facts.parameters, facts.mac_per_pixel,
                   facts.alignment, facts.receptive_radius, facts.exact_halo, facts.takes_sigma ? "yes" : "no",
                   network_peaks(standard_shape(kind, 3), kOnednnPath).front().bytes_per_pixel);
    }
    fmt::print("colour variants; radius and halo in pixels; bytes/pixel: peak of fp32 activations; FLOP = 2 MAC\n");
}

void print_weights() {
    const auto folder = models_folder();
    fmt::print("\nweights (models folder {})\n", folder.string());
    for (const auto& [kind, name] : EnumNames<NetworkKind>::names)
        for (const auto& entry : load_model_card(folder / (std::string(name) + ".yaml"))) {
            const bool here = !entry.file.empty() && std::filesystem::exists(folder / entry.file);
            fmt::print("  {:<8}{:<44}{:<8}{:<16}{}\n", name, entry.name, entry.channels == 1 ? "gray" : "colour",
                       entry.sigma_train > 0 ? fmt::format("sigma {:.4g}", entry.sigma_train) : "any sigma",
                       here                ? "here"
                       : entry.url.empty() ? "not here"
                                           : "not here: " + entry.url);
        }
    fmt::print("models/get_weights.sh fetches the official files\n");
}

}  // namespace

void add_networks_command(CLI::App& app, Action& chosen) {
    CLI::App* command = app.add_subcommand("networks", "parameters, costs, alignment, receptive radius, weights");
    command->callback([&chosen] {
        chosen = [](const Arguments&) {
            print_facts();
            print_weights();
            return ExitCode::ok;
        };
    });
}

}  // namespace pb
