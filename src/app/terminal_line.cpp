#include "app/terminal_line.hpp"

#include "app/launcher_terminal.hpp"
#include "app/standard_streams.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace pb::app {

namespace {

/// True where the user said that the terminal takes no escape sequences, as the shells of editors do.
bool is_dumb() {
    const char* type = std::getenv("TERM");
    return type != nullptr && std::string_view(type) == "dumb";
}

}  // namespace

TerminalLine::TerminalLine()
    : is_forwarded_(is_forwarded(STDERR_FILENO)), terminal_(is_dumb() ? -1 : open_terminal_of(STDERR_FILENO)) {}

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
