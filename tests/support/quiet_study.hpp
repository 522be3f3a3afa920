// A study for tests of its points: metrics are gathered by MPI, and no time is spent on the rates of the machine.
#pragma once

#include "config/settings.hpp"

namespace pb::test {

inline config::StudySettings quiet_study() {
    config::StudySettings study;
    study.reduction = ReductionKind::mpi;
    study.bounds = false;
    return study;
}

}  // namespace pb::test
