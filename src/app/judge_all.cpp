#include "app/judge_all.hpp"

#include <fmt/format.h>

#include <sstream>
#include <utility>

namespace pb::app {

namespace {

// Ranks send the fields that `judge` uses as text. These two separators never occur in a reason.
constexpr char kEndOfReason = '\x1f', kEndOfSummary = '\x1e';

std::string to_text(const std::vector<measure::Summary>& summaries) {
    std::string text;
    for (const measure::Summary& summary : summaries) {
        text += fmt::format("{} {} {} {} ", static_cast<int>(summary.status), static_cast<int>(summary.validity),
                            static_cast<int>(summary.verification), summary.repetitions);
        for (const std::string& reason : summary.reasons) text += reason + kEndOfReason;
        text += kEndOfSummary;
    }
    return text;
}

void add_from_text(const std::string& text, std::vector<measure::Summary>& summaries) {
    std::istringstream all(text);
    for (std::string one; std::getline(all, one, kEndOfSummary);) {
        std::istringstream fields(one);
        int status = 0, validity = 0, verification = 0;
        measure::Summary summary;
        fields >> status >> validity >> verification >> summary.repetitions;
        fields.get();
        summary.status = static_cast<record::PointStatus>(status);
        summary.validity = static_cast<measure::Validity>(validity);
        summary.verification = static_cast<record::Verification::Outcome>(verification);
        for (std::string reason; std::getline(fields, reason, kEndOfReason);) summary.reasons.push_back(reason);
        summaries.push_back(std::move(summary));
    }
}

}  // namespace

measure::ImageVerdict judge_all(const comm::Communicator& world, const std::vector<measure::Summary>& mine) {
    const auto texts = world.gather(to_text(mine));
    measure::ImageVerdict images;
    if (world.is_root()) {
        std::vector<measure::Summary> all;
        for (const std::string& text : texts) add_from_text(text, all);
        images = measure::judge_images(std::move(all));
    }
    ExitCode& code = images.verdict.exit_code;
    code = static_cast<ExitCode>(static_cast<int>(world.broadcast(static_cast<double>(code))));
    return images;
}

}  // namespace pb::app
