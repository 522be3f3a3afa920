#include "comm/shared/shared_counter.hpp"

#include "comm/mpi_calls.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <exception>
#include <map>
#include <vector>

namespace pb::comm {

namespace {

constexpr int kRoot = 0;
constexpr const char* kWindowFolder = "/dev/shm";

/// The same text for ranks that see the same folder.
std::string window_folder() {
    struct stat folder {};
    if (::stat(kWindowFolder, &folder) != 0) return "none";
    return fmt::format("{}:{}", folder.st_dev, folder.st_ino);
}

}  // namespace

std::optional<std::string> shared_counter_obstacle(const Communicator& ranks) {
    std::map<std::string, std::string> folders;
    const std::vector<std::string> hosts = ranks.all_gather(host_name()), seen = ranks.all_gather(window_folder());
    for (size_t rank = 0; rank < hosts.size(); ++rank)
        if (folders.try_emplace(hosts[rank], seen[rank]).first->second != seen[rank])
            return fmt::format(
                "rank {}@{} sees another {} than other ranks of this host: give their containers one (--ipc=host), or "
                "host names of their own",
                rank, hosts[rank], kWindowFolder);
    return std::nullopt;
}

struct SharedCounter::Impl {
    const Communicator& ranks;
    MPI_Win window = MPI_WIN_NULL;
    int64_t* value = nullptr;  // on the root
    int64_t taken = 0;         // where the answer arrives
    bool is_asked = false;

    explicit Impl(const Communicator& communicator) : ranks(communicator) {
        const MPI_Aint bytes = ranks.is_root() ? sizeof(int64_t) : 0;
        mpi::check(MPI_Win_allocate(bytes, sizeof(int64_t), MPI_INFO_NULL, mpi::native(ranks),
                                    static_cast<void*>(&value), &window));
        MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
        mpi::check(MPI_Win_lock_all(0, window));
    }
    ~Impl() {
        if (!mpi::is_running()) return;
        MPI_Win_unlock_all(window);
        MPI_Win_free(&window);
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
};

SharedCounter::SharedCounter(const Communicator& ranks) : impl_(std::make_unique<Impl>(ranks)) { reset(); }

/// MPI_Win_free waits for all ranks. After an error they may never come: the window is left to MPI_Finalize, with the
/// memory into which an answer may still arrive.
SharedCounter::~SharedCounter() {
    if (std::uncaught_exceptions() > 0) (void)impl_.release();
}

void SharedCounter::reset() {
    if (impl_->is_asked) (void)take();
    impl_->ranks.barrier();
    if (impl_->ranks.is_root()) {
        const int64_t zero = 0;
        mpi::check(MPI_Accumulate(&zero, 1, MPI_INT64_T, kRoot, 0, 1, MPI_INT64_T, MPI_REPLACE, impl_->window));
        mpi::check(MPI_Win_flush(kRoot, impl_->window));
    }
    impl_->ranks.barrier();
}

void SharedCounter::request() {
    if (impl_->is_asked) return;
    static constexpr int64_t kOne = 1;
    mpi::check(MPI_Fetch_and_op(&kOne, &impl_->taken, MPI_INT64_T, kRoot, 0, MPI_SUM, impl_->window));
    impl_->is_asked = true;
}

int64_t SharedCounter::take() {
    request();
    mpi::check(MPI_Win_flush(kRoot, impl_->window));
    impl_->is_asked = false;
    return impl_->taken;
}

}  // namespace pb::comm
