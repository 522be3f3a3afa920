#include "patchbench/run/run.hpp"

#include "patchbench/comm/interruption.hpp"

namespace pb {

void run_plan(const Plan& plan, Runner& runner, const OutputNames& outputs, const PointSink& sink) {
    bool interrupted = false;
    for (const Point& point : plan.points) {
        PointTrace trace;
        if (interrupted) {
            trace.point = point;
            trace.status = PointStatus::skipped;
            trace.reason = "the run was interrupted before this point";
        } else {
            trace = runner.run(point, outputs(point));
            interrupted = trace.status == PointStatus::interrupted;
        }
        sink(trace);
    }
}

}  // namespace pb
