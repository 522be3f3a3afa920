// Each instruction set that Highway's loops were compiled for and that this processor has, in turn.
#pragma once

#include <hwy/highway.h>

#include <cstdint>
#include <vector>

namespace pb::test {

/// Chooses the instruction set while it lives.
class OnTarget {
  public:
    explicit OnTarget(int64_t target) { choose(target); }
    ~OnTarget() { choose(0); }
    OnTarget(const OnTarget&) = delete;

  private:
    static void choose(int64_t target) {
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().DeInit();
    }
};

inline std::vector<int64_t> targets() {
    std::vector<int64_t> found{HWY_STATIC_TARGET};
    for (const int64_t target : {HWY_SSE4, HWY_AVX2, HWY_AVX3})
        if ((hwy::SupportedTargets() & target) != 0) found.push_back(target);
    return found;
}

}  // namespace pb::test
