// A variable of the environment that a test sets, or takes away.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace pb::test {

/// Has the variable `name` hold `value`, or be absent, until the end of the scope; then it is as it was.
class EnvironmentVariable {
  public:
    EnvironmentVariable(const char* name, const std::optional<std::string>& value) : name_(name) {
        if (const char* const former = std::getenv(name)) former_ = former;
        set(value);
    }
    ~EnvironmentVariable() { set(former_); }
    EnvironmentVariable(const EnvironmentVariable&) = delete;
    EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

    void set(const std::optional<std::string>& value) const {
        value ? ::setenv(name_, value->c_str(), 1) : ::unsetenv(name_);
    }

  private:
    const char* name_;
    std::optional<std::string> former_;
};

}  // namespace pb::test
