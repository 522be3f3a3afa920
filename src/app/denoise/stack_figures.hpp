// The figures of all passes over a stack, for the line about it.
#pragma once

#include "app/denoise/image_line.hpp"
#include "app/denoise/noise_level.hpp"
#include "image/sample_map.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pb::app {

/// A pass over a page, or over a group of its bands.
struct StackPass {
    record::PointTrace trace;
    measure::Summary summary;
    RangeFit range;
};

/// What is worth a note on some of the pages: the text for the worst of them, and the numbers of all.
struct PageNote {
    std::string text;
    std::set<int64_t> pages;
    double largest = 0;

    /// `badness`: of equals the first page has the text.
    void add(int64_t page, const std::string& note, double badness);
    [[nodiscard]] std::string line() const;
};

class StackFigures {
  public:
    void add(const StackPass& pass, int64_t page);
    /// These need a pass. `sigma_note`: that of the first pass, used if the notes of all passes are equal.
    [[nodiscard]] const plan::Point& first_point() const { return first_.value().trace.point; }
    [[nodiscard]] ImageLine line(const DenoiseJob& names, int64_t num_pages, const LineNote& sigma_note) const;

  private:
    static constexpr double kEndless = std::numeric_limits<double>::infinity();

    void add_notes(const StackPass& pass, int64_t page);
    void add_lost(const std::string& names);
    [[nodiscard]] std::optional<record::Quality> quality() const;
    [[nodiscard]] std::string ranges_note() const;
    [[nodiscard]] std::string levels_note() const;

    struct BandRange {
        std::string bands;
        image::SampleRange range;
    };

    std::optional<StackPass> first_;
    PageNote beyond_, tiny_, noise_, seams_, change_;
    bool is_noise_alike_ = true;                 // all pages have the same note on it, or none
    RangeFit low_{RangeFit::Kind::low, {0, 0}};  // of all pages; good, when one of them is not low
    std::vector<std::string> lost_;              // metadata that the output lacks, of any page
    double lowest_sigma_ = 1, highest_sigma_ = 0;
    double lowest_level_ = kEndless, highest_level_ = 0;  // the same in the samples' units, where they have a range
    std::vector<BandRange> ranges_;                       // one for each group of bands, or one for all bands
    int64_t num_bands_ = 0;                               // the last band of any group; 0: not by bands
    double pixels_ = 0, seconds_ = 0;
    double noisy_error_ = 0, denoised_error_ = 0, num_compared_ = 0;  // squared errors of samples
};

}  // namespace pb::app
