#include "report/resume.hpp"

#include "measure/three_rank_trace.hpp"
#include "report/differences.hpp"
#include "report/expected_time.hpp"
#include "support/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace pb::report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

plan::Point planned(int64_t index, int64_t batch) {
    plan::Point point = traced_point();
    point.index = index;
    point.settings.batch.count = point.batch.emplace(batch);
    point.key = plan::key_of(point);
    return point;
}

plan::Plan plan_of(std::vector<plan::Point> points) {
    plan::Plan plan;
    plan.points = std::move(points);
    return plan;
}

RecordedPoint recorded(const plan::Point& point, record::PointStatus status, int64_t session = 0) {
    RecordedPoint recorded;
    recorded.trace.point = point;
    recorded.summary.index = point.index;
    recorded.summary.key = point.key;
    recorded.summary.label = "label";
    recorded.summary.status = status;
    recorded.session = session;
    recorded.json = R"({"type":"point","index":)" + std::to_string(point.index) + "}";
    return recorded;
}

constexpr const char* kStudyLine = R"({"config":{}})";

ResultsFile former(std::vector<RecordedPoint> points) {
    ResultsFile file;
    file.file = "results.jsonl";
    file.sessions = {{{}, kStudyLine}, {{}, "first resume"}, {{}, "second resume"}};
    file.points = std::move(points);
    return file;
}

TEST(Resumption, FinishedPointsAreKeptAndOthersRunAgain) {
    const plan::Plan plan =
        plan_of({planned(0, 1), planned(1, 2), planned(2, 3), planned(3, 4), planned(4, 5), planned(5, 6)});
    const auto resumption = make_resumption(former({recorded(plan.points[0], record::PointStatus::ok),
                                                    recorded(plan.points[1], record::PointStatus::failed),
                                                    recorded(plan.points[2], record::PointStatus::oom),
                                                    recorded(plan.points[3], record::PointStatus::interrupted),
                                                    recorded(plan.points[5], record::PointStatus::index_limit)}),
                                            plan);
    EXPECT_THAT(resumption.finished, ElementsAre(true, false, true, false, false, true));
    EXPECT_THAT(resumption.lines, ElementsAre(kStudyLine, R"({"type":"point","index":0})",
                                              R"({"type":"point","index":2})", R"({"type":"point","index":5})"));
}

TEST(Resumption, NamesThatAreNotUtf8AreKnownAgainAsResultsHoldThem) {
    plan::Plan plan = plan_of({planned(0, 1), planned(1, 2)});
    std::vector<RecordedPoint> points;
    for (plan::Point& point : plan.points) {
        points.push_back(recorded(point, record::PointStatus::ok));
        points.back().trace.point.settings.image.path = "dir\xEF\xBF\xBD/b\xEF\xBF\xBDld.png";
        points.back().trace.point.settings.weights = "n\xEF\xBF\xBD.safetensors";
        point.settings.image.path = "dir\xE9/b\xFCld.png";
        point.settings.weights = "n\xFC.safetensors";
        point.key = plan::key_of(point);
    }
    EXPECT_THAT(make_resumption(former(points), plan).finished, ElementsAre(true, true));
    plan.points[0].settings.batch.count = plan.points[0].batch.emplace(3);
    EXPECT_THAT(usage_error([&] { (void)make_resumption(former(points), plan); }),
                HasSubstr("(label: batch = 1, now 3, ...)"));
}

TEST(Resumption, APointWhoseOutputWasWrongRunsAgain) {
    const plan::Plan plan = plan_of({planned(0, 1), planned(1, 2)});
    RecordedPoint wrong = recorded(plan.points[0], record::PointStatus::ok);
    wrong.summary.verification = record::Verification::Outcome::failed;
    RecordedPoint right = recorded(plan.points[1], record::PointStatus::ok);
    right.summary.verification = record::Verification::Outcome::passed;
    EXPECT_THAT(make_resumption(former({wrong, right}), plan).finished, ElementsAre(false, true));
}

TEST(Resumption, EqualPointsAreCountedOneByOne) {
    const plan::Plan plan = plan_of({planned(0, 1), planned(1, 1), planned(2, 1)});
    const auto resumption = make_resumption(
        former({recorded(plan.points[2], record::PointStatus::ok), recorded(plan.points[0], record::PointStatus::ok)}),
        plan);
    EXPECT_THAT(resumption.finished, ElementsAre(true, false, true));
    const std::vector<RecordedPoint> all = {recorded(plan.points[0], record::PointStatus::ok),
                                            recorded(plan.points[0], record::PointStatus::ok),
                                            recorded(plan.points[0], record::PointStatus::ok)};
    EXPECT_THAT(make_resumption(former(all), plan).finished, ElementsAre(true, true, true));
}

TEST(Resumption, AStudyThatGrewGivesItsPointsNewNumbers) {
    const plan::Plan plan = plan_of({planned(0, 7), planned(1, 1)});
    const auto resumption = make_resumption(former({recorded(planned(0, 1), record::PointStatus::ok)}), plan);
    EXPECT_THAT(resumption.finished, ElementsAre(false, true));
    EXPECT_THAT(resumption.lines, ElementsAre(kStudyLine, R"({"type":"point","index":1})"));
}

TEST(Resumption, APointThatThePlanDoesNotKnowIsRefused) {
    const plan::Plan plan = plan_of({planned(0, 1)});
    EXPECT_THAT(
        usage_error([&] { (void)make_resumption(former({recorded(planned(0, 2), record::PointStatus::ok)}), plan); }),
        HasSubstr("does not have (label: batch = 2, now 1, ...)"));
    EXPECT_NO_THROW((void)make_resumption(former({recorded(planned(0, 2), record::PointStatus::failed)}), plan));
}

TEST(Resumption, AnUnknownPointIsSetBesideTheMostAlike) {
    plan::Plan plan = plan_of({planned(0, 1), planned(1, 4)});
    plan.points[0].settings.patch /= 2;
    plan.points[0].key = plan::key_of(plan.points[0]);
    EXPECT_THAT(
        usage_error([&] { (void)make_resumption(former({recorded(planned(0, 2), record::PointStatus::ok)}), plan); }),
        HasSubstr("(label: batch = 2, now 4, ...)"));
}

TEST(Resumption, APointThatIsThereTwiceIsCalledRepeatedAndNotUnknown) {
    const plan::Plan plan = plan_of({planned(0, 1), planned(1, 2)});
    const auto twice =
        former({recorded(plan.points[0], record::PointStatus::ok), recorded(plan.points[0], record::PointStatus::ok)});
    EXPECT_THAT(usage_error([&] { (void)make_resumption(twice, plan); }),
                AllOf(HasSubstr("results.jsonl "), HasSubstr(" label "), HasSubstr("the line")));
}

TEST(Resumption, SessionsWithoutAFinishedPointAreForgotten) {
    const plan::Plan plan = plan_of({planned(0, 1), planned(1, 2)});
    const auto resumption = make_resumption(former({recorded(plan.points[1], record::PointStatus::failed, 1),
                                                    recorded(plan.points[0], record::PointStatus::ok, 2)}),
                                            plan);
    EXPECT_THAT(resumption.lines, ElementsAre(kStudyLine, "second resume", R"({"type":"point","index":0})"));
}

TEST(Resumption, AnotherProtocolIsNamed) {
    plan::Plan plan = plan_of({planned(0, 1)});
    const auto file = former({recorded(plan.points[0], record::PointStatus::ok)});
    plan.points[0].settings.protocol.min_reps += 7;
    const auto resumption = make_resumption(file, plan);
    ASSERT_EQ(resumption.changes.size(), 1u);
    EXPECT_THAT(resumption.changes[0], HasSubstr("stop.min_reps of label: "));
    EXPECT_TRUE(resumption.finished[0]) << "it changes no pixel and is no part of the key";
}

TEST(Resumption, AnotherExchangeIsNamed) {
    plan::Plan plan = plan_of({planned(0, 1)});
    ResultsFile file = former({recorded(plan.points[0], record::PointStatus::ok)});
    file.sessions[0].json = R"({"config":{"exchange":"mpi"}})";
    plan.study.exchange = ExchangeKind::mpi;
    EXPECT_THAT(make_resumption(file, plan).changes, testing::IsEmpty());
    plan.study.exchange = ExchangeKind::nccl;
    EXPECT_THAT(make_resumption(file, plan).changes, ElementsAre(R"(exchange: "mpi" -> "nccl")"));
}

TEST(Resumption, APointIsKnownWhereItsFilesWereMoved) {
    plan::Plan plan = plan_of({planned(0, 1)});
    plan.points[0].settings.image.path = "studies/photo.png";
    const auto file = former({recorded(plan.points[0], record::PointStatus::ok)});
    plan.points[0].settings.image.path = "/archive/photo.png";
    const auto moved = make_resumption(file, plan);
    EXPECT_TRUE(moved.finished[0]);
    ASSERT_EQ(moved.kept.size(), 1U);
    EXPECT_EQ(moved.kept.at(0).planned->settings.image.path, "/archive/photo.png");
    plan.points[0].settings.image.path = "studies/other.png";
    EXPECT_THAT(usage_error([&] { (void)make_resumption(file, plan); }), HasSubstr("image.path"));
    plan.points[0] = planned(0, 2);
    plan.points[0].settings.image.path = "/archive/photo.png";
    EXPECT_THAT(usage_error([&] { (void)make_resumption(file, plan); }),
                AllOf(HasSubstr("batch = 1, now 2"), testing::Not(HasSubstr("image.path"))));
}

TEST(Resumption, FilesOfOneNameInTwoFoldersAreNotTheSame) {
    plan::Plan plan = plan_of({planned(0, 1), planned(1, 1)});
    plan.points[0].settings.image.path = "day-1/photo.png";
    plan.points[1].settings.image.path = "day-2/photo.png";
    const auto second = make_resumption(former({recorded(plan.points[1], record::PointStatus::ok)}), plan);
    EXPECT_THAT(second.finished, ElementsAre(false, true));
    RecordedPoint alone = recorded(plan.points[1], record::PointStatus::ok);
    alone.summary.index = 0;  // before the study grew
    EXPECT_THAT(make_resumption(former({alone}), plan).finished, ElementsAre(false, true));
}

TEST(Resumption, ARepeatedPointIsKnownWhereItsFilesWereMoved) {
    plan::Plan plan = plan_of({planned(0, 1), planned(1, 1)});
    for (auto& point : plan.points) point.settings.image.path = "photo.png";
    const auto file = former({recorded(plan.points[0], record::PointStatus::ok)});
    for (auto& point : plan.points) point.settings.image.path = "/archive/photo.png";
    EXPECT_THAT(make_resumption(file, plan).finished, ElementsAre(true, false));
    const auto both = former({file.points[0], recorded(plan.points[1], record::PointStatus::ok, 1)});
    EXPECT_THAT(make_resumption(both, plan).finished, ElementsAre(true, true)) << "the second one after the move";
}

TEST(Resumption, AnotherCardOfTheNetworkIsNamed) {
    plan::Plan plan = plan_of({planned(0, 1)});
    plan.points[0].settings.network.card = network::NetworkCard{.radius = 1, .halo = 1};
    const auto file = former({recorded(plan.points[0], record::PointStatus::ok)});
    EXPECT_THAT(make_resumption(file, plan).changes, testing::IsEmpty());
    plan.points[0].settings.network.card->halo = 2;
    EXPECT_THAT(make_resumption(file, plan).changes,
                ElementsAre(testing::MatchesRegex("card of the network of label: .*halo 1 -> .*halo 2")));
}

record::Environment earlier_environment() {
    record::Environment environment;
    environment.git_sha = "0123abcd";
    environment.libraries = {{"torch", "2.9", "2.9"}};
    environment.variables = {{"SLURM_JOB_ID", "17"}, {"OMP_NUM_THREADS", "4"}};
    environment.topology = plan::make_local_topology(3);
    return environment;
}

TEST(EnvironmentDifferences, NothingChanged) {
    record::Environment later = earlier_environment();
    later.started_at = "later";
    later.command_line = "patchbench run --resume";
    EXPECT_TRUE(environment_differences(earlier_environment(), later).empty());
}

TEST(EnvironmentDifferences, WhatChangesFiguresIsDecisive) {
    record::Environment later = earlier_environment();
    later.git_sha = "feedbeef";
    later.libraries[0].loaded = "2.10";
    later.variables[1].second = "8";
    for (auto& place : later.topology.ranks) place.device_name = "Other";
    std::vector<std::string> texts;
    for (const auto& difference : decisive_differences(earlier_environment(), later))
        texts.push_back(difference.text());
    EXPECT_THAT(texts, ElementsAre("git_sha: 0123abcd -> feedbeef", "library (loaded) torch: 2.9 -> 2.10",
                                   "variable OMP_NUM_THREADS: 4 -> 8", HasSubstr("device_name of rank 0 and 2 more")));
    later = earlier_environment();
    later.topology = plan::make_local_topology(4);
    later.variables.pop_back();
    texts.clear();
    for (const auto& difference : decisive_differences(earlier_environment(), later))
        texts.push_back(difference.text());
    EXPECT_THAT(texts, ElementsAre("variable OMP_NUM_THREADS: 4 -> none", "ranks: 3 -> 4"));
}

TEST(EnvironmentDifferences, EachPropertyIsDecisiveWhereItChangesFigures) {
    struct Change {
        const char* what;
        bool decisive;
        std::function<void(record::Environment&)> apply;
    };
    const auto on_rank_1 = [](auto change) { return [=](record::Environment& e) { change(e.topology.ranks[1]); }; };
    const std::vector<Change> changes{
        {"version: none -> 2", true, [](auto& e) { e.version = "2"; }},
        {"git_dirty: clean -> modified", true, [](auto& e) { e.git_dirty = true; }},
        {"compiler: none -> other", true, [](auto& e) { e.compiler = "other"; }},
        {"build_type: none -> Debug", true, [](auto& e) { e.build_type = "Debug"; }},
        {"library (header) torch: 2.9 -> 3", true, [](auto& e) { e.libraries[0].header = "3"; }},
        {"library (loaded) new: none -> 1", true,
         [](auto& e) {
             e.libraries.push_back({"new", "", "1"});
         }},
        {"variable NEW: none -> 1", true, [](auto& e) { e.variables.emplace_back("NEW", "1"); }},
        {"host_processor: none -> other", true, [](auto& e) { e.host_processor = "other"; }},
        {"node of rank 1: 0 -> 1", true, on_rank_1([](plan::RankPlace& p) { p.node = 1; })},
        {"device of rank 1: cpu -> cuda", true, on_rank_1([](plan::RankPlace& p) {
             p.device = {DeviceKind::cuda, 0};
         })},
        {"num_cores of rank 1: 1 -> 2", true, on_rank_1([](plan::RankPlace& p) { p.num_cores = 2; })},
        {"processor_limit of rank 1: none -> 1.5", true,
         on_rank_1([](plan::RankPlace& p) { p.processor_limit = 1.5; })},
        {"threads of rank 1: 1 -> 2", true, on_rank_1([](plan::RankPlace& p) { p.threads = 2; })},
        {"host of rank 1: localhost -> node2", false, on_rank_1([](plan::RankPlace& p) { p.host = "node2"; })},
        {"device_uuid of rank 1: none -> GPU-2", false, on_rank_1([](plan::RankPlace& p) { p.device_uuid = "GPU-2"; })},
        {"pci_bus_id of rank 1: none -> 0:1", false, on_rank_1([](plan::RankPlace& p) { p.pci_bus_id = "0:1"; })},
        {"affinity of rank 1: none -> 4-7", false, on_rank_1([](plan::RankPlace& p) { p.affinity = "4-7"; })},
        {"variable NCCL_DEBUG: none -> INFO", false, [](auto& e) { e.variables.emplace_back("NCCL_DEBUG", "INFO"); }}};
    for (const Change& change : changes) {
        record::Environment later = earlier_environment();
        change.apply(later);
        const auto all = environment_differences(earlier_environment(), later);
        ASSERT_EQ(all.size(), 1U) << change.what;
        EXPECT_EQ(all[0].text(), change.what);
        EXPECT_EQ(all[0].decisive, change.decisive) << change.what;
        EXPECT_EQ(decisive_differences(earlier_environment(), later).size(), change.decisive ? 1U : 0U) << change.what;
    }
}

TEST(EnvironmentDifferences, RanksThatShareACoreAreOthers) {
    record::Environment shared = earlier_environment(), apart = earlier_environment();
    for (plan::RankPlace& place : shared.topology.ranks) place.affinity = "0";
    for (plan::RankPlace& place : apart.topology.ranks) place.affinity = std::to_string(place.rank);
    const auto decisive = decisive_differences(shared, apart);
    ASSERT_EQ(decisive.size(), 1U);
    EXPECT_EQ(decisive[0].text(), "cores: 1 core shared by 3 ranks -> 1 core a rank");
    for (plan::RankPlace& place : shared.topology.ranks) place.affinity = std::to_string(7 - place.rank);
    EXPECT_TRUE(decisive_differences(shared, apart).empty()) << "other cores, as many";
    for (plan::RankPlace& place : shared.topology.ranks) place.affinity.clear();
    EXPECT_TRUE(decisive_differences(shared, apart).empty()) << "an older file does not know them";
    EXPECT_TRUE(decisive_differences(apart, shared).empty());
}

TEST(EnvironmentDifferences, AnotherNodeOfTheSameKindIsNotDecisive) {
    record::Environment later = earlier_environment();
    later.variables[0].second = "18";
    for (auto& place : later.topology.ranks) {
        place.host = "node2";
        place.affinity = "4-7";
        place.device_uuid = "GPU-2";
    }
    EXPECT_TRUE(decisive_differences(earlier_environment(), later).empty());
    EXPECT_EQ(environment_differences(earlier_environment(), later).size(), 4u);
}

TEST(TimeLeft, FollowsTheWorkOfThePoints) {
    plan::Point large = planned(0, 1);
    large.batch = 1;
    plan::Point small = large;
    small.source.extent = {500, 625};
    TimeLeft left({large, small, large, small});
    EXPECT_FALSE(left.seconds()) << "nothing is known yet";
    left.finish_next(40);
    const double flop_ratio = plan::predict(small)->flop / plan::predict(large)->flop;
    EXPECT_NEAR(*left.seconds(), 40 + 2 * 40 * flop_ratio, 1e-9);
    left.finish_next(40 * flop_ratio);
    left.skip_next();
    EXPECT_NEAR(*left.seconds(), 40 * flop_ratio, 1e-9);
    left.finish_next(1);
    EXPECT_EQ(left.seconds(), 0);
    EXPECT_THROW(left.finish_next(1), Error);
}

TEST(TimeLeft, PointsOfOneKindHaveARateOfTheirOwn) {
    plan::Point fast = planned(0, 1);
    fast.batch.reset();  // whose FLOP are not counted
    std::vector<plan::Point> others(5, fast);
    others[0].settings.dtype = Precision::bf16;
    others[1].settings.engine = EngineKind::native;
    others[2].settings.network = network::kind_of<network::UnetShape>();
    others[3].device = DeviceKind::cuda;
    others[4].num_ranks = 2;
    for (const plan::Point& slow : others) {
        TimeLeft left({fast, slow, slow});
        left.finish_next(10);
        left.finish_next(1000);
        EXPECT_NEAR(*left.seconds(), 1000, 1e-9) << &slow - others.data();
    }
}

TEST(TimeLeft, GoesDownWithinAPoint) {
    TimeLeft left({planned(0, 1), planned(1, 1), planned(2, 1)});
    EXPECT_FALSE(left.seconds(5));
    left.finish_next(10);
    EXPECT_NEAR(*left.seconds(4), 16, 1e-9);
    EXPECT_NEAR(*left.seconds(30), 10, 1e-9) << "a point that takes longer does not shorten the others";
}

TEST(TimeLeft, AnOpenBatchCountsAsAPoint) {
    plan::Point open = planned(0, 1);
    open.batch.reset();
    TimeLeft left({open, open, open});
    left.finish_next(7);
    EXPECT_NEAR(*left.seconds(), 14, 1e-9);
    left.finish_next(9);
    EXPECT_NEAR(*left.seconds(), 8, 1e-9) << "the mean";
    TimeLeft settled({open, planned(1, 1)});
    settled.finish_next(7);
    EXPECT_NEAR(*settled.seconds(), 7, 1e-9) << "no FLOP were counted";
}

TEST(TimeLeft, ClockText) {
    EXPECT_EQ(clock_text(9.4), "0:09");
    EXPECT_EQ(clock_text(754), "12:34");
    EXPECT_EQ(clock_text(3600), "1:00:00");
    EXPECT_EQ(clock_text(12345), "3:25:45");
}

}  // namespace
}  // namespace pb::report
