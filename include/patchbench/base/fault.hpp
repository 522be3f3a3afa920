// Faults on request, for the tests alone: a process with PATCHBENCH_FAULT=<stage>:<action>:<n> in its environment meets
// that fault the n-th time that it comes to the stage. Without the variable nothing happens.
#pragma once

#include <span>
#include <string_view>

namespace pb {

/// Stages: read (the pixels of an image whose header is read), gather, forward, output (of a network on a CPU, in
/// fp32), exchange, write (an output file that is complete but for its name). Actions: kill and stop (SIGKILL and
/// SIGSTOP to this process), throw (an Error), memory (more is asked of operator new than there is), nan (`values`
/// become NaN). Throws UsageError where the variable says anything else.
void meet_fault(std::string_view stage, std::span<float> values = {});

}  // namespace pb
