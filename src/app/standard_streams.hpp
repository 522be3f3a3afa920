// What a shell may do to the program's streams: leave them closed, close the other end, or put a full disk behind them.
#pragma once

namespace pb {

/// A closed stream becomes /dev/null: no file that is opened later may get its number. A reader that went away makes
/// writes fail, which is reported, instead of killing a measurement.
void prepare_standard_streams();

/// Writes out what is buffered. False, with a message on stderr, when something of standard output was lost.
[[nodiscard]] bool flush_standard_output();

}  // namespace pb
