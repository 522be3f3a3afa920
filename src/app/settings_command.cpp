// patchbench settings: lists every setting of a study, from the tables in config/settings.hpp.
#include "app/commands.hpp"
#include "app/standard_streams.hpp"
#include "config/settings_access.hpp"
#include "record/json.hpp"
#include "report/text_table.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

namespace pb::app {

namespace {

using Settings = std::vector<config::SettingHelp>;

struct SettingsArguments {
    bool markdown = false;
    bool json = false;
};

const char* title_of(config::SettingGroup group) {
    switch (group) {
        case config::SettingGroup::work:
            return "What a point does; a list of values is an axis";
        case config::SettingGroup::protocol:
            return "How a point is measured and checked; a list of values is an axis";
        case config::SettingGroup::study:
            return "Of the whole study; one value each";
    }
    return "";
}

report::TextTable table_of(const Settings& settings) {
    using enum report::TextTable::Align;
    report::TextTable table;
    table.add_column("key", left);
    table.add_column("default", left);
    table.add_column("unit", left);
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

void print_json() {
    record::Json all = record::Json::array();
    for (const auto& setting : config::all_settings()) all.push_back(json_of(setting));
    fmt::print("{}\n", all.dump(1));
}

void print_tables(bool markdown) {
    const Settings all = config::all_settings();
    for (const auto& [group, name] : enum_names(config::SettingGroup{})) {
        Settings members;
        std::copy_if(all.begin(), all.end(), std::back_inserter(members),
                     [group = group](const auto& setting) { return setting.group == group; });
        const report::TextTable table = table_of(members);
        fmt::print("{}{}{}\n\n{}", group == config::SettingGroup::work ? "" : "\n", markdown ? "## " : "",
                   title_of(group), markdown ? table.markdown() : table.text(prose_width(stdout)));
    }
}

}  // namespace

void add_settings_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<SettingsArguments>();
    CLI::App* command = app.add_subcommand("settings", "every setting of a study: default, unit, values, meaning");
    auto* markdown = command->add_flag("--markdown", arguments->markdown, "print Markdown");
    command->add_flag("--json", arguments->json, "print a JSON list")->excludes(markdown);
    command->callback([&chosen, arguments] {
        chosen = [arguments](const Arguments&) {
            if (arguments->json)
                print_json();
            else
                print_tables(arguments->markdown);
            return ExitCode::ok;
        };
    });
}

}  // namespace pb::app
