#include "app/study/launches.hpp"

#include "app/study/study_record.hpp"
#include "app/terminal.hpp"
#include "base/descriptor.hpp"
#include "base/stopwatch.hpp"
#include "base/user_paths.hpp"
#include "comm/interruption.hpp"
#include "comm/launcher.hpp"
#include "report/expected_time.hpp"
#include "report/results/jsonl_writer.hpp"
#include "report/results/results_file.hpp"
#include "report/tables/tables.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string_view>
#include <thread>

namespace pb::app {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kOwnOptions{"--launches", "--launcher", "--out"};

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

/// The whole text of a file.
std::string text_in(const Descriptor& file) {
    std::string text(static_cast<size_t>(std::max<off_t>(0, ::lseek(file.number(), 0, SEEK_END))), '\0');
    const ssize_t got = read_at(file.number(), 0, std::as_writable_bytes(std::span(text)));
    text.resize(static_cast<size_t>(std::max<ssize_t>(0, got)));
    return text;
}

/// Replaces this process by `command`, which ends when the parent ends. Its standard output goes to `output`; -1: to
/// that of the parent. On failure writes errno to `failed`.
[[noreturn]] void become(char* const* command, pid_t parent, int output, int failed) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (output >= 0) ::dup2(output, STDOUT_FILENO);
    if (::getppid() == parent) ::execvp(command[0], command);
    const int code = errno;
    (void)!::write(failed, &code, sizeof code);
    ::_exit(1);
}

pid_t start(const std::vector<std::string>& command, int output) {
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
        throw Error(std::string("cannot start a launch: ") + std::strerror(errno));
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) become(words.data(), parent, output, pipe[1]);
    int failure = child < 0 ? errno : 0;
    ::close(pipe[1]);
    if (child > 0 && ::read(pipe[0], &failure, sizeof failure) > 0) ::waitpid(child, nullptr, 0);
    ::close(pipe[0]);
    if (failure != 0)
        throw UsageError("cannot start " + command.front() + ": " + std::strerror(failure) +
                         "; --launcher names the program that starts ranks, as \"mpirun -n 4\"");
    return child;
}

/// Waits for a launch and returns its exit code. Forwards a signal once, so that the launch keeps what is finished.
/// That of Ctrl-C it forwards late: a terminal sends it to the launch, too, and by a second signal mpirun kills its
/// ranks.
int wait_for(pid_t child) {
    constexpr std::chrono::milliseconds kPause{50}, kEndsByItself{6000};
    int status = 0;
    bool was_told = false;
    std::chrono::milliseconds interrupted_for{0};
    for (pid_t done = 0; done != child; std::this_thread::sleep_for(kPause)) {
        done = ::waitpid(child, &status, WNOHANG);
        if (done < 0 && errno != EINTR) return static_cast<int>(ExitCode::failed);
        if (done == child) break;
        if (was_told || comm::interruption().empty()) continue;
        interrupted_for += kPause;
        if (comm::interruption() == "SIGINT" && interrupted_for < kEndsByItself) continue;
        ::kill(child, SIGTERM);
        was_told = true;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);  // as a shell has it
}

/// Returns the more serious of two exit codes.
ExitCode graver(ExitCode a, ExitCode b) {
    constexpr std::array kOrder{ExitCode::usage,          ExitCode::verification, ExitCode::failed,
                                ExitCode::not_comparable, ExitCode::partial,      ExitCode::ok};
    return *std::ranges::find_if(kOrder, [&](ExitCode code) { return code == a || code == b; });
}

measure::Verdict failed_by(const std::string& reason) { return {measure::Validity::failed, {reason}, {}}; }

struct LaunchEnd {
    ExitCode code = ExitCode::ok;
    measure::Verdict verdict;
    bool was_interrupted = false;  // by a signal, which a batch system may send to the ranks alone
};

bool is_cut_by_signal(const report::RecordedPoint& point) {
    return record::is_cut_short(point.summary.status) && point.trace.reason.find(comm::kEndOfTime) == std::string::npos;
}

/// The end by the launch's results. The code is the caller's.
LaunchEnd end_of(const fs::path& results_file) {
    try {
        const auto results = report::load_results(results_file);
        const auto verdict = results.end ? results.end->verdict : failed_by("it did not end");
        return {{}, verdict, std::ranges::any_of(results.points, is_cut_by_signal)};
    } catch (const UsageError& error) {  // killed before its first line was whole
        return {{}, failed_by(error.what())};
    }
}

/// Adds the verdict of a launch to that of all. Each reason names its launch.
void add_verdict(measure::Verdict& all, int64_t launch, const measure::Verdict& own) {
    all.validity = std::max(all.validity, own.validity);
    for (const auto& reason : own.reasons) all.reasons.push_back(fmt::format("launch {}: {}", launch, reason));
}

/// Returns the last line, "RESULT: ..", of what a launch printed; empty if it did not get so far.
std::string result_line(const std::string& text) {
    const size_t begin = text.rfind("RESULT: ");
    const bool begins_line = begin != std::string::npos && (begin == 0 || text[begin - 1] == '\n');
    return begins_line ? text.substr(begin, text.find('\n', begin) - begin) : "";
}

/// Prints a line about a launch and puts what it printed into its folder. Of a launch that failed early it prints all.
void print_launch(const StudyLaunches& options, int64_t launch, double wall_s, const std::string& text) {
    const fs::path file = report::launch_folder(options.folder, launch) / "output.txt";
    const std::string result = result_line(text);
    if (!result.empty() && std::ofstream(file, std::ios::binary) << text)
        print_whole(stdout, "LAUNCH {} of {}: {}, {} (--verbose prints it)  {}\n", launch, options.count,
                    report::clock_text(wall_s), file.string(), result);
    else
        print_whole(stdout, "LAUNCH {} of {}\n{}", launch, options.count, text);
    std::fflush(stdout);
}

/// Returns the exit code of the launch.
int wait_for_launch(const StudyLaunches& options, int64_t launch, const std::vector<std::string>& command) {
    if (options.is_verbose) {
        print_whole(stdout, "LAUNCH {} of {}\n", launch, options.count);
        std::fflush(stdout);
        return wait_for(start(command, -1));
    }
    const Descriptor output(::memfd_create("launch", MFD_CLOEXEC));  // standard output, kept until the launch has ended
    if (output.number() < 0) throw Error(std::string("cannot start a launch: ") + std::strerror(errno));
    const Stopwatch watch;
    const int code = wait_for(start(command, output.number()));
    print_launch(options, launch, watch.seconds(), text_in(output));
    return code;
}

/// Runs a launch and judges it by its own results, never by those that it found.
LaunchEnd run_launch(const StudyLaunches& options, int64_t launch, const std::vector<std::string>& command) {
    const fs::path results = report::launch_folder(options.folder, launch) / report::kResultsName;
    const std::string before = file_version(results);
    const int status = wait_for_launch(options, launch, command);
    const bool is_own_code = status >= 0 && status <= 5;  // else that of the launcher
    const ExitCode code = is_own_code ? static_cast<ExitCode>(status) : ExitCode::failed;
    if (file_version(results) == before)
        return {graver(code, ExitCode::failed), failed_by("it left no results of its own")};
    LaunchEnd end = end_of(results);
    end.code = code;
    const bool is_explained = code == ExitCode::ok || code == ExitCode::partial;
    if (!is_own_code || (!is_explained && end.verdict.validity == measure::Validity::valid)) {
        end.verdict.validity = measure::Validity::failed;
        end.verdict.reasons.push_back(fmt::format("it left results, but ended with exit code {}", status));
    }
    return end;
}

void print_end(const StudyLaunches& options, int64_t started, const measure::Verdict& verdict) {
    const std::string launcher = options.launcher.empty() ? "the program alone" : options.launcher;
    print_text(stdout, "\nlaunches: {} of {}, each a start of its own ({}): {} to {}\n", started, options.count,
               launcher, report::launch_folder(options.folder, 1).string(),
               report::launch_folder(options.folder, started).filename().string());
    print_text(stdout, "compare them with another version's: patchbench compare OLD {} --fail-on slower=3%\n\n",
               options.folder.string());
    print_whole(stdout, "{}\n", report::verdict_line(verdict));
}

/// Throws UsageError when this process was started as a rank, and when the folder holds results that would be taken for
/// those of these launches.
void check_can_launch(const StudyLaunches& options) {
    if (comm::launcher_rank())
        throw UsageError(
            fmt::format("--launches {}: ranks that were started cannot start themselves again; call it "
                        "without mpirun: patchbench run STUDY --launches {} --launcher \"mpirun -n 4\"",
                        options.count, options.count));
    std::error_code ignored;
    if (fs::exists(options.folder / report::kResultsName, ignored))
        throw UsageError((options.folder / report::kResultsName).string() +
                         ": results of a study without launches are there; choose another folder with --out");
    const std::vector<fs::path> present = report::launch_folders_in(options.folder);
    if (options.resumes && !present.empty() && report::launch_number(present.back()) > options.count)
        throw UsageError(present.back().string() +
                         ": is of an earlier study with more launches, which compare would take for this "
                         "one's; remove it, or choose another folder with --out");
}

/// Whether `file` lies in `folder` or in a folder there.
bool lies_in(const fs::path& file, const fs::path& folder) {
    std::error_code missing;
    for (fs::path place = fs::canonical(file, missing); place.has_relative_path(); place = place.parent_path())
        if (fs::equivalent(place, folder, missing)) return true;
    return false;
}

/// Throws UsageError when a launch still writes into `launch`, and when the study reads a file there.
void check_can_move(const fs::path& launch, const std::set<fs::path>& inputs) {
    const Descriptor is_free = lock_folder(launch);
    for (const fs::path& input : inputs)
        if (lies_in(input, launch))
            throw UsageError(input.string() + ": is an input of this study and lies in " + launch.string() +
                             ", which is moved aside before the first launch; choose another folder with --out");
}

/// Moves the launches of an earlier run aside: `compare` would take those that are left for launches of this one.
void keep_earlier_launches(const StudyLaunches& options) {
    const std::vector<fs::path> launches = report::launch_folders_in(options.folder);
    for (const fs::path& launch : launches) check_can_move(launch, options.inputs);
    if (const fs::path aside = report::move_folders_aside(launches); !aside.empty())
        print_text(stderr, "earlier results are kept in {}\n", aside.string());
}

/// Returns the command of one launch: the launcher, this program, and its arguments without those about launches, plus
/// the folder of the launch.
std::vector<std::string> launch_command(const StudyLaunches& options, int64_t launch,
                                        const std::vector<std::string>& arguments, const std::string& program) {
    std::vector<std::string> command = words_of(options.launcher);
    command.push_back(program);
    for (size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view word = arguments[i];
        const std::string_view name = word.substr(0, word.find('='));
        const bool is_own = std::ranges::find(kOwnOptions, name) != kOwnOptions.end();
        if (!is_own) command.push_back(arguments[i]);
        if (is_own && name == word) ++i;  // its value is the next word
    }
    command.insert(command.end(), {"--out", report::launch_folder(options.folder, launch).string()});
    return command;
}

}  // namespace

ExitCode run_launches(const StudyLaunches& options, const Arguments& arguments) {
    check_can_launch(options);
    make_folder(options.folder);
    const Descriptor lock = lock_folder(options.folder);
    if (!options.resumes) keep_earlier_launches(options);
    const comm::InterruptionGuard guard;
    const std::vector<std::string> words(arguments.argv + 1, arguments.argv + arguments.argc);
    const std::string program = program_file().string();
    ExitCode worst = ExitCode::ok;
    measure::Verdict verdict;
    int64_t started = 0;
    bool goes_on = true;
    while (started < options.count && comm::interruption().empty() && goes_on) {
        ++started;
        const LaunchEnd end = run_launch(options, started, launch_command(options, started, words, program));
        worst = graver(worst, end.code);
        add_verdict(verdict, started, end.verdict);
        goes_on = worst != ExitCode::usage && !end.was_interrupted;
    }
    if (worst == ExitCode::usage) return worst;
    if (started < options.count) {
        verdict.reasons.push_back(fmt::format("{} of {} launches", started, options.count));
        worst = graver(worst, ExitCode::partial);
    }
    print_end(options, started, verdict);
    return verdict.validity == measure::Validity::failed && worst == ExitCode::ok ? ExitCode::failed : worst;
}

}  // namespace pb::app
