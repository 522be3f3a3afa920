#include "comm/interruption.hpp"

#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace pb::comm {
namespace {

TEST(Interruption, EachSignalIsNamedAndTheFirstStays) {
    (void)std::signal(SIGHUP, SIG_DFL);  // under nohup it is ignored, and stays so
    for (const auto& [signal, name] :
         {std::pair{SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGUSR1, "SIGUSR1"}, {SIGINT, "SIGINT"}}) {
        const InterruptionGuard guard;
        EXPECT_EQ(interruption(), "");
        raise(signal);
        EXPECT_EQ(interruption(), name);
        raise(signal == SIGTERM ? SIGUSR1 : SIGTERM);
        EXPECT_EQ(interruption(), name);
    }
}

TEST(Interruption, TheTimeIsUp) {
    {
        const InterruptionGuard guard;
        interrupt_after(0.01);
        while (interruption().empty()) pause();
        EXPECT_EQ(interruption(), "the end of --max-time");
    }
    const InterruptionGuard guard;
    interrupt_after(1e-9);
    while (interruption().empty()) {
    }
    EXPECT_EQ(interruption(), "the end of --max-time");
}

TEST(Interruption, TheTimeHasItsFraction) {
    const InterruptionGuard guard;
    const auto seconds_left = [] {
        itimerval timer{};
        getitimer(ITIMER_REAL, &timer);
        return static_cast<double>(timer.it_value.tv_sec) + 1e-6 * static_cast<double>(timer.it_value.tv_usec);
    };
    double left = 0;
    for (int attempt = 0; attempt < 100 && left <= 3600; ++attempt) {  // this process may stand still meanwhile
        interrupt_after(3600.875);
        left = seconds_left();
    }
    EXPECT_GT(left, 3600);
    EXPECT_LE(left, 3600.876);
}

TEST(Interruption, SaysHowMuchTimeIsLeft) {
    {
        const InterruptionGuard guard;
        EXPECT_EQ(seconds_until_interruption(), std::nullopt);
        interrupt_after(3600.5);
        const double left = seconds_until_interruption().value();
        EXPECT_LE(left, 3600.501);
        EXPECT_GT(left, 1);
    }
    EXPECT_EQ(seconds_until_interruption(), std::nullopt) << "it ends with its guard";
    {
        const InterruptionGuard guard;
        interrupt_after(0.9);
        EXPECT_TRUE(seconds_until_interruption()) << "less than a second is a time, too; none would be no end at all";
    }
    const InterruptionGuard guard;
    interrupt_after(1e-6);
    while (interruption().empty()) {
    }
    EXPECT_EQ(seconds_until_interruption(), 0) << "it is over";
}

TEST(Interruption, OldHandlersComeBack) {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    struct sigaction former {};
    ASSERT_EQ(sigaction(SIGUSR1, &ignore, &former), 0);
    { const InterruptionGuard guard; }
    struct sigaction now {};
    ASSERT_EQ(sigaction(SIGUSR1, &former, &now), 0);
    EXPECT_EQ(now.sa_handler, SIG_IGN);
}

TEST(Interruption, AHangUpThatIsIgnoredStaysIgnored) {
    const auto former = std::signal(SIGHUP, SIG_IGN);
    {
        const InterruptionGuard guard;
        raise(SIGHUP);
        EXPECT_EQ(interruption(), "");
    }
    EXPECT_EQ(std::signal(SIGHUP, former), SIG_IGN);
}

TEST(InterruptionDeathTest, ASecondSigintEndsTheProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto twice = [] {
        const InterruptionGuard guard;
        raise(SIGINT);
        raise(SIGINT);
    };
    EXPECT_EXIT(twice(), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace pb::comm
