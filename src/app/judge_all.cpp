#include "app/judge_all.hpp"

#include <fmt/format.h>

#include <sstream>

namespace pb {

namespace {

// Ranks send the fields that `judge` uses as text. These two separators never occur in a reason.
constexpr char kEndOfReason = '\x1f', kEndOfSummary = '\x1e';

std::string to_text(const std::vector<Summary>& summaries) {
    std::string text;
    for (const Summary& summary : summaries) {
        text += fmt::format("{} {} {} {} ", static_cast<int>(summary.status), static_cast<int>(summary.validity),
                            static_cast<int>(summary.verification), summary.repetitions);
        for (const std::string& reason : summary.reasons) text += reason + kEndOfReason;
        text += kEndOfSummary;
    }
    return text;
}

void add_from_text(const std::string& text, std::vector<Summary>& summaries) {
    std::istringstream all(text);
    for (std::string one; std::getline(all, one, kEndOfSummary);) {
        std::istringstream fields(one);
        int status = 0, validity = 0, verification = 0;
        Summary summary;
        fields >> status >> validity >> verification >> summary.repetitions;
        fields.get();
        summary.status = static_cast<PointStatus>(status);
        summary.validity = static_cast<Validity>(validity);
        summary.verification = static_cast<Verification::Outcome>(verification);
        for (std::string reason; std::getline(fields, reason, kEndOfReason);) summary.reasons.push_back(reason);
        summaries.push_back(std::move(summary));
    }
}

}  // namespace

Verdict judge_all(const Communicator& world, const std::vector<Summary>& mine) {
    const auto texts = world.gather(to_text(mine));
    Verdict verdict;
    if (world.is_root()) {
        std::vector<Summary> all;
        for (const std::string& text : texts) add_from_text(text, all);
        verdict = judge(all, false);
    }
    verdict.exit_code =
        static_cast<ExitCode>(static_cast<int>(world.broadcast(static_cast<double>(verdict.exit_code))));
    return verdict;
}

}  // namespace pb
