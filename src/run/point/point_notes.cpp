#include "run/point/point_notes.hpp"

#include "base/text.hpp"
#include "config/sample_settings.hpp"
#include "config/text.hpp"
#include "run/pixels/file_sink.hpp"

namespace pb::run {

void note_weights(const engine::Weights& weights, plan::Point& point) {
    if (weights.note.empty()) return;
    point.weights_note = weights.source + ": " + weights.note;
    point.notes.push_back(point.weights_note);
}

void note_range(const ImageSource& source, plan::Point& point) {
    if (source.map() == nullptr ||
        config::parse_range(point.settings.image.range).kind != config::RangeChoice::Kind::automatic)
        return;
    const image::SampleRange& range = source.map()->range();
    point.notes.push_back("image.range = auto is " + config::format_setting(range.low) + ":" +
                          config::format_setting(range.high));
}

void note_lost_metadata(ImageSource& source, const PointFiles& files, bool placed, record::PointTrace& trace) {
    for (const std::string& each :
         image::lost_metadata(metadata_to_save(source, files.compression), files.image, placed))
        add_item(trace.lost_metadata, each);
    if (!trace.lost_metadata.empty())
        trace.point.notes.push_back("metadata not kept in the output: " + trace.lost_metadata);
}

}  // namespace pb::run
