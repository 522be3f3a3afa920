// The output of a point as a file that all ranks write during the pass.
#pragma once

#include "run/pixels/output.hpp"

#include <memory>

namespace pb::run {

/// Collective over the team: the root creates the file under a temporary name and the other ranks open it. Only the
/// root's `plan` names the file. Fails on all ranks together (see `together`). Nothing appears under the final name
/// before publish(), and nothing remains without it. `source` must outlive the sink.
[[nodiscard]] std::unique_ptr<StreamedSink> make_file_sink(const Team& team, ImageSource& source,
                                                           const OutputPlan& plan);

}  // namespace pb::run
