#include "run/run.hpp"

namespace pb::run {

namespace {

record::PointTrace skipped(const plan::Point& point, const std::string& why) {
    record::PointTrace trace;
    trace.point = point;
    trace.status = record::PointStatus::skipped;
    trace.reason = "the run was interrupted before this point (" + why + ")";
    return trace;
}

record::PointTrace refused(const plan::Point& point) {
    record::PointTrace trace;
    trace.point = point;
    trace.status = record::PointStatus::refused;
    trace.reason = point.refusal;
    return trace;
}

}  // namespace

void run_plan(const plan::Plan& plan, Runner& runner, const OutputNames& outputs, const PointSink& sink) {
    std::optional<std::string> interrupted;
    for (const plan::Point& point : plan.points) {
        if (!interrupted) interrupted = runner.find_interruption();
        if (!point.refusal.empty())
            sink(refused(point));
        else
            sink(interrupted ? skipped(point, *interrupted) : runner.run(point, outputs(point)));
    }
}

}  // namespace pb::run
