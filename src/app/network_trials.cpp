#include "app/custom_networks.hpp"
#include "app/terminal.hpp"
#include "base/network_format.hpp"
#include "base/sha256.hpp"
#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "base/user_cache.hpp"
#include "device/processors.hpp"
#include "engine/network_file.hpp"
#include "report/tables/progress_text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>

namespace pb::app {

namespace fs = std::filesystem;

namespace {

/// Shows on stderr that a network is being tried: large ones take minutes.
class TrialsLine {
  public:
    explicit TrialsLine(std::string file) : file_(std::move(file)), start_s_(monotonic_seconds()) {}

    void operator()(Extent window) {
        const double seconds = monotonic_seconds() - start_s_;
        const std::string text = fmt::format("{}: trying windows: {}, of {} x {} px, {:.0f} s", file_, ++num_trials_,
                                             window.h, window.w, seconds);
        if (line_.is_on_terminal() && drawing_.is_due(seconds))
            line_.draw(text.substr(0, line_.columns() - 1));
        else if (!line_.is_on_terminal() && logging_.is_due(seconds))
            print_text(stderr, "patchbench: {}\n", text);
    }

  private:
    std::string file_;
    double start_s_;
    int64_t num_trials_ = 0;
    TerminalLine line_;
    report::Throttle drawing_{kUpdateIntervalS, 1}, logging_{kLogIntervalS, kLogIntervalS};
};

/// Whether the digest of `file` tells everything that was tried: Python code, as network or as engine, may load more.
bool is_told_by_digest(const fs::path& file, EngineKind engine) {
    return network_format(file) != NetworkFormat::python && engine != EngineKind::python;
}

/// What an earlier run found by trying this file in this version of the engine.
class KnownTrials {
  public:
    KnownTrials(const fs::path& cache, const fs::path& file, EngineKind engine) {
        constexpr int kMethod = 3;  // to be raised when the trials change
        constexpr size_t kDigits = 16;
        if (cache.empty() || !is_told_by_digest(file, engine)) return;
        cache_ = UserCache(cache / "networks");
        const std::string versions = engine::versions_of(engine);
        question_ = fmt::format("{}-{}-{}-{}", engine::digest_of_network(file), name_of(engine),
                                sha256_of(std::as_bytes(std::span(versions))).substr(0, kDigits), kMethod);
    }

    [[nodiscard]] std::optional<network::FoundCard> find() const {
        std::istringstream answer(cache_.find(question_).value_or(""));
        network::FoundCard found;
        std::string num_trials, card;
        std::getline(std::getline(answer, num_trials, kBetween), card, kBetween);
        if (!answer || card.empty() || !read_number(num_trials, found.num_trials) || found.num_trials < 1)
            return std::nullopt;
        for (std::string remark; std::getline(answer, remark, kBetween);) found.remarks.push_back(remark);
        try {
            found.card = network::parse_network_card(card);
            return found;
        } catch (const UsageError&) {
            return std::nullopt;
        }
    }

    void keep(const network::FoundCard& found) const {
        std::string answer = fmt::format("{}{}{}", found.num_trials, kBetween, network::to_text(found.card));
        for (const std::string& remark : found.remarks) answer += kBetween + without_controls(remark);
        cache_.keep(question_, answer);
    }

  private:
    static constexpr char kBetween = '\t';
    UserCache cache_{""};
    std::string question_;
};

LookedAt looked_at(network::FoundCard found, EngineKind engine, const char* when = "") {
    return {.card = std::move(found.card),
            .remarks = std::move(found.remarks),
            .origin = fmt::format("found by trying {} windows in {}{}", found.num_trials, name_of(engine), when)};
}

}  // namespace

LookedAt try_network(const fs::path& file, const engine::EngineOptions& options, const fs::path& cache) {
    const KnownTrials trials(cache, file, options.engine);
    if (auto known = trials.find()) return looked_at(std::move(*known), options.engine, ", in an earlier run");
    TrialsLine line(without_controls(file.filename().string()));
    network::FoundCard found = engine::try_network(file, options, std::ref(line));
    trials.keep(found);
    return looked_at(std::move(found), options.engine);
}

LookedAt try_range(const fs::path& file, const network::NetworkCard& card) {
    engine::EngineOptions options;
    options.threads = device::usable_processors();
    TrialsLine line(without_controls(file.filename().string()));
    return looked_at(engine::try_layers(file, card, options, std::ref(line)), options.engine);
}

}  // namespace pb::app
