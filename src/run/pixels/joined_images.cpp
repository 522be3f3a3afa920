#include "run/pixels/joined_images.hpp"

#include <algorithm>

namespace pb::run {

namespace {

Rect moved_up(Rect part, int64_t rows) {
    part.row -= rows;
    return part;
}

/// The border of the image moves too, because what lies beyond it is a repetition of its last row.
Slab moved_down(Slab slab, int64_t rows) {
    slab.row += rows;
    slab.image.h += rows;
    return slab;
}

}  // namespace

Slab JoinedWindows::read(const Rect& window) {
    const int64_t image = window.row / stride_;
    const int64_t rows = image * stride_;
    return moved_down(images_[static_cast<size_t>(image)]->read(moved_up(window, rows)), rows);
}

bool JoinedWindows::is_in_memory() const { return std::ranges::all_of(images_, &WindowSource::is_in_memory); }

CoreSink& JoinedCores::image_of(const Rect& part) const { return *images_[static_cast<size_t>(part.row / stride_)]; }

Rect JoinedCores::inside(const Rect& part) const { return moved_up(part, part.row / stride_ * stride_); }

Extent JoinedCores::extent() const { return {std::ssize(images_) * stride_, images_.front()->extent().w}; }

Slab JoinedCores::map(const Rect& core) {
    return moved_down(image_of(core).map(inside(core)), core.row / stride_ * stride_);
}

void JoinedCores::count_lost(const Rect& core, int64_t values) { image_of(core).count_lost(inside(core), values); }

void JoinedCores::commit(const Rect& core) { image_of(core).commit(inside(core)); }

bool JoinedCores::is_in_memory() const { return std::ranges::all_of(images_, &CoreSink::is_in_memory); }

image::Image JoinedCores::read(const Rect& part) { return image_of(part).read(inside(part)); }

}  // namespace pb::run
