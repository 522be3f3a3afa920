// What a process says when code of the user crashes it: a signal handler that writes one sentence.
#pragma once

#include <string>

namespace pb::engine::torch_engine {

/// While it lives, a signal that ends the process (SIGSEGV, SIGABRT, ...) in any thread first writes `sentence` to
/// standard error; then what was set for that signal before happens. One at a time.
class CrashNote {
  public:
    explicit CrashNote(std::string sentence);
    ~CrashNote();
    CrashNote(const CrashNote&) = delete;
    CrashNote& operator=(const CrashNote&) = delete;

  private:
    std::string sentence_;
};

}  // namespace pb::engine::torch_engine
