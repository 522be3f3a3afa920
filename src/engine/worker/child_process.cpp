#include "engine/worker/child_process.hpp"

#include "base/text.hpp"
#include "base/user_paths.hpp"

#include "patchbench/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>
#include <thread>

namespace pb::engine::worker_engine {

namespace {

constexpr int kFirstInherited = 3;
constexpr int kFirstFree = 64;  // descriptors from here on cannot be overwritten by those that the child gets
constexpr size_t kKeptWords = 4096;
constexpr size_t kShownWords = 600;
constexpr double kPatienceS = 2;

void check(int error, const std::string& what) {
    if (error != 0) throw Error("cannot start " + what + ": " + std::strerror(error));
}

void set_signals_and_group(posix_spawnattr_t* attributes) {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM}) sigaddset(&blocked, number);
    posix_spawnattr_setsigmask(attributes, &blocked);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
}

std::vector<Descriptor> moved_up(const std::vector<int>& descriptors, const std::string& what) {
    std::vector<Descriptor> moved;
    for (const int descriptor : descriptors) {
        moved.emplace_back(fcntl(descriptor, F_DUPFD_CLOEXEC, kFirstFree));
        if (moved.back().number() < 0) require_descriptors(what);
        check(moved.back().number() < 0 ? errno : 0, what);
    }
    return moved;
}

/// The variables of this process, except those that would lead the child to packages of another environment or to the
/// libraries of a bundle: it gets the library path that the user had before launch/bundle_env.sh.
std::vector<std::string> environment_of_child() {
    const char* const users_path = std::getenv("PATCHBENCH_USER_LIBRARY_PATH");
    std::vector<std::string> kept;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text(*variable);
        const bool is_bundles = users_path != nullptr && text.starts_with("LD_LIBRARY_PATH=");
        if (!is_bundles && !text.starts_with("PYTHONHOME=")) kept.emplace_back(text);
    }
    if (users_path != nullptr && *users_path != 0) kept.push_back(std::string("LD_LIBRARY_PATH=") + users_path);
    return kept;
}

/// The form that exec takes.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

pid_t spawn(std::vector<std::string> command, const std::vector<Descriptor>& inherited, int words) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const Handle<posix_spawn_file_actions_t*, posix_spawn_file_actions_destroy> actions_end(&actions);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    const Handle<posix_spawnattr_t*, posix_spawnattr_destroy> attributes_end(&attributes);
    set_signals_and_group(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, words, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, words, STDERR_FILENO);
    int next = kFirstInherited;
    for (const auto& descriptor : inherited) posix_spawn_file_actions_adddup2(&actions, descriptor.number(), next++);
    posix_spawn_file_actions_addclosefrom_np(&actions, next);
    std::vector<std::string> environment = environment_of_child();
    pid_t id = -1;
    const int error = posix_spawnp(&id, command.front().c_str(), &actions, &attributes, pointers_to(command).data(),
                                   pointers_to(environment).data());
    check(error, command.front());
    return id;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::vector<int>& inherited) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        require_descriptors(command.front());
        check(errno, command.front());
    }
    words_ = Descriptor(ends[0]);
    const Descriptor written(ends[1]);
    (void)fcntl(words_.number(), F_SETFL, O_NONBLOCK);
    const auto moved = moved_up(inherited, command.front());
    const auto moved_words = moved_up({written.number()}, command.front());
    id_ = spawn(command, moved, moved_words.front().number());
}

ChildProcess::~ChildProcess() {
    if (has_ended(kPatienceS)) return;
    kill();
    if (has_ended(kPatienceS)) return;
    ::kill(-id_, SIGKILL);
    (void)has_ended(kPatienceS);
}

void ChildProcess::read_words() {
    std::array<char, 4096> some{};
    while (words_.number() >= 0) {
        const ssize_t count = ::read(words_.number(), some.data(), some.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return;
        if (count <= 0) {
            words_.close();
            return;
        }
        tail_.append(some.data(), static_cast<size_t>(count));
        if (tail_.size() > kKeptWords) tail_.erase(0, tail_.size() - kKeptWords);
    }
}

std::string ChildProcess::last_words() {
    read_words();
    std::istringstream words(tail_);
    std::string line;
    for (std::string word; words >> word;) add_item(line, word, " ");
    if (line.size() > kShownWords) line = "..." + line.substr(line.size() - kShownWords);
    return line;
}

void ChildProcess::kill() {
    if (!status_) ::kill(id_, SIGRTMIN);
}

bool ChildProcess::has_ended(double patience_s) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(patience_s);
    while (!status_) {
        siginfo_t ended{};
        const bool is_gone = waitid(P_PID, static_cast<id_t>(id_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0;
        if (is_gone || ended.si_pid == id_) reap();
        if (status_ || Clock::now() > end) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return status_.has_value();
}

/// Until it is waited for, no other process can have its number: the rest of its group can be killed.
void ChildProcess::reap() {
    ::kill(-id_, SIGKILL);
    int status = 0;
    (void)waitpid(id_, &status, 0);
    status_ = status;
}

std::string ChildProcess::how_it_ended(double patience_s) {
    if (!has_ended(patience_s)) {
        kill();
        return has_ended(kPatienceS) ? "was killed" : "cannot be killed";
    }
    if (WIFSIGNALED(*status_))
        return fmt::format("was killed by signal {} ({})", WTERMSIG(*status_), strsignal(WTERMSIG(*status_)));
    return fmt::format("ended with exit code {}", WEXITSTATUS(*status_));
}

}  // namespace pb::engine::worker_engine
