// The text of a progress bar: what is done, how fast, and how long the rest takes. Pure: the caller passes the times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pb::report {

/// Limits how often something happens. Times are seconds of one clock.
class Throttle {
  public:
    /// The first time that is due is `first_s`.
    Throttle(double interval_s, double first_s) : interval_s_(interval_s), next_s_(first_s) {}
    /// Returns whether it is time, and if so, waits for the next interval.
    [[nodiscard]] bool is_due(double now_s);

  private:
    double interval_s_, next_s_;
};

/// The time for the rest of some work at its average rate, after `fraction` of it took `seconds`. None at the start.
[[nodiscard]] std::optional<double> seconds_left(double fraction, double seconds);

/// The part of a point that is done after some of its passes. A point ends after `planned` passes or later, so from
/// there on the part grows more slowly, and stays below 1.
[[nodiscard]] double part_of_point(int64_t passes_done, int64_t planned);

/// What stands beside a bar: all of it, and what a narrow terminal has room for. An empty `brief` is the same as
/// `full`.
struct BarFigures {
    std::string full, brief;
};

/// Returns "name [###...] figures" on one line of a terminal with `columns`, without the last column: a line that fills
/// it may wrap. If there is too little room, the bar and the name are shortened first, then the brief figures are
/// taken, then the bar and the name are left out. An empty name leaves no blank.
[[nodiscard]] std::string bar_line(const std::string& name, double fraction, const BarFigures& figures, size_t columns);

/// The state of an image that is being denoised.
struct ImageProgress {
    std::string_view activity;  // shown while no pixels are denoised; empty: a pass runs
    double fraction = 0;        // of the pixels
    double pixels = 0;          // of the image
    double pass_s = 0;          // since its first pass began
    // Where several images share a pass, `pixels` and `fraction` are those of all of them. What follows is for launches
    // of several images.
    double share_before = 0;  // of all work, in what was begun before the pass
    double share = 0;         // of all work, in the pass; 0: one image
    double all_pixels = 0;    // of all images, about
    double all_s = 0;         // since the first image began
};

/// Returns "41 %, 12.30 of 30.00 Mpx, 4.210 Mpx/s, 0:04 left", and for several images "; in all 84.00 of about 900.0
/// Mpx, 7.900 Mpx/s, 1:23 left". The brief figures leave out the pixels, and in all the rate.
[[nodiscard]] BarFigures image_figures(const ImageProgress& image);

/// Returns "2.50 s in all: start-up 0.50 s, network 2.00 s".
[[nodiscard]] std::string time_line(double wall_s, const std::vector<std::pair<std::string_view, double>>& parts);

}  // namespace pb::report
