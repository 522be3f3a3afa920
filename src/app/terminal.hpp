// The standard streams and the terminal that shows them: its width, text that is folded to it, and a line at its bottom
// that is replaced while the program works.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <string>

namespace pb::app {

/// Opens closed streams as /dev/null, so that no file opened later gets their number. A write without a reader then
/// fails with an error instead of killing the process.
void prepare_standard_streams();

/// Flushes standard output. Returns false, with a message on stderr, when some of it was lost.
[[nodiscard]] bool flush_standard_output();

/// Where text for people goes; with --json standard output is for objects.
[[nodiscard]] inline std::FILE* text_stream(bool json) { return json ? stderr : stdout; }

/// Columns of the terminal that shows `stream`, also below mpirun. The largest number when there is none, or it does
/// not say.
[[nodiscard]] size_t terminal_width(std::FILE* stream);

/// Columns for prose, as help and descriptions of settings, on `stream`: those of its terminal, else COLUMNS, else 80,
/// as man and most --help texts take them in a pipe.
[[nodiscard]] size_t prose_width(std::FILE* stream);

/// Writes `text` as it is. Throws Error where standard output takes no more; what stderr does not take is lost: exit
/// code and files say the same, and an error about it could not be read.
void write_text(std::FILE* stream, const std::string& text);

/// Prints `text` for people, on a terminal or into a file. Lines that scripts read (RESULT, FOM, --json, --markdown) do
/// not come this way: they stay whole. Lines wider than the terminal are broken between words (report/tables/text.hpp).
/// Throws as write_text.
void print_folded(std::FILE* stream, const std::string& text);

/// The same for help, which is as wide as prose_width.
void print_prose(std::FILE* stream, const std::string& text);

/// The same with values, as fmt::print takes them.
template <class... Values>
void print_text(std::FILE* stream, fmt::format_string<Values...> text, Values&&... values) {
    print_folded(stream, fmt::format(text, std::forward<Values>(values)...));
}

/// Prints lines that scripts read, which stay whole. Throws as write_text.
template <class... Values>
void print_whole(std::FILE* stream, fmt::format_string<Values...> text, Values&&... values) {
    write_text(stream, fmt::format(text, std::forward<Values>(values)...));
}

/// Prints an error of the program to stderr, prefixed "patchbench: ".
void print_error(const std::string& message);

/// Prints on stderr what happens while a study runs, with the time of day.
void print_timed(const std::string& text);

inline constexpr double kUpdateIntervalS = 0.2;  // between two states of a bar
inline constexpr double kLogIntervalS = 30;      // between two lines of a log that is no terminal

/// A line at the bottom of the terminal that is replaced while the program works. It stands on stderr. Messages go
/// above it: clear it first.
class TerminalLine {
  public:
    /// Where stderr does not reach a terminal, or a dumb one (TERM=dumb), nothing is ever drawn. Under Open MPI's
    /// mpirun stderr is a pipe; then the terminal is that of mpirun, which copies the pipe to its own stderr.
    TerminalLine();
    ~TerminalLine();  // clears it
    TerminalLine(const TerminalLine&) = delete;
    TerminalLine& operator=(const TerminalLine&) = delete;

    [[nodiscard]] bool is_on_terminal() const { return terminal_ >= 0; }
    /// The width of the terminal; where it does not tell, that of COLUMNS, or else 80.
    [[nodiscard]] size_t columns() const;

    /// Replaces the line. `text` must be narrower than columns().
    void draw(const std::string& text);
    void clear();

  private:
    void let_launcher_catch_up() const;

    bool is_forwarded_;
    int terminal_;  // a descriptor of the terminal, to ask for its width; -1: none
    bool is_drawn_ = false, was_drawn_ = false;
};

}  // namespace pb::app
