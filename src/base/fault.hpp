// Faults on request, for the tests alone: a process with PATCHBENCH_FAULT=<stage>:<action>:<n> in its environment fails
// in that way the n-th time that it reaches the stage; with <n>+ in place of <n>, every later time too. Without the
// variable nothing happens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pb {

/// Stages: read (the pixels of an image whose header is read), pack (weights that the ranks of a node share), gather,
/// forward, exchange, write (an output file that is complete but for its name). Actions: kill and stop (SIGKILL and
/// SIGSTOP to this process), throw (an Error), memory (more is asked of operator new than there is). Throws UsageError
/// where the variable says anything else.
void inject_fault(std::string_view stage);

/// Stages whose values go wrong: output (the core of a window, run/pixels/faulty_sink.cpp), weights (a network's, once
/// they are loaded) and transfer (what the root receives from another node). Returns the action that the caller is to
/// take this time; none: no fault.
[[nodiscard]] std::optional<std::string> meet_value_fault(std::string_view stage);

/// Whether the variable asks for a fault of this stage.
[[nodiscard]] bool is_fault_wanted(std::string_view stage);

/// Counts visits from the start again and reads the variable again.
void restart_faults();

/// Throws UsageError: the variable asks for something that is none of the stage's actions.
[[noreturn]] void refuse_fault(std::string_view what);

}  // namespace pb
