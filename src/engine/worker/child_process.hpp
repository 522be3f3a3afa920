// A process that this one starts with descriptors of its own, and that ends when the object does.
#pragma once

#include "base/descriptor.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace pb::engine::worker_engine {

class ChildProcess {
  public:
    /// Starts `command` (the program is looked up in PATH) with posix_spawn, which does not copy this process, whose
    /// MPI library and devices would not survive a fork. `inherited` become descriptors 3, 4, ... of the child, nothing
    /// else is passed on. Its standard input is empty; what it writes is kept in part (`last_words`). The signals that
    /// ask a rank to end soon are blocked in it: the rank ends it. It leads a process group, whose members are killed
    /// when it has ended. Throws Error.
    ChildProcess(const std::vector<std::string>& command, const std::vector<int>& inherited);

    /// Waits briefly for the process to end and then kills it.
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    [[nodiscard]] pid_t id() const { return id_; }
    /// Readable when the process has written; it blocks once 64 KiB are not read. -1 when all is read.
    [[nodiscard]] int words() const { return words_.number(); }
    void read_words();
    /// The end of what it wrote, on one line.
    [[nodiscard]] std::string last_words();

    /// By SIGRTMIN, which ends any process and tells a guardian (engines/guardian.py) to end what came from it, too.
    void kill();
    /// "ended with exit code 1", "was killed by signal 9 (Killed)". Waits `patience_s` for the end, then kills.
    [[nodiscard]] std::string how_it_ended(double patience_s);

    /// Waits at most `patience_s`.
    bool has_ended(double patience_s);

  private:
    void reap();

    pid_t id_ = -1;
    Descriptor words_;
    std::string tail_;
    std::optional<int> status_;  // of waitpid; none while it runs
};

}  // namespace pb::engine::worker_engine
