// Shows how far `denoise` is, and adds up what its time was spent on.
#pragma once

#include "app/terminal.hpp"
#include "plan/image_sharing.hpp"
#include "report/tables/progress_text.hpp"
#include "run/progress.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace pb::app {

class DenoiseProgress final : public run::ProgressListener {
  public:
    /// `is_shown`: on one rank. A terminal gets a bar. Another stderr gets a line every half minute, so that the log of
    /// a long job shows that it goes on.
    explicit DenoiseProgress(bool is_shown);

    /// An image is started. `num_waiting` images before it are not done yet, because they may be done in one pass with
    /// it.
    void begin_image(const std::string& name, const plan::ImagePlace& place, int64_t num_waiting);
    /// The image has so many pixels and is done in `num_passes` passes (pages, groups of bands).
    void expect(double pixels, int64_t num_passes);
    /// All images are done: removes the bar and waits for other ranks.
    void end();

    void begin(run::Activity activity) override;
    void join(int64_t num_images) override { next_size_ = num_images; }
    void advance(int64_t done, int64_t all) override;

    /// Returns the wall time since the process started, and what this rank did in it. `with_waiting`: there are other
    /// ranks.
    [[nodiscard]] std::string closing_line(bool with_waiting);

  private:
    /// Adds the time since the last call to the current activity. Returns the time since the process started.
    double count_time();
    void show(double now_s, bool at_once);

    std::string name_;
    report::ImageProgress image_;
    std::vector<double> bytes_begun_;           // of the images that this rank has begun
    double all_bytes_begun_ = 0;                // of all of them
    double pixels_before_ = 0;                  // of those before this one
    double image_pixels_ = 0;                   // of this one
    double bytes_in_all_ = 0;                   // of all images
    int64_t num_together_ = 1;                  // images of a pass
    int64_t num_passes_ = 1, passes_done_ = 0;  // each over one image, page or group of bands
    int64_t pass_size_ = 0, next_size_ = 1;     // how many of them the current pass is, and the next
    double images_begin_s_ = 0, image_begin_s_ = 0, passes_begin_s_ = 0;  // since the process started
    bool shows_steps_ = true;  // false after a short image: its activities change faster than people read

    run::Activity activity_ = run::Activity::start_up;
    std::array<double, run::kNumActivities> spent_s_{};
    double counted_until_s_ = 0;
    double process_start_s_;  // on the monotonic clock

    std::optional<TerminalLine> line_;  // none: nothing is shown
    report::Throttle drawing_, logging_;
};

}  // namespace pb::app
