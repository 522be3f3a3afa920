// Points whose network runs in a process beside each rank: verified like every point, failures become their status.
#include "engine/worker/engine_places.hpp"
#include "support/environment_variable.hpp"
#include "support/on_ranks.hpp"
#include "support/small_point.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace pb::run {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

config::PointSettings small_point(network::NetworkKind network) {
    config::PointSettings settings = test::computed_point({72, 56});
    settings.network = network;
    settings.batch.count = 2;
    settings.last_batch = config::LastBatch::ragged;
    settings.protocol.min_reps = 2;
    settings.protocol.forward_calls = 1;
    settings.protocol.verify_probes = 2;
    return settings;
}

/// Pythons of the engines that are installed, by name.
std::vector<std::pair<EngineKind, std::string>> installed_engines() {
    std::vector<std::pair<EngineKind, std::string>> found;
    for (const auto& [engine, name] : enum_table<EngineKind>()) {
        const fs::path python = engine::worker_engine::environments_folder() / std::string(name) / "bin" / "python";
        if (has_own_process(engine) && fs::exists(python)) found.emplace_back(engine, python.string());
    }
    return found;
}

class EnginePoints : public test::OnRanks {
  protected:
    void SetUp() override {
        if (engines_.empty()) GTEST_SKIP() << "no engine is installed: launch/engines.sh --only onnxruntime";
        ASSERT_EQ(setenv("PATCHBENCH_PYTHON", engines_.front().second.c_str(), 1), 0);
    }

    record::PointTrace run_faulty(const std::string& options, double timeout_s = 20) {
        config::PointSettings settings = small_point(network::kind_of<network::DncnnShape>());
        settings.engine = EngineKind::python;
        settings.engine.file = FAULTY_ENGINE;
        settings.worker.options = options;
        settings.protocol.worker_timeout_s = timeout_s;
        settings.memory_limit_mib = 64;
        return run(settings);
    }

    void expect_failure(const std::string& options, record::PointStatus status, const std::string& words,
                        double timeout_s = 20) {
        const record::PointTrace trace = run_faulty(options, timeout_s);
        EXPECT_EQ(trace.status, status) << options;
        EXPECT_THAT(trace.reason, HasSubstr(words)) << options;
    }

    const std::vector<std::pair<EngineKind, std::string>> engines_ = installed_engines();
};

class EnginePointsIn : public EnginePoints, public testing::WithParamInterface<EngineKind> {
  protected:
    void SetUp() override {
        EnginePoints::SetUp();
        const auto is_asked_for = [](const auto& installed) { return installed.first == GetParam(); };
        if (!IsSkipped() && std::ranges::none_of(engines_, is_asked_for)) GTEST_SKIP() << "it is not installed";
    }

    void expect_verified(network::NetworkKind network) {
        config::PointSettings settings = small_point(network);
        settings.engine = GetParam();
        const record::PointTrace trace = run(settings);
        ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        if (!world_.is_root()) return;
        EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed)
            << testing::PrintToString(trace.verification.reasons);
        ASSERT_FALSE(trace.point.notes.empty());
        EXPECT_THAT(trace.point.notes.back(), HasSubstr("ms with the hand-over"));
        constexpr int64_t kPythonBytes = int64_t{20} << 20;  // with NumPy and a framework it holds more
        for (const record::RankTrace& rank : trace.ranks) {
            EXPECT_GT(rank.memory.allocated_peak, kPythonBytes);
            EXPECT_GT(rank.memory.reserved_peak, kPythonBytes);
            ASSERT_EQ(rank.round_trip_s.size(), rank.forward_call_s.size());
            for (size_t i = 0; i < rank.round_trip_s.size(); ++i)
                EXPECT_LT(rank.forward_call_s[i], rank.round_trip_s[i]) << "the hand-over takes time";
        }
    }
};

INSTANTIATE_TEST_SUITE_P(Engines, EnginePointsIn,
                         testing::Values(EngineKind::onnxruntime, EngineKind::openvino, EngineKind::pytorch,
                                         EngineKind::tensorflow, EngineKind::jax),
                         [](const auto& engine) { return std::string(name_of(engine.param)); });

TEST_P(EnginePointsIn, PassVerification) {
    // All networks in the first engine, one in each of the others.
    for (const auto& [network, name] : enum_table<network::NetworkKind>()) {
        if (GetParam() != engines_.front().first && network != network::kind_of<network::UnetShape>()) continue;
        SCOPED_TRACE(name);
        expect_verified(network);
    }
}

TEST_F(EnginePoints, FailAndTheNextOneRuns) {
    expect_failure("load=raise", record::PointStatus::failed, "dislikes these windows");
    expect_failure("call=raise", record::PointStatus::failed, "dislikes these windows");
    expect_failure("call=shape", record::PointStatus::failed, "instead of");
    expect_failure("call=crash", record::PointStatus::failed, "the last line of a crash");
    expect_failure("call=crash,from=4", record::PointStatus::failed, "the last line of a crash");
    expect_failure("call=memory", record::PointStatus::oom, "out of memory");
    expect_failure("call=hang", record::PointStatus::failed, "worker.timeout_s", 3);
    config::PointSettings healthy = small_point(network::kind_of<network::DncnnShape>());
    EXPECT_EQ(run(healthy).status, record::PointStatus::ok);
}

TEST_F(EnginePoints, WithAnotherNetworksPixelsFailVerification) {
    const record::PointTrace trace = run_faulty("");  // gives back its input
    EXPECT_EQ(trace.status, record::PointStatus::ok);
    if (!world_.is_root()) return;
    EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::failed);
}

TEST_F(EnginePoints, OfAnAbsentEngineSayHowToInstallIt) {
    const test::EnvironmentVariable engines("PATCHBENCH_ENGINES", "/nowhere");
    config::PointSettings settings = small_point(network::kind_of<network::DncnnShape>());
    settings.engine = EngineKind::openvino;
    const record::PointTrace trace = run(settings);
    EXPECT_EQ(trace.status, record::PointStatus::failed);
    EXPECT_THAT(trace.reason, HasSubstr("launch/engines.sh --only openvino"));
}

}  // namespace
}  // namespace pb::run
