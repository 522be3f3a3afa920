// The output of a point: where it is assembled, its file, and pictures before and after denoising for the report.
#pragma once

#include "run/pixels/core_sink.hpp"
#include "run/pixels/image_source.hpp"
#include "run/pixels/slab.hpp"
#include "run/point/team.hpp"
#include "run/runner.hpp"

#include <filesystem>
#include <memory>
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

/// Why the output cannot be a file that all ranks write, or a checksum of it; empty when it can. For the root, which
/// knows the file; its folder is not looked at.
[[nodiscard]] std::string file_obstacle(const plan::Point& point, ImageSource& source, const PointFiles& files);

/// Says that this host has no memory for input and output of a point that holds them; empty where it has. For the root.
[[nodiscard]] std::string host_memory_note(const plan::Point& point, ImageSource& source, const PointFiles& files);

/// Collective over the team. Returns the same kind on all ranks. `automatic` becomes `file` when input and output take
/// more than half of any host's free memory and a file is possible. Adds the decision, or why it was not possible, to
/// `notes`. Throws AgreedError (usage) when the requested kind is not possible.
[[nodiscard]] OutputPlan plan_output(const plan::Point& point, const Team& team, ImageSource& source,
                                     const PointFiles& files, std::vector<std::string>& notes);

/// The output as a file that all ranks write during the pass. Collective over the team: the root creates the file under
/// a temporary name and the other ranks open it. Only the root's `plan` names the file. Fails on all ranks together
/// (see `together`). Nothing appears under the final name before publish(), and nothing remains without it. `source`
/// must outlive the sink.
[[nodiscard]] std::unique_ptr<StreamedSink> make_file_sink(const Team& team, ImageSource& source,
                                                           const OutputPlan& plan);

/// Completes a streamed output after the last pass, before it is read: the data is on the disk, and a checksum is added
/// to the notes. Collective over the team. Adds its time to `trace.write_s`.
void finish_stream(const Team& team, StreamedSink& output, record::PointTrace& trace);

/// The metadata of the output's file: that of the source's file, empty for a scene. A compression in `chosen` replaces
/// the file's.
[[nodiscard]] image::ImageMetadata metadata_to_save(ImageSource& source,
                                                    const std::optional<image::Compression>& chosen);

/// Writes the whole output in the sample type of the source's file (u8 for a scene), with the file's metadata, and its
/// alpha unless the image is cropped. An existing file is replaced only when the new one is complete. With compression,
/// a TIFF is the same tiled BigTIFF as that of a streamed output.
void save_output(const Slab& output, ImageSource& source, const PointFiles& files);

/// The pictures that a point may write for the report.
[[nodiscard]] std::vector<std::filesystem::path> preview_files(const PointFiles& files);

/// Writes the centre of the image, at most `edge` pixels on a side: the network's input, the output and, if known, the
/// clean image. 8-bit PNG, values clipped to [0,1]. Call it only on the root. Throws Error when a file cannot be
/// written.
[[nodiscard]] record::Preview save_preview(CoreSink& output, ImageSource& source, int64_t edge,
                                           const PointFiles& files);

}  // namespace pb::run
