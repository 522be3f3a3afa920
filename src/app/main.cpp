// Starts patchbench. Each subcommand is in its own file.
#include "app/commands.hpp"
#include "app/session.hpp"
#include "app/terminal.hpp"
#include "base/text.hpp"
#include "base/user_paths.hpp"
#include "comm/launcher.hpp"
#include "report/tables/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace pb::app {
namespace {

/// Returns the names that are valid in place of `word`.
std::vector<std::string> known_words(const CLI::App& app, const std::string& word) {
    std::vector<std::string> known;
    const auto chosen = app.get_subcommands();
    if (word.starts_with("--")) {
        for (const CLI::Option* option : (chosen.empty() ? &app : chosen.front())->get_options())
            for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    } else if (chosen.empty()) {
        for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
            known.push_back(command->get_name());
    }
    return known;
}

/// The words that CLI11 does not expect, in the order in which they were given; CLI11 does not keep it.
std::vector<std::string> unexpected_words(const CLI::App& app, const Arguments& arguments) {
    const std::vector<std::string> unexpected = app.remaining(true);
    std::vector<std::string> words(arguments.argv + 1, arguments.argv + arguments.argc);
    std::erase_if(words,
                  [&](const std::string& word) { return std::ranges::find(unexpected, word) == unexpected.end(); });
    return words;
}

/// Suggests what the user meant by words that CLI11 does not expect; empty without a suggestion.
std::string hint_for(const CLI::App& app, const std::vector<std::string>& unexpected) {
    for (const std::string& text : unexpected) {
        const std::string word = text.substr(0, text.find('='));
        const bool is_value = word.size() < text.size() && !word.starts_with('-');
        if (is_value) return "each key=value needs an option of its own: --set a=1 --set b=2";
        const std::string nearest = nearest_word(word, known_words(app, word));
        if (!nearest.empty()) return fmt::format("'{}': did you mean '{}'?", word, nearest);
        if (std::error_code ignored; app.get_subcommands().empty() && std::filesystem::exists(word, ignored))
            return fmt::format(
                "'{}' is a file or folder, not a command: patchbench denoise IN... OUT, or patchbench run STUDY.yaml",
                word);
    }
    return {};
}

/// Replaces the exit codes of CLI11: 0 for --help, 2 for an error.
int explain(const CLI::App& app, const CLI::ParseError& error, const Arguments& arguments) {
    const bool is_asked_for = error.get_exit_code() == 0;
    const int code = is_asked_for ? 0 : static_cast<int>(ExitCode::usage);
    if (is_asked_for && !comm::is_first_process()) return code;
    comm::wait_for_first_process();
    std::ostringstream asked, wrong;
    const std::vector<std::string> unexpected = unexpected_words(app, arguments);
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && unexpected.size() > 1)
        wrong << fmt::format("The following arguments were not expected: {}\nRun with --help for more information.\n",
                             fmt::join(unexpected, " "));
    else
        (void)app.exit(error, asked, wrong);
    const bool is_help = error.get_name() == "CallForHelp";  // the other text is the glossary, which is Markdown
    is_help ? print_prose(stdout, asked.str()) : fmt::print("{}", asked.str());
    print_folded(stderr, is_asked_for ? wrong.str() : comm::place_before_mpi() + wrong.str());
    if (is_asked_for) return flush_standard_output() ? code : static_cast<int>(ExitCode::failed);
    const std::string hint = hint_for(app, unexpected);
    if (!hint.empty()) print_error(comm::place_before_mpi() + hint);
    return code;
}

/// Refuses "--option=", because CLI11 would take the next word as its value.
void refuse_empty_values(const Arguments& arguments) {
    for (int i = 1; i < arguments.argc; ++i) {
        const std::string_view word = arguments.argv[i];
        if (word.starts_with("--") && word.find('=') + 1 == word.size())
            throw UsageError(fmt::format("'{}' has no value: give one, or leave it out", word));
    }
}

/// The words of the command line. After "--" all are names of files: one that begins with '-' becomes "./-..", and the
/// mark is left out, because CLI11 ends a list of files there.
class Words {
  public:
    Words(int argc, char** argv) {
        bool are_files = false;
        for (int i = 0; i < argc; ++i) {
            const bool is_mark = !are_files && std::string_view(argv[i]) == "--";
            if (!is_mark) texts_.push_back(are_files && argv[i][0] == '-' ? "./" + std::string(argv[i]) : argv[i]);
            are_files = are_files || is_mark;
        }
        for (std::string& text : texts_) pointers_.push_back(text.data());
        pointers_.push_back(nullptr);
    }
    [[nodiscard]] Arguments arguments() { return {static_cast<int>(texts_.size()), pointers_.data()}; }

  private:
    std::vector<std::string> texts_;
    std::vector<char*> pointers_;
};

/// Breaks descriptions of options into lines that fit.
class HelpText : public CLI::Formatter {
  public:
    HelpText() { column_width(kColumn); }
    std::string make_option_desc(const CLI::Option* option) const override {
        constexpr size_t kLeast = 30;
        const size_t all = prose_width(stdout);
        const size_t width = std::max(kLeast, all - std::min(all, size_t{kColumn}));
        return fmt::format("{}", fmt::join(report::broken_lines(option->get_description(), width), "\n"));
    }

  private:
    static constexpr size_t kColumn = 30;
};

int run_program(const Arguments& arguments) {
    refuse_empty_values(arguments);
    CLI::App app("Measures, and does, patch-based image denoising on many GPUs.", "patchbench");
    app.formatter(std::make_shared<HelpText>());
    Action chosen;
    bool version = false;
    app.add_flag("--version", version, "versions of patchbench and of every library, header and loaded");
    add_run_command(app, chosen);
    add_bench_command(app, chosen);
    add_denoise_command(app, chosen);
    add_tune_command(app, chosen);
    add_plan_command(app, chosen);
    add_report_command(app, chosen);
    add_check_command(app, chosen);
    add_compare_command(app, chosen);
    add_networks_command(app, chosen);
    add_settings_command(app, chosen);
    try {
        app.parse(arguments.argc, arguments.argv);
    } catch (const CLI::ParseError& error) {
        return explain(app, error, arguments);
    }
    if (version) {
        print_version();
        return static_cast<int>(flush_standard_output() ? ExitCode::ok : ExitCode::failed);
    }
    if (!chosen) {
        print_prose(stderr, app.help());
        return static_cast<int>(ExitCode::usage);
    }
    const ExitCode code = chosen(arguments);
    return static_cast<int>(code == ExitCode::ok && !flush_standard_output() ? ExitCode::failed : code);
}

/// MPI and LibTorch end the process in words of their own where it has been removed.
void require_current_folder() {
    std::error_code failure;
    (void)std::filesystem::current_path(failure);
    if (failure)
        throw UsageError("the current folder cannot be used (" + failure.message() +
                         "): change to one that exists, for example with cd");
}

/// Prints an error that came before MPI started, and which other processes may have had, too.
void report_early(const std::string& text) {
    comm::wait_for_first_process();
    print_error(comm::place_before_mpi() + text);
}

int run_and_report(int argc, char** argv) {
    try {
        require_current_folder();
        Words words(argc, argv);
        return run_program(words.arguments());
    } catch (const Error& error) {
        report_early(error.what());
        return static_cast<int>(error.code());
    } catch (const std::filesystem::filesystem_error& error) {
        report_early(describe(error));
        return static_cast<int>(ExitCode::usage);
    } catch (const std::exception& error) {
        const bool is_output_lost = std::ferror(stdout) != 0 && !flush_standard_output();  // fmt does not name it
        if (!is_output_lost) report_early(error.what());
        return static_cast<int>(ExitCode::failed);
    }
}

/// Ends the process without the destructors of libraries: LibTorch takes a tenth of a second to remove its operators
/// one by one. What the program itself holds is gone by then.
[[noreturn]] void leave(int code) {
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
    std::_Exit(code);
}

}  // namespace
}  // namespace pb::app

int main(int argc, char** argv) {
    pb::app::prepare_standard_streams();
    pb::app::leave(pb::app::run_and_report(argc, argv));
}
