#include "app/standard_streams.hpp"

#include "app/launcher_terminal.hpp"
#include "app/session.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace pb::app {

namespace {

/// Columns of the terminal that shows `stream`.
std::optional<size_t> shown_columns(std::FILE* stream) {
    const int terminal = open_terminal_of(::fileno(stream));
    if (terminal < 0) return std::nullopt;
    const auto columns = terminal_columns(terminal);
    ::close(terminal);
    return columns;
}

}  // namespace

void prepare_standard_streams() {
    for (const int stream : {0, 1, 2})
        if (fcntl(stream, F_GETFD) < 0) (void)open("/dev/null", O_RDWR);  // gets this number, the lowest free one
    std::signal(SIGPIPE, SIG_IGN);
}

bool flush_standard_output() {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
    print_error(
        "standard output could not be written: its reader went away, or the disk is full; the text is incomplete");
    return false;
}

std::optional<size_t> terminal_columns(int descriptor) {
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
    return size.ws_col;
}

size_t said_columns() {
    constexpr size_t kUsual = 80;
    const char* columns = std::getenv("COLUMNS");
    const int64_t said = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
    return said > 0 ? static_cast<size_t>(said) : kUsual;
}

size_t terminal_width(std::FILE* stream) { return shown_columns(stream).value_or(std::numeric_limits<size_t>::max()); }

size_t prose_width(std::FILE* stream) {
    const auto columns = shown_columns(stream);
    return columns ? *columns : said_columns();
}

}  // namespace pb::app
