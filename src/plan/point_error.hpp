// What is wrong with a point of a plan.
#pragma once

#include "plan/plan.hpp"

#include "patchbench/base/error.hpp"

#include <string>

namespace pb::plan {

/// Thrown by make_plan. The message names the point, the reason does not.
class PointError : public UsageError {
  public:
    PointError(const Point& point, const std::string& why, const std::string& remark = {});
    [[nodiscard]] const std::string& reason() const { return reason_; }

  private:
    std::string reason_;
};

}  // namespace pb::plan
