// The search for the fastest way to denoise an image by successive halving (Jamieson and Talwalkar, AISTATS 2016): all
// candidates are measured on a small crop of the image, the best third of them on a larger one, and so on. This file
// decides which candidates are next, which are out and why, given what was measured. Pure.
#pragma once

#include "measure/summary.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pb::measure {

/// One way to denoise the image, with its figures for the whole image by arithmetic. The halo is a number of pixels.
struct TuningCandidate {
    config::PointSettings settings;
    int64_t least_edge = 1;      // of a crop that has a full batch for every rank
    double computed_pixels = 0;  // of the whole image, halos included (plan/prediction.hpp)
    double peak_mib = 0;         // predicted, on one rank; the least possible where it exceeds the limit; 0: unknown
};

/// What became of a candidate.
struct TuningTrial {
    TuningCandidate candidate;
    int64_t edge = 0;             // of the last crop on which it was measured; 0: none
    std::optional<double> job_s;  // for the whole image: its pixels at the rate of that crop
    std::optional<double> psnr_loss_db;
    std::optional<double> peak_mib;  // measured on that crop
    std::string dropped;             // why it is out; empty: it is still in

    [[nodiscard]] bool is_in() const { return dropped.empty(); }
};
using TuningTrials = std::vector<TuningTrial>;

struct TuningLimits {
    double max_psnr_loss_db = 0.05;
    int64_t memory_limit_mib = 0;  // 0: none
};

/// Edges of the crops, smallest first. The crop of the last one is the whole image where that is small.
[[nodiscard]] std::vector<int64_t> tuning_edges(Extent image);

/// Extent of the crop of this edge.
[[nodiscard]] inline Extent tuning_crop(Extent image, int64_t edge) {
    return {std::min(edge, image.h), std::min(edge, image.w)};
}

/// Edge of a crop on which `ranks` ranks have a full batch each, at most `most`.
[[nodiscard]] int64_t least_edge(int64_t patch, int64_t batch, int ranks, int64_t most);

/// Drops what arithmetic excludes: candidates that are predicted to need more memory than the limit, and those that
/// process half as many pixels again as another one with the same engine and precision. With a limit that other one
/// must be predicted to fit.
void drop_by_arithmetic(TuningTrials& trials, const TuningLimits& limits);

/// Indices of the candidates to measure on a crop of this edge, the most promising first: those that were fast before,
/// then those that were not measured yet, in their order.
[[nodiscard]] std::vector<size_t> entrants(const TuningTrials& trials, int64_t edge);

/// Takes the result of a candidate on a crop of this edge. It is out when it failed, when its pixels were not verified,
/// when its seams show, and when it loses more than the limit against `reference_psnr_db`, that of the whole crop in
/// fp32.
void take_result(TuningTrial& trial, int64_t edge, const record::PointTrace& trace, double reference_psnr_db,
                 const TuningLimits& limits);

/// Ends a round: keeps the faster third, two at least, of the candidates that were measured on a crop of this edge, and
/// drops the others; those that were due and never measured ("not reached"); and those that wait for a larger crop
/// with an engine and precision of which something was measured and nothing is left. Candidates of an earlier round for
/// which no time was left stay in.
void halve(TuningTrials& trials, int64_t edge);

/// Index of the candidate to take: of those still in that were measured on the largest crop, the fastest. None: nothing
/// qualifies.
[[nodiscard]] std::optional<size_t> find_fastest(const TuningTrials& trials);

/// Why nothing fits: "nothing fits into 5 MiB: .. needs least, 123 MiB". Empty where something is predicted to fit, and
/// where nothing is predicted.
[[nodiscard]] std::string why_nothing_fits(const TuningTrials& trials, const TuningLimits& limits);

/// How long the next measurement of a search will take, by those that were made: a search with an end must know what
/// still fits.
class TuningTimes {
  public:
    /// `seconds`: all that a measurement on a crop of `pixels` took, verification included. `kind`: measurements of one
    /// kind take about as long a pixel.
    void add(const std::string& kind, int64_t pixels, double seconds) {
        last_[kind] = seconds / static_cast<double>(pixels);
    }

    /// At the rate of the last one of this kind; of an unknown kind, at that of the slowest; 0 before the first.
    [[nodiscard]] double predict(const std::string& kind, int64_t pixels) const {
        const auto known = last_.find(kind);
        double rate = known == last_.end() ? 0 : known->second;
        if (known == last_.end())
            for (const auto& [other, seconds] : last_) rate = seconds > rate ? seconds : rate;
        return rate * static_cast<double>(pixels);
    }

  private:
    std::map<std::string, double> last_;  // seconds a pixel
};

}  // namespace pb::measure
