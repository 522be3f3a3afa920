// Points that run on all ranks of the launch, for tests of what comes of them.
#pragma once

#include "run/environment.hpp"
#include "run/pixels/image_source.hpp"
#include "run/runner.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string_view>

namespace pb::test {

/// A folder of the root that all ranks see. Collective, from the beginning to the end.
class SharedFolder {
  public:
    explicit SharedFolder(const comm::Communicator& ranks) : ranks_(ranks) {
        if (ranks.is_root()) own_.emplace();
        path_ = ranks.broadcast(own_ ? own_->path().string() : "");
    }
    ~SharedFolder() { ranks_.barrier(); }
    SharedFolder(const SharedFolder&) = delete;
    SharedFolder& operator=(const SharedFolder&) = delete;
    [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    const comm::Communicator& ranks_;
    std::optional<TemporaryFolder> own_;  // on the root
    std::filesystem::path path_;
};

/// Metrics are gathered by MPI, and no time is spent on the rates of the machine.
inline config::StudySettings quiet_study() {
    config::StudySettings study;
    study.reduction = ReductionKind::mpi;
    study.bounds = false;
    return study;
}

class OnRanks : public testing::Test {
  protected:
    [[nodiscard]] bool is_last() const { return world_.rank() == world_.size() - 1; }
    /// The point of a study of one.
    [[nodiscard]] plan::Point point_of(const config::PointSettings& settings) const {
        return plan::make_plan({study_, {settings}, ""}, topology_, run::source_facts).points.front();
    }
    record::PointTrace run(const config::PointSettings& settings) {
        return run::Runner(world_, topology_, study_).run(point_of(settings), {});
    }

    const comm::Communicator world_ = comm::Communicator::world();
    config::StudySettings study_ = quiet_study();
    plan::Topology topology_ = run::gather_topology(world_, config::DeviceChoice::cpu);
};

}  // namespace pb::test
