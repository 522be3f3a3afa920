// Points whose network runs in a process beside each rank: verified like every point, failures become their status.
#include "engine/worker/engine_places.hpp"
#include "run/launch.hpp"
#include "run/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace pb {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

StudySettings quiet_study() {
    StudySettings study;
    study.reduction = ReductionKind::mpi;
    study.bounds = false;
    return study;
}

PointSettings small_point(NetworkKind network) {
    PointSettings settings;
    settings.network = network;
    settings.weights = "seed:1";
    settings.device = DeviceChoice::cpu;
    settings.patch = 24;
    settings.halo = {HaloSetting::Kind::pixels, 8};
    settings.batch.count = 2;
    settings.last_batch = LastBatch::ragged;
    settings.threads.count = 1;
    settings.protocol.warmup_reps = 0;
    settings.protocol.min_reps = 2;
    settings.protocol.max_time_s = 0;
    settings.protocol.forward_calls = 1;
    settings.protocol.verify_probes = 2;
    settings.protocol.verify_whole_max_mpx = 0;
    settings.image.height = 72;
    settings.image.width = 56;
    return settings;
}

/// Pythons of the engines that are installed, by name.
std::vector<std::pair<EngineKind, std::string>> installed_engines() {
    std::vector<std::pair<EngineKind, std::string>> found;
    for (const auto& [engine, name] : enum_names(EngineKind{})) {
        const fs::path python = worker_engine::environments_folder() / std::string(name) / "bin" / "python";
        if (has_own_process(engine) && fs::exists(python)) found.emplace_back(engine, python.string());
    }
    return found;
}

class EnginePoints : public testing::Test {
  protected:
    EnginePoints() : world_(Communicator::world()), topology_(gather_topology(world_, {DeviceChoice::cpu})) {}

    void SetUp() override {
        if (engines_.empty()) GTEST_SKIP() << "no engine is installed: launch/engines.sh --only onnxruntime";
        ASSERT_EQ(setenv("PATCHBENCH_PYTHON", engines_.front().second.c_str(), 1), 0);
    }

    PointTrace run(const PointSettings& settings) {
        const auto facts_of = [](const ImageSettings& image) {
            return SourceFacts{{image.height, image.width}, image.channels};
        };
        const Point point = make_plan({study_, {settings}, ""}, topology_, facts_of).points.front();
        return Runner(world_, topology_, study_).run(point, {});
    }

    PointTrace run_faulty(const std::string& options) {
        PointSettings settings = small_point(kind_of<DncnnShape>());
        settings.engine = EngineKind::python;
        settings.engine.file = FAULTY_ENGINE;
        settings.worker.options = options;
        settings.protocol.worker_timeout_s = 20;
        settings.memory_limit_mib = 64;
        return run(settings);
    }

    void expect_failure(const std::string& options, PointStatus status, const std::string& words) {
        const PointTrace trace = run_faulty(options);
        EXPECT_EQ(trace.status, status) << options;
        EXPECT_THAT(trace.reason, HasSubstr(words)) << options;
    }

    const Communicator world_;
    const Topology topology_;
    const StudySettings study_ = quiet_study();
    const std::vector<std::pair<EngineKind, std::string>> engines_ = installed_engines();
};

TEST_F(EnginePoints, PassVerification) {
    for (const auto& [engine, python] : engines_)
        for (const auto& [network, name] : enum_names(NetworkKind{})) {
            PointSettings settings = small_point(network);
            settings.engine = engine;
            const PointTrace trace = run(settings);
            ASSERT_EQ(trace.status, PointStatus::ok) << trace.reason;
            if (!world_.is_root()) continue;
            EXPECT_EQ(trace.verification.outcome, Verification::Outcome::passed) << name;
            ASSERT_FALSE(trace.point.notes.empty());
            EXPECT_THAT(trace.point.notes.back(), HasSubstr("ms with the hand-over"));
            constexpr int64_t kPythonBytes = int64_t{20} << 20;  // with NumPy and a framework it holds more
            for (const RankTrace& rank : trace.ranks) EXPECT_GT(rank.memory.allocated_peak, kPythonBytes);
            if (engine != engines_.front().first) break;  // the networks in one engine, the engines in one network
        }
}

TEST_F(EnginePoints, FailAndTheNextOneRuns) {
    expect_failure("load=raise", PointStatus::failed, "dislikes these windows");
    expect_failure("call=raise", PointStatus::failed, "dislikes these windows");
    expect_failure("call=shape", PointStatus::failed, "instead of");
    expect_failure("call=crash", PointStatus::failed, "the last line of a crash");
    expect_failure("call=crash,from=4", PointStatus::failed, "the last line of a crash");
    expect_failure("call=memory", PointStatus::oom, "out of memory");
    expect_failure("call=hang", PointStatus::failed, "worker.timeout_s");
    PointSettings healthy = small_point(kind_of<DncnnShape>());
    EXPECT_EQ(run(healthy).status, PointStatus::ok);
}

TEST_F(EnginePoints, WithAnotherNetworksPixelsFailVerification) {
    const PointTrace trace = run_faulty("");  // gives back its input
    EXPECT_EQ(trace.status, PointStatus::ok);
    if (!world_.is_root()) return;
    EXPECT_EQ(trace.verification.outcome, Verification::Outcome::failed);
}

TEST_F(EnginePoints, OfAnAbsentEngineSayHowToInstallIt) {
    const char* const former = std::getenv("PATCHBENCH_ENGINES");
    const std::string kept = former != nullptr ? former : "";
    ASSERT_EQ(setenv("PATCHBENCH_ENGINES", "/nowhere", 1), 0);
    PointSettings settings = small_point(kind_of<DncnnShape>());
    settings.engine = EngineKind::openvino;
    const PointTrace trace = run(settings);
    EXPECT_EQ(trace.status, PointStatus::failed);
    EXPECT_THAT(trace.reason, HasSubstr("launch/engines.sh --only openvino"));
    kept.empty() ? unsetenv("PATCHBENCH_ENGINES") : setenv("PATCHBENCH_ENGINES", kept.c_str(), 1);
}

}  // namespace
}  // namespace pb
