// Where the output of a point is put together.
#pragma once

#include "run/pixels/core_sink.hpp"
#include "run/pixels/image_source.hpp"
#include "run/point/team.hpp"
#include "run/run.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pb {

struct OutputPlan {
    OutputKind kind = OutputKind::memory;    // never automatic
    std::filesystem::path file;              // of kind file: on the root
    std::optional<Compression> compression;  // as PointFiles
    [[nodiscard]] bool is_streamed() const { return kind != OutputKind::memory; }
};

/// Collective over the team: the same kind on all ranks. `automatic` is settled: file where input and output take more
/// than half of any host's free memory and the output can be written so; what was decided, or could not be, is added to
/// `notes`. AgreedError (usage) when a kind that was asked for cannot be.
[[nodiscard]] OutputPlan plan_output(const Point& point, const Team& team, ImageSource& source, const PointFiles& files,
                                     std::vector<std::string>& notes);

/// After the last pass of a streamed output, before anybody reads it: it is on the disk, and a checksum is in the
/// notes. Collective over the team; adds to `trace.write_s`.
void finish_stream(const Team& team, StreamedSink& output, PointTrace& trace);

}  // namespace pb
