#include "run/pixels/window_source.hpp"

#include <algorithm>

namespace pb::run {

Slab StreamedWindows::read(const Rect& window) {
    const Extent image = source_.extent();
    const Rect part{
        window.row,
        window.column,
        {std::min(window.extent.h, image.h - window.row), std::min(window.extent.w, image.w - window.column)}};
    const Slab slab = slab_of(part, image, source_.channels(), source_.dtype(), samples_);
    source_.read(part, slab.part(part));
    source_.add_noise_to(part, slab.part(part));
    return slab;
}

void cut_window(WindowSource& source, const Rect& window, std::byte* samples) {
    cut_window(source.read(window), window, samples);
}

void cut_window_to_f32(WindowSource& source, const Rect& window, const device::Conversion& conversion, float* values) {
    cut_window_to_f32(source.read(window), window, conversion, values);
}

}  // namespace pb::run
