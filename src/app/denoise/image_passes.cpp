#include "app/denoise/image_passes.hpp"

#include <tuple>

namespace pb::app {

namespace {

/// Orders passes by what they mean for their image.
bool is_better(const measure::Summary& a, const measure::Summary& b) {
    const auto badness = [](const measure::Summary& pass) {
        return std::tuple(pass.verification == record::Verification::Outcome::failed,
                          pass.status != record::PointStatus::ok, pass.validity);
    };
    return badness(a) < badness(b);
}

}  // namespace

measure::Summary ImagePasses::add(const record::PointTrace& trace, int64_t together) {
    using Outcome = record::Verification::Outcome;
    measure::Summary pass = measure::summarise(trace);
    if (trace.verification.outcome != Outcome::off)
        checks += {1, trace.verification.windows_checked > 0 ? 1 : 0, trace.verification.windows_checked};
    images_in_pass = std::max(images_in_pass, together);
    network_sha256 = trace.network_sha256;
    is_written = is_written && pass.status == record::PointStatus::ok && pass.verification != Outcome::failed;
    is_interrupted = is_interrupted || pass.status == record::PointStatus::interrupted;
    if (count++ == 0 || is_better(worst, pass)) worst = pass;
    return pass;
}

}  // namespace pb::app
