#include "app/denoise/progress.hpp"

#include "base/stopwatch.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <sstream>
#include <utility>

namespace pb::app {

namespace {

constexpr double kShortImageS = 1;
constexpr double kWorthNamingS = 0.005;  // a halo that is known takes less

/// Seconds since the kernel started this process: field 22 of /proc/self/stat (proc(5)), in ticks since the boot. 0
/// where it does not tell. This includes the loading of libraries, before main.
double process_age_s() {
    constexpr int kFieldsBefore = 19;  // between the name of the program, which may contain anything, and field 22
    std::string text;
    std::getline(std::ifstream("/proc/self/stat"), text);
    const size_t end_of_name = text.rfind(')');
    if (end_of_name == std::string::npos) return 0;
    std::istringstream fields(text.substr(end_of_name + 1));
    std::string skipped;
    for (int i = 0; i < kFieldsBefore; ++i) fields >> skipped;
    double start_ticks = 0;
    timespec now{};
    if (!(fields >> start_ticks) || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
    const double now_s = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    return std::max(0.0, now_s - start_ticks / static_cast<double>(sysconf(_SC_CLK_TCK)));
}

}  // namespace

DenoiseProgress::DenoiseProgress(bool is_shown)
    : process_start_s_(monotonic_seconds() - process_age_s()),
      drawing_(kUpdateIntervalS, 0),
      logging_(kLogIntervalS, kLogIntervalS) {
    if (is_shown) line_.emplace();
}

void DenoiseProgress::begin_image(const std::string& name, const plan::ImagePlace& place, int64_t num_waiting) {
    const double now_s = count_time();
    if (images_begin_s_ == 0)
        images_begin_s_ = now_s;
    else
        shows_steps_ = now_s - image_begin_s_ > kShortImageS;
    image_begin_s_ = now_s;
    name_ = without_controls(place.count == 1 ? name : fmt::format("{}/{} {}", place.number, place.count, name));
    pixels_before_ += std::exchange(image_pixels_, 0);
    bytes_begun_.push_back(place.bytes);
    all_bytes_begun_ += place.bytes;
    bytes_in_all_ = place.bytes_in_all;
    num_together_ = num_waiting + 1;
    image_ = {.all_pixels = image_.all_pixels};
    if (place.count > 1 && bytes_in_all_ > 0) {
        const double bytes = std::accumulate(bytes_begun_.end() - num_together_, bytes_begun_.end(), 0.0);
        image_.share = bytes / bytes_in_all_;
        image_.share_before = std::max(0.0, place.bytes_before + place.bytes - bytes) / bytes_in_all_;
    }
    if (num_waiting > 0) name_ += fmt::format(" and {} before it", num_waiting);
    num_passes_ = 1;
    passes_done_ = pass_size_ = 0;
    next_size_ = 1;
    begin(run::Activity::reading);
}

void DenoiseProgress::expect(double pixels, int64_t num_passes) {
    image_.pixels = static_cast<double>(num_together_) * pixels;  // those that wait have nearly the same size
    num_passes_ = num_together_ * num_passes;
    image_pixels_ = pixels;
    image_.all_pixels = all_bytes_begun_ > 0 ? (pixels_before_ + pixels) / all_bytes_begun_ * bytes_in_all_ : 0;
}

void DenoiseProgress::begin(run::Activity activity) {
    const double now_s = count_time();
    activity_ = activity;
    image_.activity = name_of(activity);
    if (activity == run::Activity::network) {
        image_.activity = {};
        if (pass_size_ == 0) passes_begin_s_ = now_s;
        passes_done_ += pass_size_;
        pass_size_ = std::exchange(next_size_, 1);
    }
    show(now_s, shows_steps_);
}

void DenoiseProgress::advance(int64_t done, int64_t all) {
    if (!line_ || all == 0) return;
    const double part = static_cast<double>(done) / static_cast<double>(all);
    const double passes = static_cast<double>(passes_done_) + part * static_cast<double>(pass_size_);
    image_.fraction = std::min(1.0, passes / static_cast<double>(num_passes_));
    show(count_time(), false);
}

void DenoiseProgress::end() {
    (void)count_time();
    activity_ = run::Activity::waiting;
    line_.reset();
}

std::string DenoiseProgress::closing_line(bool with_waiting) {
    const double wall_s = count_time();
    std::vector<std::pair<std::string_view, double>> parts;
    for (const auto& [activity, name] : enum_table<run::Activity>()) {
        const double spent_s = spent_s_[static_cast<size_t>(activity)];
        const bool is_left_out = (activity == run::Activity::waiting && !with_waiting) ||
                                 (activity == run::Activity::halo_search && spent_s < kWorthNamingS);
        if (!is_left_out) parts.emplace_back(name, spent_s);
    }
    return report::time_line(wall_s, parts);
}

double DenoiseProgress::count_time() {
    const double now_s = monotonic_seconds() - process_start_s_;
    spent_s_[static_cast<size_t>(activity_)] += now_s - counted_until_s_;
    counted_until_s_ = now_s;
    return now_s;
}

void DenoiseProgress::show(double now_s, bool at_once) {
    if (!line_) return;
    image_.pass_s = pass_size_ == 0 ? 0 : now_s - passes_begin_s_;
    image_.all_s = now_s - images_begin_s_;
    if (line_->is_on_terminal()) {
        if (drawing_.is_due(now_s) || at_once)
            line_->draw(report::bar_line(name_, image_.fraction, report::image_figures(image_), line_->columns()));
    } else if (logging_.is_due(now_s)) {
        print_text(stderr, "patchbench: {}: {}\n", name_, report::image_figures(image_).full);
    }
}

}  // namespace pb::app
