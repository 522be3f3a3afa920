// Engines in a process of their own: they agree with the reference, and whatever goes wrong in the process is an error
// here. What is not installed is skipped.
#include "base/engine_support.hpp"
#include "device/host_memory.hpp"
#include "engine/worker/engine_places.hpp"
#include "support/denoise_batch.hpp"
#include "support/environment_variable.hpp"
#include "support/messages.hpp"
#include "support/relatives.hpp"
#include "support/temporary_folder.hpp"

#include "patchbench/base/error.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

namespace pb::engine {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

EngineOptions options_of(EngineKind engine, Layout layout = Layout::channels_last) {
    return {.engine = engine, .layout = layout};
}

/// The engine of the test, told by `words` how to fail.
EngineOptions faulty(const std::string& words) {
    EngineOptions options = options_of(EngineKind::python);
    options.worker.file = FAULTY_ENGINE;
    options.worker.options = words;
    options.worker.timeout_s = 60;
    return options;
}

const Weights& small_weights() {
    static const Weights weights = make_seeded_weights(network::DncnnShape{.channels = 3, .depth = 2, .width = 4}, 1);
    return weights;
}

std::vector<float> run(Denoiser& denoiser, const EngineOptions& options, int64_t n = 1) {
    const Shape shape = test::input_shape(small_weights(), n, 8, 16);
    return test::denoise(denoiser, small_weights(), options,
                         test::random_values(static_cast<size_t>(shape.elements()), 3), shape);
}

std::string error_with(const EngineOptions& options) {
    return error_of<Error>([&] {
        const auto denoiser = make_denoiser(small_weights(), options);
        (void)run(*denoiser, options);
    });
}

bool is_running(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    std::getline(status, line);
    return !line.empty() && line.find(") Z") == std::string::npos;
}

bool ends_soon(pid_t process) {
    for (int i = 0; i < 1000 && is_running(process); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return !is_running(process);
}

class InstalledEngine : public testing::TestWithParam<EngineKind> {
  protected:
    void SetUp() override {
        try {
            (void)worker_engine::worker_command(GetParam(), "");
        } catch (const Error& error) {
            GTEST_SKIP() << error.what();
        }
    }
};

/// With a DRUNet of all its levels, too.
std::vector<network::NetworkShape> narrow_networks() {
    std::vector<network::NetworkShape> networks = test::small_relatives();
    networks.emplace_back(network::DrunetShape{.widths = {8, 16, 24, 32}, .blocks = 1});
    return networks;
}

TEST_P(InstalledEngine, AgreesWithTheReference) {
    for (const network::NetworkShape& network : narrow_networks()) {
        const Weights weights = make_seeded_weights(network, 5);
        const Shape shape = test::input_shape(weights, 2, 16, 24);
        const auto values = test::random_values(static_cast<size_t>(shape.elements()), 6);
        for (const Layout layout : {Layout::channels_last, Layout::contiguous}) {
            const EngineOptions options = options_of(GetParam(), layout);
            const EngineOptions reference = options_of(EngineKind::reference, layout);
            const auto expected = test::denoise(*make_denoiser(weights, reference), weights, reference, values, shape);
            const auto denoiser = make_denoiser(weights, options);
            EXPECT_LT(test::relative_difference(test::denoise(*denoiser, weights, options, values, shape), expected),
                      1e-5)
                << network::to_text(network);
            EXPECT_THAT(denoiser->remark(), HasSubstr("in a process of its own"));
            if (weights.kind() != network::kind_of<network::DncnnShape>())
                break;  // both layouts of one network are enough
        }
    }
}

TEST_P(InstalledEngine, ServesOneShapeAfterAnother) {
    const EngineOptions options = options_of(GetParam());
    const auto denoiser = make_denoiser(small_weights(), options);
    const auto one = run(*denoiser, options, 1), three = run(*denoiser, options, 3);
    ASSERT_EQ(three.size(), 3 * one.size());
    const std::vector<float> first(three.begin(), three.begin() + static_cast<int64_t>(one.size()));
    EXPECT_LT(test::relative_difference(first, one), 1e-5);
    EXPECT_LT(test::relative_difference(run(*denoiser, options, 1), one), 1e-6);
}

/// How many values of `a` differ from those of `b`, as a share.
double share_of_others(const std::vector<float>& a, const std::vector<float>& b) {
    size_t others = 0;
    for (size_t i = 0; i < a.size(); ++i) others += a[i] != b.at(i) ? 1 : 0;
    return static_cast<double>(others) / static_cast<double>(a.size());
}

/// The tolerance is that of LibTorch's bf16 (torch_denoiser_test): 8 bits of mantissa. Were the network computed in
/// fp32 between a rounded input and a rounded output, nearly all values would be those.
TEST_P(InstalledEngine, ComputesInBf16OrRefusesIt) {
    EngineOptions options = options_of(GetParam());
    options.precision = Precision::bf16;
    if (!computes_in(GetParam(), DeviceKind::cpu, Precision::bf16)) {
        EXPECT_THROW((void)make_denoiser(small_weights(), options), UsageError);
        return;
    }
    for (const network::NetworkShape& network : narrow_networks()) {
        const Weights weights = make_seeded_weights(network, 5);
        const Shape shape = test::input_shape(weights, 2, 16, 24);
        const auto values = test::rounded_to_bf16(test::random_values(static_cast<size_t>(shape.elements()), 6));
        const EngineOptions reference = options_of(EngineKind::reference);
        const auto exact = test::denoise(*make_denoiser(weights, reference), weights, reference, values, shape);
        const auto denoiser = make_denoiser(weights, options);
        const auto ours = test::denoise_bf16(*denoiser, weights, options, values, shape);
        EXPECT_LT(test::relative_difference(ours, exact), 0.05) << network::to_text(network);
        EXPECT_THAT(denoiser->remark(), HasSubstr("bf16 through fp32 in the shared memory: "));
        EXPECT_THAT(denoiser->remark(), testing::Not(HasSubstr("is not known")));
        const bool may_ignore_it = denoiser->remark().find("a processor without bf16") != std::string::npos;
        if (may_ignore_it && GetParam() == EngineKind::openvino) continue;
        EXPECT_GT(share_of_others(ours, test::rounded_to_bf16(exact)), 0.1) << network::to_text(network);
    }
}

/// On a machine without a GPU, and in an environment whose packages are for the CPU.
TEST_P(InstalledEngine, SaysWhatItLacksForADevice) {
    if (!device::visible_cuda_devices().empty()) GTEST_SKIP() << "there is a device";
    if (!computes_in(GetParam(), DeviceKind::cuda, Precision::fp32)) GTEST_SKIP() << "it is for the CPU";
    EngineOptions options = options_of(GetParam());
    options.device = {DeviceKind::cuda, 0};
    EXPECT_THAT(error_of<Error>([&] { (void)make_denoiser(small_weights(), options); }),
                AllOf(HasSubstr("cuda:0 cannot be used"), HasSubstr("launch/engines.sh --gpu --only"),
                      HasSubstr(std::string(name_of(GetParam()))), HasSubstr("choose device: cpu")));
}

/// A process with one thread uses no more CPU time than wall time passes.
TEST_P(InstalledEngine, KeepsToItsThreads) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.channels = 3, .depth = 6, .width = 32}, 1);
    const EngineOptions options = options_of(GetParam());
    const auto denoiser = make_denoiser(weights, options);
    const Shape shape = test::input_shape(weights, 2, 96, 96);
    const auto values = test::random_values(static_cast<size_t>(shape.elements()), 3);
    (void)test::denoise(*denoiser, weights, options, values, shape);  // compiles, perhaps with more threads
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const double cpu_before_s = device::cpu_seconds_of(denoiser->process_id());
    for (int call = 0; call < 10; ++call) (void)test::denoise(*denoiser, weights, options, values, shape);
    const double cpu_s = device::cpu_seconds_of(denoiser->process_id()) - cpu_before_s;
    EXPECT_GT(cpu_s, 0);
    EXPECT_LT(cpu_s, 1.1 * std::chrono::duration<double>(Clock::now() - begin).count() + 0.02);
}

INSTANTIATE_TEST_SUITE_P(Engines, InstalledEngine,
                         testing::Values(EngineKind::onnxruntime, EngineKind::openvino, EngineKind::pytorch,
                                         EngineKind::tensorflow, EngineKind::jax),
                         [](const auto& parameter) { return std::string(name_of(parameter.param)); });

/// Needs a Python with NumPy: that of any installed engine.
class Worker : public testing::Test {
  protected:
    void SetUp() override {
        std::error_code none;
        for (const auto& environment : fs::directory_iterator(worker_engine::environments_folder(), none))
            if (fs::exists(environment.path() / "bin" / "python"))
                python_ = (environment.path() / "bin" / "python").string();
        if (python_.empty()) GTEST_SKIP() << "no engine is installed: launch/engines.sh --only onnxruntime";
        ASSERT_EQ(setenv("PATCHBENCH_PYTHON", python_.c_str(), 1), 0);
    }

    std::string python_;
};

TEST_F(Worker, GivesBackWhatTheEngineGave) {
    for (const Layout layout : {Layout::channels_last, Layout::contiguous}) {
        EngineOptions options = faulty("");
        options.layout = layout;
        const auto denoiser = make_denoiser(small_weights(), options);
        const Shape shape = test::input_shape(small_weights(), 2, 8, 16);
        const auto values = test::random_values(static_cast<size_t>(shape.elements()), 3);
        EXPECT_EQ(test::denoise(*denoiser, small_weights(), options, values, shape), values);
        EXPECT_THAT(denoiser->remark(), HasSubstr("Python copies the output where the adapter returns it"));
        const bool turns = denoiser->remark().find("turns its layout") != std::string::npos;
        EXPECT_EQ(turns, layout == Layout::channels_last) << "the adapter takes NCHW";
    }
}

TEST_F(Worker, SaysHowToInstallAnAbsentEngine) {
    const test::EnvironmentVariable engines("PATCHBENCH_ENGINES", "/nowhere");
    EXPECT_THAT(error_with(options_of(EngineKind::openvino)), AllOf(HasSubstr("engine = openvino: is not installed"),
                                                                    HasSubstr("launch/engines.sh --only openvino")));
}

TEST(UsersPython, IsTheUsualOneWhereTheVariableIsEmpty) {
    const test::EnvironmentVariable python("PATCHBENCH_PYTHON", "");
    EXPECT_EQ(worker_engine::worker_command(EngineKind::python, "engine.py").front(), "python3");
}

TEST_F(Worker, SaysWhichFileIsNotThere) {
    EngineOptions options = faulty("");
    options.worker.file = "/nowhere/engine.py";
    EXPECT_THAT(error_with(options), HasSubstr("there is no file /nowhere/engine.py"));
}

TEST_F(Worker, RefusesWhatItCannotDo) {
    EngineOptions options = faulty("");
    options.precision = Precision::fp16;
    EXPECT_THROW((void)make_denoiser(small_weights(), options), UsageError);
    options = options_of(EngineKind::openvino);
    options.device = {DeviceKind::cuda, 0};
    EXPECT_THROW((void)make_denoiser(small_weights(), options), UsageError);
}

TEST_F(Worker, ComputesOnADeviceWhereTheAdapterSaysSo) {
    EngineOptions options = faulty("");
    options.device = {DeviceKind::cuda, 3};
    EXPECT_THAT(error_with(options), AllOf(HasSubstr("computes on cpu only"), HasSubstr("cuda:3"), HasSubstr("DEVICES"),
                                           HasSubstr("choose device: cpu")));
    options.worker.file = BF16_ENGINE;
    options.precision = Precision::bf16;
    const auto denoiser = make_denoiser(small_weights(), options);
    EXPECT_TRUE(denoiser->takes_host_memory());
    EngineOptions on_host = options;
    on_host.device = {};
    const Shape shape = test::input_shape(small_weights(), 2, 8, 16);
    const auto values = test::random_values(static_cast<size_t>(shape.elements()), 3);
    EXPECT_EQ(denoiser->copies_of_call().to_device, 0) << "before the first call";
    EXPECT_EQ(test::denoise_bf16(*denoiser, small_weights(), on_host, values, shape), test::rounded_to_bf16(values));
    EXPECT_DOUBLE_EQ(denoiser->copies_of_call().to_device, 1e-6);
    EXPECT_DOUBLE_EQ(denoiser->copies_of_call().to_host, 2e-6);
    EXPECT_THAT(denoiser->remark(), AllOf(HasSubstr("loaded for bf16 on cuda:3"), HasSubstr("h2d and d2h")));
}

TEST_F(Worker, TakesBf16WhereTheAdapterSaysSo) {
    EngineOptions options = faulty("");
    options.precision = Precision::bf16;
    EXPECT_THAT(error_of<Error>([&] { (void)make_denoiser(small_weights(), options); }),
                AllOf(HasSubstr("computes in fp32 only"), HasSubstr("DTYPES"), HasSubstr("choose dtype: fp32")));
    options.worker.file = BF16_ENGINE;
    for (const Layout layout : {Layout::channels_last, Layout::contiguous}) {
        options.layout = layout;
        const auto denoiser = make_denoiser(small_weights(), options);
        EXPECT_THAT(denoiser->remark(), HasSubstr("is not known")) << "before the first call";
        const Shape shape = test::input_shape(small_weights(), 2, 8, 16);
        const auto values = test::random_values(static_cast<size_t>(shape.elements()), 3);
        EXPECT_EQ(test::denoise_bf16(*denoiser, small_weights(), options, values, shape),
                  test::rounded_to_bf16(values));
        EXPECT_THAT(denoiser->remark(), HasSubstr("bf16 through fp32 in the shared memory: loaded for bf16"));
    }
    options.precision = Precision::fp32;
    EXPECT_THAT(make_denoiser(small_weights(), options)->remark(), testing::Not(HasSubstr("bf16")));
}

TEST_F(Worker, EndsWithItsLastWords) {
    EXPECT_THAT(error_with(faulty("load=crash")),
                AllOf(HasSubstr("killed by signal 6"), HasSubstr("loading"), HasSubstr("the last line of a crash")));
    EXPECT_THAT(error_with(faulty("call=crash")),
                AllOf(HasSubstr("killed by signal 6"), HasSubstr("a forward call"), HasSubstr("last line of a crash")));
    EXPECT_EQ(error_with(faulty("call=kill,from=2")), kNotThrown);
    EXPECT_THAT(error_with(faulty("call=kill")), HasSubstr("killed by signal 9"));
    EngineOptions orphaning = faulty("call=orphan");  // leaves a process that holds the socket
    orphaning.worker.timeout_s = 60;
    EXPECT_THAT(error_with(orphaning), HasSubstr("killed by signal 9"));
}

TEST_F(Worker, SaysWhatTheEngineSays) {
    EXPECT_THAT(error_with(faulty("load=raise")), HasSubstr("ValueError: the engine dislikes these windows"));
    for (const char* when : {"load=surrogate", "call=surrogate"})
        EXPECT_THAT(error_with(faulty(when)), HasSubstr("ValueError: cannot read a\\udcff.bin"));
    const EngineOptions options = faulty("call=raise,from=2");
    const auto denoiser = make_denoiser(small_weights(), options);
    const auto first = run(*denoiser, options);
    EXPECT_THAT(error_of<Error>([&] { (void)run(*denoiser, options); }),
                HasSubstr("ValueError: the engine dislikes these windows"));
}

TEST_F(Worker, RefusesAnotherShape) {
    EXPECT_THAT(error_with(faulty("call=shape")), HasSubstr("(1, 3, 7, 16) instead of (1, 3, 8, 16)"));
}

TEST_F(Worker, IsKilledWhenItHangs) {
    EngineOptions hasty = faulty("call=hang");
    hasty.worker.timeout_s = 5;
    const auto denoiser = make_denoiser(small_weights(), hasty);
    EXPECT_THAT(
        error_of<Error>([&] { (void)run(*denoiser, hasty); }),
        AllOf(HasSubstr("did not answer for 5 s"), HasSubstr("worker.timeout_s"), HasSubstr("waiting for nothing")));
    EXPECT_TRUE(ends_soon(denoiser->process_id()));
}

TEST_F(Worker, RunsOutOfMemoryAndGoesOn) {
    for (const char* way : {"call=memory", "call=primitive"}) {
        EngineOptions options = faulty(way);
        options.worker.memory_limit_bytes = int64_t{64} << 20;
        const auto denoiser = make_denoiser(small_weights(), options);
        EXPECT_THROW((void)run(*denoiser, options), OutOfMemory) << way;
        EXPECT_THROW((void)run(*denoiser, options), OutOfMemory) << way;
    }
    EXPECT_THAT(error_with(faulty("call=primitive")), HasSubstr("primitive")) << "without a limit: another failure";
}

TEST_F(Worker, MayWriteMoreThanAPipeHolds) {
    const EngineOptions options = faulty("call=chatter");
    const auto denoiser = make_denoiser(small_weights(), options);
    for (int call = 0; call < 3; ++call) EXPECT_NO_THROW((void)run(*denoiser, options));
}

TEST_F(Worker, IsEndedByAnInterruption) {
    bool came = false;
    EngineOptions options = faulty("call=hang");
    options.worker.interrupt = [&came] {
        if (came) throw Interrupted("SIGTERM came");
    };
    const auto denoiser = make_denoiser(small_weights(), options);
    came = true;
    EXPECT_THROW((void)run(*denoiser, options), Interrupted);
    EXPECT_THAT(error_of<Error>([&] { (void)run(*denoiser, options); }), HasSubstr("is no longer there"));
    EXPECT_TRUE(ends_soon(denoiser->process_id()));
}

TEST_F(Worker, EndsWithItsDenoiser) {
    const EngineOptions options = faulty("");
    auto denoiser = make_denoiser(small_weights(), options);
    const pid_t process = denoiser->process_id();
    EXPECT_TRUE(is_running(process));
    denoiser.reset();
    EXPECT_FALSE(is_running(process));
}

TEST_F(Worker, CountsItsMemoryAndTime) {
    const EngineOptions options = faulty("burn=0.2");
    const auto denoiser = make_denoiser(small_weights(), options);
    const int process = denoiser->process_id();
    const double before_s = device::cpu_seconds_of(process);
    (void)run(*denoiser, options);
    EXPECT_GE(device::cpu_seconds_of(process) - before_s, 0.19);
    EXPECT_GT(device::own_resident_peak_bytes_of(process), int64_t{4} << 20);  // Python with NumPy
    EXPECT_TRUE(device::reset_resident_peak_of(process));
    EXPECT_EQ(device::cpu_seconds_of(0), 0);
    EXPECT_EQ(device::own_resident_peak_bytes_of(0), 0);
}

[[noreturn]] void run_until_killed(const EngineOptions& options) {
    try {
        const auto denoiser = make_denoiser(small_weights(), options);
        for (;;) (void)run(*denoiser, options);
    } catch (const std::exception& error) {
        fprintf(stderr, "%s\n", error.what());
    }
    _exit(1);
}

/// Files into which the faulty engine writes the numbers of its process and of another that it starts.
class Started {
  public:
    [[nodiscard]] std::string options() const { return ",fork=" + other_.string() + ",pid=" + own_.string(); }
    /// Waits for them.
    [[nodiscard]] pid_t own() const { return number_in(own_); }
    [[nodiscard]] pid_t other() const { return number_in(other_); }

  private:
    static pid_t number_in(const fs::path& file) {
        pid_t number = 0;
        for (int i = 0; i < 3000 && number == 0; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            std::ifstream(file) >> number;
        }
        return number;
    }

    const test::TemporaryFolder folder_;
    const fs::path own_ = folder_ / "own", other_ = folder_ / "other";
};

/// The processes of a program that is killed and can close nothing.
TEST_F(Worker, DoesNotOutliveAKilledRank) {
    for (const std::string words : {"apart", "call=hang"}) {
        const Started started;
        const pid_t rank = fork();
        if (rank == 0) run_until_killed(faulty(words + started.options()));
        ASSERT_GT(started.own(), 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        EXPECT_TRUE(is_running(started.own()) && is_running(started.other()));
        kill(rank, SIGKILL);
        EXPECT_TRUE(ends_soon(started.own())) << words;
        EXPECT_TRUE(ends_soon(started.other())) << words;
        waitpid(rank, nullptr, 0);
    }
}

pid_t parent_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    std::getline(file, line);
    return std::stoi(line.substr(line.rfind(')') + 4));  // ") S <parent>"
}

TEST_F(Worker, LeavesNothingThatItStarted) {
    for (const std::string victim : {"none", "worker", "guardian"}) {
        const Started started;
        const EngineOptions options = faulty((victim == "guardian" ? "" : "apart") + started.options());
        auto denoiser = make_denoiser(small_weights(), options);
        const pid_t process = denoiser->process_id();
        EXPECT_EQ(process, started.own());
        if (victim != "none") {
            kill(victim == "worker" ? process : parent_of(process), SIGKILL);
            EXPECT_THAT(error_of<Error>([&] { (void)run(*denoiser, options); }), HasSubstr("killed by signal 9"));
        }
        denoiser.reset();
        EXPECT_TRUE(ends_soon(process)) << victim;
        EXPECT_TRUE(ends_soon(started.other())) << victim;
    }
}

/// By two clocks, of which the rank's runs longer.
TEST_F(Worker, SaysWhatTheHandOverTakes) {
    const EngineOptions options = faulty("");
    const auto denoiser = make_denoiser(small_weights(), options);
    for (int call = 0; call < 3; ++call) (void)run(*denoiser, options);
    const std::string remark = denoiser->remark();
    double inner_ms = 0, outer_ms = 0;
    ASSERT_EQ(std::sscanf(remark.c_str() + remark.find("a call took"),
                          "a call took %lf ms by the clock of the process, %lf ms", &inner_ms, &outer_ms),
              2)
        << remark;
    EXPECT_LT(inner_ms, outer_ms);
}

TEST_F(Worker, LeavesNoDescriptorOpen) {
    const auto count = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()); };
    const EngineOptions options = faulty("");
    { const auto first = make_denoiser(small_weights(), options); }
    const auto before = count();
    { const auto second = make_denoiser(small_weights(), options); }
    EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace pb::engine
