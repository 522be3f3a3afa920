#include "app/terminal_line.hpp"

#include "app/standard_streams.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

/// True for a launcher of Open MPI. A shell does not forward what its children write to a pipe.
bool forwards_output(pid_t process) {
    std::string name;
    std::getline(std::ifstream(fmt::format("/proc/{}/comm", process)), name);
    for (const char* launcher : {"mpirun", "mpiexec", "orterun", "prterun"})
        if (name.starts_with(launcher)) return true;
    return false;
}

/// Opens the terminal that is stderr of `process`; -1: it has none, or another user's.
int open_terminal_of(pid_t process) {
    std::error_code failed;
    const fs::path file = fs::read_symlink(fmt::format("/proc/{}/fd/2", process), failed);
    if (failed || !fs::is_character_file(file, failed)) return -1;
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0 || ::isatty(descriptor) == 1) return descriptor;
    ::close(descriptor);
    return -1;
}

/// True where the user said that the terminal takes no escape sequences, as the shells of editors do.
bool is_dumb() {
    const char* type = std::getenv("TERM");
    return type != nullptr && std::string_view(type) == "dumb";
}

int find_terminal(bool is_forwarded) {
    if (is_dumb()) return -1;
    if (is_forwarded) return open_terminal_of(::getppid());
    return ::isatty(STDERR_FILENO) == 1 ? ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
}

}  // namespace

TerminalLine::TerminalLine()
    : is_forwarded_(is_pipe(STDERR_FILENO) && forwards_output(::getppid())), terminal_(find_terminal(is_forwarded_)) {}

TerminalLine::~TerminalLine() {
    clear();
    if (was_drawn_) let_launcher_catch_up();
    if (terminal_ >= 0) ::close(terminal_);
}

size_t TerminalLine::columns() const {
    const auto columns = terminal_columns(terminal_);
    return columns ? *columns : said_columns();
}

void TerminalLine::draw(const std::string& text) {
    if (!is_on_terminal()) return;
    if (!was_drawn_) let_launcher_catch_up();
    fmt::print(stderr, "\r{}\033[K", text);
    std::fflush(stderr);
    is_drawn_ = was_drawn_ = true;
}

void TerminalLine::clear() {
    if (!is_drawn_) return;
    fmt::print(stderr, "\r\033[K");
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
