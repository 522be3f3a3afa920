// A line at the bottom of the terminal that is replaced while the program works. It stands on stderr. Messages go
// above it: clear it first.
#pragma once

#include <cstddef>
#include <string>

namespace pb::app {

inline constexpr double kUpdateIntervalS = 0.2;  // between two states of a bar

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
