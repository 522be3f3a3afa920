// patchbench networks: describes each network and finds its weights, or exports one network for other programs.
#include "app/commands.hpp"
#include "app/custom_networks.hpp"
#include "app/options.hpp"
#include "app/terminal.hpp"
#include "base/network_format.hpp"
#include "base/text.hpp"
#include "base/user_paths.hpp"
#include "engine/network_file.hpp"
#include "engine/onnx/onnx_network.hpp"
#include "run/weights_source.hpp"

#include "patchbench/network/network_facts.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <utility>

namespace pb::app {

namespace {

void print_facts() {
    fmt::print("{:<8}{:>11}{:>11}{:>11}{:>8}{:>12}{:>7}{:>12}\n", "network", "parameters", "MAC/pixel", "alignment",
               "radius", "exact halo", "sigma", "bytes/pixel");
    for (const auto& [kind, name] : enum_table<network::NetworkKind>()) {
        const network::NetworkFacts& facts = network::network_facts(kind);
        const network::Graph graph = network::graph_of(network::standard_shape(kind, 3));
        fmt::print("{:<8}{:>11}{:>11}{:>11}{:>8}{:>12}{:>7}{:>12}\n", name, facts.parameters, facts.mac_per_pixel,
                   facts.alignment, facts.receptive_radius, facts.exact_halo, facts.takes_sigma ? "yes" : "no",
                   network::peak_sizes(network::plan_memory(graph, network::kOnednnPath)).front().bytes_per_pixel);
    }
    print_text(stdout,
               "colour variants; radius and halo in pixels; bytes/pixel: peak of fp32 activations; FLOP = 2 MAC\n"
               "exact halo: what patches that begin at multiples of the alignment need, itself a multiple of it\n");
}

void print_weights() {
    const auto folder = run::models_folder();
    fmt::print("\nweights (models folder {})\n", folder.string());
    for (const auto& [kind, name] : enum_table<network::NetworkKind>())
        for (const auto& entry : run::read_model_card(kind)) {
            const bool here = !entry.file.empty() && std::filesystem::exists(folder / entry.file);
            print_text(stdout, "  {:<8}{:<24}{:<8}{:<16}{}\n", name, entry.name,
                       entry.channels == 1 ? "gray" : "colour",
                       entry.sigma_train > 0  ? fmt::format("sigma {:.4g}", entry.sigma_train)
                       : entry.sigma_most > 0 ? fmt::format("sigma to {:.3g}", entry.sigma_most)
                                              : "a range",
                       here                ? "here"
                       : entry.url.empty() ? "not here"
                                           : "not here: " + entry.url);
        }
    fmt::print("models/get_weights.sh fetches the official files\n");
}

struct ExportArguments {
    std::string file;
    std::string looked_at;  // a network that the user brings
    bool save = false;
    bool trusts_model = false;
    bool names_network = false;  // otherwise a weights file decides
    config::PointSettings settings;
};

void print_card(const ExportArguments& arguments) {
    const std::string& file = arguments.looked_at;
    const LookedAt looked = look_at_network(file, {arguments.settings.engine, !arguments.save, arguments.trusts_model});
    if (looked.known) {
        const engine::Weights weights = run::find_weights({.network = *looked.known, .weights = file}, std::nullopt);
        print_text(stdout, "{}: {}: --network {} --weights {} runs it in every engine\n", file, looked.origin,
                   name_of(*looked.known), file);
        for (const std::string& note : {weights.note, weights.guess})
            if (!note.empty()) print_text(stdout, "  {}\n", note);
        for (const std::string& remark : looked.remarks) print_text(stdout, "  {}\n", remark);
        return;
    }
    print_text(stdout, "{}: {}\n", file, looked.origin);
    for (const auto& [name, value] : network::values_of(looked.card)) print_text(stdout, "  {:<11}{}\n", name, value);
    if (!looked.obstacle.empty()) print_text(stdout, "  not for the engines torch and native: {}\n", looked.obstacle);
    for (const std::string& remark : looked.remarks) print_text(stdout, "  {}\n", remark);
    if (arguments.save) fmt::print("saved in {}\n", save_card(file, looked).string());
}

void export_network(const ExportArguments& arguments) {
    config::PointSettings settings = arguments.settings;
    if (settings.network.is_custom())
        throw UsageError("--network " + settings.network.file +
                         ": is a file already; --export writes those of the list");
    if (network_format(arguments.file) != NetworkFormat::onnx)
        throw UsageError("--export " + arguments.file + ": writes an ONNX model; take a name that ends in .onnx");
    for (const std::filesystem::path& file : engine::files_of_network(settings.weights))
        require_not_input(arguments.file, file);
    if (!arguments.names_network) settings.network = run::network_in(settings.weights).value_or(settings.network);
    const network::NetworkKind network = settings.network;
    const engine::Weights weights = run::find_weights(settings, std::nullopt);
    engine::save_onnx(weights, arguments.file);
    print_text(stdout, "{}: {} for {}, {}, weights {}{}\n", arguments.file, name_of(network),
               counted(weights.channels(), "image channel"), network::to_text(weights.shape), weights.source,
               weights.trained ? "" : " (untrained)");
}

}  // namespace

void add_networks_command(CLI::App& app, Action& chosen) {
    CLI::App* command = app.add_subcommand("networks", "parameters, costs, alignment, receptive radius, weights");
    auto arguments = std::make_shared<ExportArguments>();
    arguments->settings.engine = config::EngineSetting::automatic();
    auto* file = command->add_option("--export", arguments->file, "write a network as an ONNX model into this file")
                     ->check(not_empty());
    for (const auto& [option, key] : {std::pair{"--network", "network"}, {"--weights", "weights"}})
        add_setting(*command, option, key, arguments->settings)->needs(file);
    auto* looked_at = command->add_option("model", arguments->looked_at,
                                          "a file with a network of your own (.onnx, .pt, .pt2, .py): print what "
                                          "tiling must know of it, found by trying; with weights (.pth, .ckpt, "
                                          ".safetensors): which network they are for");
    looked_at->excludes(file);
    command->add_flag("--trust-model", arguments->trusts_model, kTrustHelp)->needs(looked_at);
    command->add_flag("--save", arguments->save, "with a model: try it again and write its card beside it")
        ->needs(looked_at);
    add_setting(*command, "--engine", "engine", arguments->settings,
                "; of a model: the first that is installed of those that take it")
        ->needs(looked_at);
    set_action(*command, chosen, [arguments, command](const Arguments&) {
        arguments->names_network = command->count("--network") > 0;
        if (!arguments->looked_at.empty()) {
            print_card(*arguments);
        } else if (!arguments->file.empty()) {
            export_network(*arguments);
        } else {
            print_facts();
            print_weights();
        }
        return ExitCode::ok;
    });
}

}  // namespace pb::app
