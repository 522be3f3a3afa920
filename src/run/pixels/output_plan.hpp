// Decides where the output of a point is assembled.
#pragma once

#include "run/pixels/core_sink.hpp"
#include "run/pixels/image_source.hpp"
#include "run/point/team.hpp"
#include "run/run.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pb::run {

struct OutputPlan {
    config::OutputKind kind = config::OutputKind::memory;  // never `automatic`
    std::filesystem::path file;                            // for kind `file`, only on the root
    std::optional<image::Compression> compression;         // see PointFiles
    [[nodiscard]] bool is_streamed() const { return kind != config::OutputKind::memory; }
};

/// Collective over the team. Returns the same kind on all ranks. `automatic` becomes `file` when input and output take
/// more than half of any host's free memory and a file is possible. Adds the decision, or why it was not possible, to
/// `notes`. Throws AgreedError (usage) when the requested kind is not possible.
[[nodiscard]] OutputPlan plan_output(const plan::Point& point, const Team& team, ImageSource& source,
                                     const PointFiles& files, std::vector<std::string>& notes);

/// Completes a streamed output after the last pass, before it is read: the data is on the disk, and a checksum is added
/// to the notes. Collective over the team. Adds its time to `trace.write_s`.
void finish_stream(const Team& team, StreamedSink& output, record::PointTrace& trace);

}  // namespace pb::run
