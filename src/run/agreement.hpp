// Makes a failure of one rank a failure of all. Each rank tries a step, the ranks agree on the worst outcome, and
// either all throw the same error or none does. No rank then waits in a collective call for a rank that has given up.
// comm/collective_step.hpp does so below the points, and knows no kinds of errors but too little memory.
#pragma once

#include "comm/communicator.hpp"
#include "record/point.hpp"

#include "patchbench/base/error.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace pb::run {

/// The point ended early on all ranks, for the same reason. `status` is written to the results.
class PointFailed : public Error {
  public:
    PointFailed(record::PointStatus status, const std::string& reason) : Error(reason), status_(status) {}
    [[nodiscard]] record::PointStatus status() const { return status_; }

  private:
    record::PointStatus status_;
};

/// An error that all ranks throw together. main prints it once and exits without MPI_Abort.
class AgreedError : public Error {
  public:
    using Error::Error;
};

/// The outcome of a step on one rank.
struct Attempt {
    /// Ascending: the worst decides. `elsewhere`: only because another rank failed, which reports why.
    enum class Kind : uint8_t { ok, elsewhere, interrupted, oom, index_limit, failed, usage };
    Kind kind = Kind::ok;
    std::string reason;
};

/// Runs `step` on this rank and converts an exception into a value. Not collective.
[[nodiscard]] Attempt attempt(const std::function<void()>& step);

/// Collective. When the attempt of any rank failed, all ranks throw PointFailed (oom, index_limit, failed, interrupted)
/// or AgreedError with exit code 2 (usage).
void agree_on(const comm::Communicator& communicator, const Attempt& attempt);

/// Runs `step` with attempt() and then calls agree_on(). `step` must not contain a collective call that another rank
/// could miss.
void together(const comm::Communicator& communicator, const std::function<void()>& step);

/// Collective. Unless `found`, the images that this rank is to read, is the same text on all ranks, they throw
/// AgreedError (usage) with that of each rank that differs from the root: their plans would not fit each other. So they
/// do where `files`, images or weights, are not the same files and hold other bytes (sha256_of_pieces): the output
/// would be a mixture.
void require_same_files(const comm::Communicator& communicator, const std::string& found,
                        const std::vector<std::filesystem::path>& files);

/// Collective. Unless all ranks were told the same (`study` and `points`, of files the name alone, and `others`, lines
/// of more options), they throw AgreedError (usage) with what each rank that differs from the root was told first:
/// their plans would not fit each other.
void require_same_settings(const comm::Communicator& communicator, const config::StudySettings& study,
                           const std::vector<config::PointSettings>& points, std::vector<std::string> others = {});

}  // namespace pb::run
