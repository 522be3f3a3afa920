// Wraps MPI: control, host data and agreement between ranks. All calls except send and receive are collective over the
// communicator. Every MPI error throws Error with MPI's own text.
#pragma once

#include "base/text.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pb::comm {

class Communicator {
  public:
    Communicator();  // a null communicator: size 0; only assignment and is_null() are allowed
    ~Communicator();
    Communicator(Communicator&&) noexcept;
    Communicator& operator=(Communicator&&) noexcept;

    /// All ranks of the job: a duplicate of MPI_COMM_WORLD, whose messages mix with no others. Collective.
    [[nodiscard]] static Communicator world();

    [[nodiscard]] bool is_null() const;
    [[nodiscard]] int rank() const;
    [[nodiscard]] int size() const;  // 0 when null
    [[nodiscard]] bool is_root() const { return rank() == 0; }

    /// Ranks with the same `colour` form a communicator, ordered by `key`; a negative colour gives a null communicator.
    [[nodiscard]] Communicator split(int colour, int key) const;
    /// The ranks that share this host's memory.
    [[nodiscard]] Communicator node() const;

    void barrier() const;
    /// Like barrier(), but sleeps instead of spinning: for ranks that wait for long.
    void sleeping_barrier() const;
    void broadcast(std::span<std::byte> bytes, int root = 0) const;
    [[nodiscard]] std::string broadcast(const std::string& text, int root = 0) const;
    [[nodiscard]] double broadcast(double value, int root = 0) const;
    /// The same result on all ranks. A NaN on any rank makes it NaN.
    [[nodiscard]] double max(double value) const;
    [[nodiscard]] double min(double value) const;
    [[nodiscard]] double sum(double value) const;
    /// Values of all ranks in rank order, on the root; empty elsewhere. Lengths may differ.
    [[nodiscard]] std::vector<std::vector<double>> gather(std::span<const double> values) const;
    [[nodiscard]] std::vector<std::string> gather(const std::string& text) const;
    /// Like gather, on all ranks.
    [[nodiscard]] std::vector<std::vector<double>> all_gather(std::span<const double> values) const;
    [[nodiscard]] std::vector<std::string> all_gather(const std::string& text) const;

    /// Host bytes of any size (cut into messages below 2^31 bytes). Not collective; both ends name the same size.
    void send(std::span<const std::byte> bytes, int to, int tag) const;
    void receive(std::span<std::byte> bytes, int from, int tag) const;

    /// Each rank passes the error of its last step, or nullopt. Returns the same on all ranks: nullopt when no rank has
    /// an error, otherwise the texts as merge_texts joins them; of a single rank its own text.
    [[nodiscard]] std::optional<std::string> agree(const std::optional<std::string>& error) const;

    /// Points to the MPI_Comm; for the comm layer only. Never null.
    [[nodiscard]] void* native() const;

  private:
    struct Impl;
    explicit Communicator(std::unique_ptr<Impl> impl);
    [[nodiscard]] const Impl& impl() const;
    std::unique_ptr<Impl> impl_;
};

/// MPI from start to end of the program: initialises on construction, finalises on destruction, except while an
/// exception is thrown (finalising would wait for the other ranks: main catches the exception and calls abort). A
/// program has one.
class MpiSession {
  public:
    MpiSession(int& argc, char**& argv);
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    [[nodiscard]] const Communicator& world() const { return world_; }
    /// Number of ranks that the launcher started (from OMPI_COMM_WORLD_SIZE, PMI_SIZE, SLURM_STEP_NUM_TASKS, ...);
    /// nullopt without a launcher. When it differs from world().size(), the processes are independent copies: a wrong
    /// launch.
    [[nodiscard]] static std::optional<int> launcher_size();

    /// Ends the whole job immediately with `code` (MPI_Abort), or only this process when MPI is not running. Flushes
    /// nothing.
    [[noreturn]] static void abort(int code);

  private:
    int exceptions_at_start_;
    Communicator world_;
};

[[nodiscard]] std::string host_name();
/// "rank 1@node7".
[[nodiscard]] std::string name_of_rank(const Communicator& ranks);

struct RankText {
    RankOnHost rank;
    std::string text;
};

/// One paragraph for each different text, with the ranks that gave it: "rank 2@n1: text", "ranks 0-3@n1, 4, 6@n2:
/// text". Paragraphs are in the order of their first ranks; `all` must be in rank order.
[[nodiscard]] std::string merge_texts(const std::vector<RankText>& all);

/// Version of the MPI header ("3.1") and of the loaded library (its own text).
[[nodiscard]] std::string mpi_header_version();
[[nodiscard]] std::string mpi_library_version();

}  // namespace pb::comm
