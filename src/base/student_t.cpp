#include "patchbench/base/student_t.hpp"

#include "patchbench/base/error.hpp"

#include <cmath>
#include <numbers>

namespace pb {

double student_t_within(double t, int degrees) {
    require(degrees >= 1, "Student's t needs a degree of freedom");
    const double angle = std::atan(t / std::sqrt(degrees));
    const double sine = std::sin(angle);
    const double cosine = std::cos(angle);
    const bool odd = degrees % 2 == 1;
    // odd: cos + 2/3 cos^3 + 2*4/(3*5) cos^5 + ..; even: 1 + 1/2 cos^2 + 1*3/(2*4) cos^4 + ..; up to cos^(degrees - 2)
    double term = odd ? cosine : 1;
    double series = degrees == 1 ? 0 : term;
    for (int power = odd ? 3 : 2; power <= degrees - 2; power += 2) {
        term *= cosine * cosine * (power - 1) / power;
        series += term;
    }
    return odd ? (angle + sine * series) * 2 / std::numbers::pi : sine * series;
}

double student_t_quantile(double confidence, int degrees) {
    require(confidence > 0 && confidence < 1, "a confidence lies between 0 and 1");
    double low = 0;
    double high = 1;
    while (student_t_within(high, degrees) < confidence) high *= 2;
    constexpr int kHalvings = 80;  // beyond the precision of a double
    for (int i = 0; i < kHalvings; ++i) {
        const double middle = (low + high) / 2;
        (student_t_within(middle, degrees) < confidence ? low : high) = middle;
    }
    return high;
}

}  // namespace pb
