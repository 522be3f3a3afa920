// MPI, wrapped once: control, host data and agreement between ranks. All calls but send/receive are collective over the
// communicator. Any MPI error throws Error with MPI's own text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pb {

class Communicator {
  public:
    Communicator();  // a null communicator: size 0; only assignment and is_null() are allowed
    ~Communicator();
    Communicator(Communicator&&) noexcept;
    Communicator& operator=(Communicator&&) noexcept;

    /// All ranks of the job, apart from others' messages (a duplicate of MPI_COMM_WORLD). Collective.
    [[nodiscard]] static Communicator world();

    [[nodiscard]] bool is_null() const;
    [[nodiscard]] int rank() const;
    [[nodiscard]] int size() const;  // 0 when null
    [[nodiscard]] bool is_root() const { return rank() == 0; }

    /// Ranks with the same `colour` form a communicator, ordered by `key`; a negative colour gets a null communicator.
    [[nodiscard]] Communicator split(int colour, int key) const;
    /// The ranks that share this host's memory.
    [[nodiscard]] Communicator node() const;

    void barrier() const;
    /// As barrier(), but sleeps between looks instead of spinning: for ranks that are parked for long.
    void sleeping_barrier() const;
    void broadcast(std::span<std::byte> bytes, int root = 0) const;
    [[nodiscard]] std::string broadcast(const std::string& text, int root = 0) const;
    [[nodiscard]] double broadcast(double value, int root = 0) const;
    /// On all ranks alike. A NaN on any rank makes them NaN.
    [[nodiscard]] double max(double value) const;
    [[nodiscard]] double min(double value) const;
    [[nodiscard]] double sum(double value) const;
    /// Values of all ranks in rank order, on the root; empty elsewhere. Lengths may differ.
    [[nodiscard]] std::vector<std::vector<double>> gather(std::span<const double> values) const;
    [[nodiscard]] std::vector<std::string> gather(const std::string& text) const;
    /// As gather, on all ranks.
    [[nodiscard]] std::vector<std::vector<double>> all_gather(std::span<const double> values) const;
    [[nodiscard]] std::vector<std::string> all_gather(const std::string& text) const;

    /// Host bytes of any size (cut into messages below 2^31 bytes). Not collective; both ends name the same size.
    void send(std::span<const std::byte> bytes, int to, int tag) const;
    void receive(std::span<std::byte> bytes, int from, int tag) const;

    /// What every rank has to say about its last step: nothing (all well) or an error text. Returns the same on all
    /// ranks: nothing, or the texts that came, each prefixed "rank r@host: ", equal texts once with
    /// their ranks ("ranks 0-3@host, 6@other: "), separated by line ends.
    [[nodiscard]] std::optional<std::string> agree(const std::optional<std::string>& error) const;

    /// Points to the MPI_Comm, for the comm layer's own files. Never null.
    [[nodiscard]] void* native() const;

  private:
    struct Impl;
    explicit Communicator(std::unique_ptr<Impl> impl);
    [[nodiscard]] const Impl& impl() const;
    std::unique_ptr<Impl> impl_;
};

/// MPI from start to end of the program: initialises on construction, finalises on destruction, unless an exception is
/// on its way out (finalising would wait for the other ranks: main meets the exception and calls abort). One in a
/// program.
class MpiSession {
  public:
    MpiSession(int& argc, char**& argv);
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    [[nodiscard]] const Communicator& world() const { return world_; }
    /// How many ranks the launcher says that it started (from OMPI_COMM_WORLD_SIZE, PMI_SIZE, SLURM_STEP_NUM_TASKS,
    /// ...); none without a launcher. When it differs from world().size(), these are independent copies: a wrong
    /// launch.
    [[nodiscard]] static std::optional<int> launcher_size();

    /// Ends the whole job at once with `code` (MPI_Abort), this process alone where MPI does not run. Flushes nothing.
    [[noreturn]] static void abort(int code);

  private:
    int exceptions_at_start_;
    Communicator world_;
};

[[nodiscard]] std::string host_name();

/// Version of MPI: header and library string.
[[nodiscard]] std::string mpi_header_version();
[[nodiscard]] std::string mpi_library_version();

}  // namespace pb
