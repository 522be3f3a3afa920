#include "comm/mpi_calls.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <iostream>

namespace pb::comm {
namespace {

/// Without a launcher, Open MPI 4 starts a daemon (orted), which was seen to outlive a killed program and to take all
/// memory of the host. A program that starts no others does not need it.
void start_alone_without_daemon() {
    if (MpiSession::launcher_size()) return;
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    // It shares nothing either: without the daemon all such programs have one folder below /tmp, which one that ends
    // was seen to take from one that starts.
    setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
}

/// A rank that waits gives its core to others. Open MPI does so by itself only where it knows of more ranks than cores,
/// and not of other programs or of a share of a machine: a stack of small pages took three times as long there.
void yield_while_waiting() { setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0); }

/// Waits here because a watchdog's MPI_Abort still ends the job; inside MPI_Finalize, mpirun of Open MPI 4.1.4 was seen
/// to hang after MPI_Abort. An error here can be ignored: MPI_Finalize reports it again.
void wait_for_all(const Communicator& world) noexcept {
    try {
        world.sleeping_barrier();
    } catch (const std::exception& error) {
        std::cerr << "patchbench: before MPI_Finalize: " << error.what() << std::endl;
    }
}

}  // namespace

MpiSession::MpiSession(int& argc, char**& argv) : exceptions_at_start_(std::uncaught_exceptions()) {
    int initialised = 0;
    MPI_Initialized(&initialised);
    require(initialised == 0, "MPI is running already: a program holds one MpiSession, and only once");
    start_alone_without_daemon();
    yield_while_waiting();
    // The watchdog calls MPI_Abort from its own thread, which was seen to work with a lower thread level, too.
    int provided = 0;
    mpi::check(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    mpi::check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    world_ = Communicator::world();
}

MpiSession::~MpiSession() {
    // MPI_Finalize waits for all ranks. After an error they may never come; main calls abort().
    if (std::uncaught_exceptions() > exceptions_at_start_) return;
    wait_for_all(world_);
    world_ = Communicator();
    MPI_Finalize();
}

void MpiSession::abort(int code) {
    if (mpi::is_running()) MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
}

std::string mpi_header_version() { return fmt::format("{}.{}", MPI_VERSION, MPI_SUBVERSION); }

std::string mpi_library_version() {
    std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
    int length = 0;
    mpi::check(MPI_Get_library_version(text.data(), &length));
    text.resize(static_cast<size_t>(length));
    return text.substr(0, text.find_first_of("\n\0", 0, 2));
}

}  // namespace pb::comm
