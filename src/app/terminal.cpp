#include "app/terminal.hpp"

#include "base/text.hpp"
#include "report/tables/text.hpp"

#include "patchbench/base/error.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

namespace pb::app {

namespace {

namespace fs = std::filesystem;

bool is_pipe(int descriptor) {
    struct stat status {};
    return ::fstat(descriptor, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

bool is_terminal_without_size(int descriptor) {
    winsize size{};
    return ::isatty(descriptor) == 1 && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col == 0;
}

bool is_launcher(pid_t process) {
    std::string name;
    std::getline(std::ifstream(fmt::format("/proc/{}/comm", process)), name);
    for (const char* launcher : {"mpirun", "mpiexec", "orterun", "prterun"})
        if (name.starts_with(launcher)) return true;
    return false;
}

int open_terminal_of_launcher(int stream) {
    std::error_code failed;
    const fs::path file = fs::read_symlink(fmt::format("/proc/{}/fd/{}", ::getppid(), stream), failed);
    if (failed || !fs::is_character_file(file, failed)) return -1;
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0 || ::isatty(descriptor) == 1) return descriptor;
    ::close(descriptor);
    return -1;
}

/// True where `stream` (a descriptor, 1 or 2) goes to a launcher of Open MPI: a pipe, or a terminal without a size that
/// mpirun made for it. A shell does not forward what its children write.
bool is_forwarded(int stream) {
    return (is_pipe(stream) || is_terminal_without_size(stream)) && is_launcher(::getppid());
}

/// Opens the terminal that shows `stream`: its own, or that of the launcher which forwards it. -1: there is none, or it
/// is another user's.
int open_terminal_of(int stream) {
    if (is_forwarded(stream)) return open_terminal_of_launcher(stream);
    return ::isatty(stream) == 1 ? ::fcntl(stream, F_DUPFD_CLOEXEC, 3) : -1;
}

/// Columns of the terminal behind `descriptor`. None when it is no terminal, or does not say.
std::optional<size_t> terminal_columns(int descriptor) {
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
    return size.ws_col;
}

/// Columns that the variable COLUMNS states, else 80.
size_t said_columns() {
    constexpr size_t kUsual = 80;
    const char* columns = std::getenv("COLUMNS");
    const int64_t said = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
    return said > 0 ? static_cast<size_t>(said) : kUsual;
}

/// Columns of the terminal that shows `stream`.
std::optional<size_t> shown_columns(std::FILE* stream) {
    const int terminal = open_terminal_of(::fileno(stream));
    if (terminal < 0) return std::nullopt;
    const auto columns = terminal_columns(terminal);
    ::close(terminal);
    return columns;
}

/// True where the user said that the terminal takes no escape sequences, as the shells of editors do.
bool is_dumb() {
    const char* type = std::getenv("TERM");
    return type != nullptr && std::string_view(type) == "dumb";
}

constexpr const char* kOutputLost =
    "standard output could not be written: its reader went away, or the disk is full; the text is incomplete, files "
    "that were written are complete";

}  // namespace

void prepare_standard_streams() {
    for (const int stream : {0, 1, 2})
        if (fcntl(stream, F_GETFD) < 0) (void)open("/dev/null", O_RDWR);       // gets this number, the lowest free one
    for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);  // the write that fails says why
}

bool flush_standard_output() {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
    print_error(kOutputLost);
    return false;
}

void write_text(std::FILE* stream, const std::string& text) {
    const bool is_written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
    if (!is_written && stream != stderr) throw Error(kOutputLost);
}

size_t terminal_width(std::FILE* stream) { return shown_columns(stream).value_or(std::numeric_limits<size_t>::max()); }

size_t prose_width(std::FILE* stream) { return shown_columns(stream).value_or(said_columns()); }

void print_folded(std::FILE* stream, const std::string& text) {
    write_text(stream, report::folded(text, terminal_width(stream)));
}

void print_prose(std::FILE* stream, const std::string& text) {
    write_text(stream, report::folded(text, prose_width(stream)));
}

void print_error(const std::string& message) {
    constexpr size_t kLongest = 4000;  // the message may quote parts of a damaged file
    const std::string text = message.size() <= kLongest ? message : message.substr(0, kLongest) + " ...";
    print_text(stderr, "patchbench: {}\n", without_controls(text, '?', "\n"));
}

void print_timed(const std::string& text) {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    const std::string time = fmt::format("{:%H:%M:%S} ", local), margin(time.size(), ' ');
    write_text(stderr, time + report::folded(margin + text, terminal_width(stderr)).substr(time.size()) + "\n");
}

TerminalLine::TerminalLine()
    : is_forwarded_(is_forwarded(STDERR_FILENO)), terminal_(is_dumb() ? -1 : open_terminal_of(STDERR_FILENO)) {}

TerminalLine::~TerminalLine() {
    clear();
    if (was_drawn_) let_launcher_catch_up();
    if (terminal_ >= 0) ::close(terminal_);
}

size_t TerminalLine::columns() const { return terminal_columns(terminal_).value_or(said_columns()); }

void TerminalLine::draw(const std::string& text) {
    if (!is_on_terminal()) return;
    if (!was_drawn_) let_launcher_catch_up();
    write_text(stderr, "\r" + text + "\033[K");
    std::fflush(stderr);
    is_drawn_ = was_drawn_ = true;
}

void TerminalLine::clear() {
    if (!is_drawn_) return;
    write_text(stderr, "\r\033[K");
    std::fflush(stderr);
    is_drawn_ = false;
}

/// mpirun copies stdout and stderr without keeping their order. So the line does not appear in the middle of text that
/// was printed before it, and is gone before text that follows.
void TerminalLine::let_launcher_catch_up() const {
    constexpr std::chrono::milliseconds kTimeToCopy{20};
    if (is_forwarded_) std::this_thread::sleep_for(kTimeToCopy);
}

}  // namespace pb::app
