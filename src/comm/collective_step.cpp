#include "comm/collective_step.hpp"

#include "patchbench/base/error.hpp"

#include <new>

namespace pb::comm::mpi {

StepOutcome try_step(const std::function<void()>& step) {
    try {
        step();
        return {};
    } catch (const OutOfMemory& error) {
        return {error.what(), true};
    } catch (const std::bad_alloc&) {
        return {"host memory ran out (std::bad_alloc)", true};
    } catch (const std::exception& error) {
        return {error.what(), false};
    }
}

void agree_on_step(const Communicator& communicator, const StepOutcome& outcome) {
    const auto agreed = communicator.agree(outcome.error);
    if (!agreed) return;
    const bool out_of_memory = communicator.max(outcome.out_of_memory ? 1 : 0) > 0;
    if (outcome.error && out_of_memory) throw OutOfMemory(*outcome.error);
    if (outcome.error) throw Error(*outcome.error);
    if (out_of_memory) throw Elsewhere<OutOfMemory>(*agreed);
    throw Elsewhere<Error>(*agreed);
}

void step_together(const Communicator& communicator, const std::function<void()>& step) {
    agree_on_step(communicator, try_step(step));
}

}  // namespace pb::comm::mpi
