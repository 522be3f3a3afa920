// Denoises a stack: its pages one after the other, each as an image, into one file.
#pragma once

#include "app/denoise/inputs.hpp"
#include "comm/communicator.hpp"
#include "image/placed_image.hpp"
#include "measure/summary.hpp"
#include "record/point.hpp"
#include "run/pixels/file_samples.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pb::app {

/// Reads "0-9,20": page numbers from 0, ascending. "all": no numbers. Throws UsageError that names the option.
[[nodiscard]] std::vector<int64_t> parse_pages(const std::string& text);

/// A pass over the current page, or over a group of its bands.
struct StackPass {
    std::string bands, range;                    // as image.bands and image.range
    std::function<void(const PixelView&)> take;  // receives the denoised samples on the root
};

struct PassResult {
    record::PointTrace trace;
    measure::Summary summary;
    std::string note;  // about the range of the samples
};

using PageDone = std::function<void(const PassResult&)>;

struct StackJob {
    const comm::Communicator& ranks;
    DenoiseJob names;
    run::OpenImage file;
    config::ImageSettings image;
    std::optional<image::Compression> compression;  // none: the input's
    std::vector<std::string> band_groups;           // empty: a network takes a page as it is
    std::function<PassResult(const StackPass&)> run_pass;
    // A pass over page `page`, the current one, perhaps together with that over other pages: calls back at once or in a
    // later call, in the order of the pages, when that page is the current one again.
    std::function<void(const StackPass&, int64_t page, const PageDone&)> add_page;
    std::function<void()> finish_pages;  // all pages that were added
};

/// Returns the line about the stack on the root. If a page fails, no file is written and the line is about that page.
/// An automatic range is found for the whole stack, the noise level for each page. Collective. Throws AgreedError.
[[nodiscard]] std::string denoise_stack(const StackJob& job);

}  // namespace pb::app
