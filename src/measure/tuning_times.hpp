// How long the next measurement of a search will take, by those that were made: a search with an end must know what
// still fits. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace pb::measure {

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
