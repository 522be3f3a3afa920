// Samples with known medians for the simulation tests of the statistics; the same in every run.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace pb::test {

class RandomSamples {
  public:
    explicit RandomSamples(uint64_t seed) : engine_(seed) {}

    [[nodiscard]] std::vector<double> normal(size_t count, double mean, double deviation) {
        return draw(count, [&, noise = std::normal_distribution(mean, deviation)]() mutable { return noise(engine_); });
    }

    /// Skewed to the right, as times are; median 1.
    [[nodiscard]] std::vector<double> lognormal(size_t count, double deviation) {
        return draw(count,
                    [&, noise = std::lognormal_distribution(0.0, deviation)]() mutable { return noise(engine_); });
    }

    /// Two modes, as of a processor with two clocks: 60 % about 1.0, 40 % about 1.3, each within 0.05. The median is
    /// where the lower mode has five sixths of its mass: 1 - 0.05 + 0.1 * 5 / 6.
    [[nodiscard]] std::vector<double> bimodal(size_t count) {
        return draw(count, [&, noise = std::uniform_real_distribution(-0.05, 0.05),
                            upper = std::bernoulli_distribution(0.4)]() mutable {
            return (upper(engine_) ? 1.3 : 1.0) + noise(engine_);
        });
    }
    static constexpr double kBimodalMedian = 0.95 + 0.1 * 5 / 6;

  private:
    template <class Draw>
    std::vector<double> draw(size_t count, Draw&& one) {
        std::vector<double> samples(count);
        for (double& sample : samples) sample = one();
        return samples;
    }

    std::mt19937_64 engine_;
};

}  // namespace pb::test
