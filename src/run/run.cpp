#include "run/run.hpp"

namespace pb {

namespace {

PointTrace skipped(const Point& point, const std::string& why) {
    PointTrace trace;
    trace.point = point;
    trace.status = PointStatus::skipped;
    trace.reason = "the run was interrupted before this point (" + why + ")";
    return trace;
}

PointTrace refused(const Point& point) {
    PointTrace trace;
    trace.point = point;
    trace.status = PointStatus::refused;
    trace.reason = point.refusal;
    return trace;
}

}  // namespace

void run_plan(const Plan& plan, Runner& runner, const OutputNames& outputs, const PointSink& sink) {
    std::optional<std::string> interrupted;
    for (const Point& point : plan.points) {
        if (!interrupted) interrupted = runner.find_interruption();
        if (!point.refusal.empty())
            sink(refused(point));
        else
            sink(interrupted ? skipped(point, *interrupted) : runner.run(point, outputs(point)));
    }
}

}  // namespace pb
