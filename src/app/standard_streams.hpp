// Handles standard streams that a shell left closed, whose reader has gone, or that write to a full disk.
#pragma once

namespace pb::app {

/// Opens closed streams as /dev/null, so that no file opened later gets their number. A write without a reader then
/// fails with an error instead of killing the process.
void prepare_standard_streams();

/// Flushes standard output. Returns false, with a message on stderr, when some of it was lost.
[[nodiscard]] bool flush_standard_output();

}  // namespace pb::app
