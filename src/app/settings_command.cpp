// patchbench settings: lists every setting of a study, from the tables in config/settings.hpp.
#include "app/options.hpp"
#include "app/terminal.hpp"
#include "config/settings_access.hpp"
#include "record/json.hpp"
#include "report/tables/text_table.hpp"

#include "patchbench/base/error.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pb::app {

namespace {

using Settings = std::vector<config::SettingHelp>;

struct SettingsArguments {
    std::vector<std::string> words;  // of keys; none: all settings
    bool markdown = false;
    bool json = false;
};

report::TextTable table_of(const Settings& settings) {
    using enum report::TextTable::Align;
    report::TextTable table;
    table.add_columns({"key", "default", "unit"}, left);
    table.add_column("meaning (values; range)", prose);
    for (const auto& setting : settings) {
        const std::string range = setting.range.empty() ? "" : "; " + setting.range;
        table.add_row({setting.key, setting.value.empty() ? "(empty)" : setting.value, setting.unit,
                       fmt::format("{} ({}{})", setting.meaning, setting.shape, range)});
    }
    return table;
}

record::Json json_of(const config::SettingHelp& setting) {
    return {{"key", setting.key},        {"group", name_of(setting.group)}, {"default", setting.value},
            {"unit", setting.unit},      {"values", setting.shape},         {"range", setting.range},
            {"meaning", setting.meaning}};
}

/// The settings whose keys contain one of the words. Throws UsageError when there are none.
Settings chosen_settings(const std::vector<std::string>& words) {
    Settings all = config::all_settings();
    if (words.empty()) return all;
    std::erase_if(all, [&](const config::SettingHelp& setting) {
        return std::ranges::none_of(
            words, [&](const std::string& word) { return setting.key.find(word) != std::string::npos; });
    });
    if (all.empty())
        throw UsageError(fmt::format("no setting has '{}' in its name; without a word all are listed", words.front()));
    return all;
}

void print_tables(const Settings& all, bool markdown) {
    using enum config::SettingGroup;
    bool is_first = true;
    for (const auto group : {work, protocol, study}) {
        Settings members;
        std::ranges::copy_if(all, std::back_inserter(members), [&](const auto& each) { return each.group == group; });
        if (members.empty()) continue;
        const report::TextTable table = table_of(members);
        fmt::print("{}{}{}{}\n\n{}", std::exchange(is_first, false) ? "" : "\n", markdown ? "## " : "",
                   config::title_of(group), group == study ? "" : "; a list of values is an axis",
                   markdown ? table.markdown() : table.text(prose_width(stdout)));
    }
}

}  // namespace

void add_settings_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<SettingsArguments>();
    CLI::App* command = app.add_subcommand("settings", "every setting of a study: default, unit, values, meaning");
    auto* markdown = command->add_flag("--markdown", arguments->markdown, "print Markdown");
    command->add_flag("--json", arguments->json, "print a JSON list")->excludes(markdown);
    command->add_option("words", arguments->words, "only settings with one of these words in their names, as halo");
    set_action(*command, chosen, [arguments](const Arguments&) {
        const Settings settings = chosen_settings(arguments->words);
        if (arguments->json)
            fmt::print("{}\n", record::array_of(settings, json_of).dump(1));
        else
            print_tables(settings, arguments->markdown);
        return ExitCode::ok;
    });
}

}  // namespace pb::app
