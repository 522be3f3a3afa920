// Handles standard streams that a shell left closed, whose reader has gone, or that write to a full disk.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>

namespace pb::app {

/// Opens closed streams as /dev/null, so that no file opened later gets their number. A write without a reader then
/// fails with an error instead of killing the process.
void prepare_standard_streams();

/// Flushes standard output. Returns false, with a message on stderr, when some of it was lost.
[[nodiscard]] bool flush_standard_output();

/// Columns of the terminal behind `descriptor`. None when it is no terminal, or does not say.
[[nodiscard]] std::optional<size_t> terminal_columns(int descriptor);

/// Columns that the variable COLUMNS states, else 80.
[[nodiscard]] size_t said_columns();

/// Columns of the terminal that shows `stream`, also below mpirun. The largest number when there is none, or it does
/// not say.
[[nodiscard]] size_t terminal_width(std::FILE* stream);

/// Columns for prose, as help and descriptions of settings, on `stream`: those of its terminal, else COLUMNS, else 80,
/// as man and most --help texts take them in a pipe.
[[nodiscard]] size_t prose_width(std::FILE* stream);

}  // namespace pb::app
