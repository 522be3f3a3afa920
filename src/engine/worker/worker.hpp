// The process that runs a network in another framework (engines/worker.py), seen from the rank. Requests and replies go
// through a pair of sockets, windows through shared memory.
#pragma once

#include "base/descriptor.hpp"
#include "engine/worker/child_process.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/engine/denoiser.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace pb::engine::worker_engine {

/// Memory that a rank shares with the process that it starts: without a name in any file system, reserved before it is
/// mapped, so that a lack of memory is an error and no SIGBUS.
class SharedMemory {
  public:
    SharedMemory();

    /// Makes it `bytes` large, if it is smaller. Earlier pointers are then invalid. Throws OutOfMemory.
    void grow(size_t bytes);
    [[nodiscard]] std::byte* pointer() const { return mapping_.bytes().data(); }
    [[nodiscard]] size_t bytes() const { return mapping_.bytes().size(); }
    [[nodiscard]] int descriptor() const { return descriptor_.number(); }

  private:
    Descriptor descriptor_;
    Mapping mapping_;
};

/// The process is no longer there, or was killed because it did not answer.
class ProcessEnded : public Error {
  public:
    using Error::Error;
};

class Worker {
  public:
    /// Starts the process and waits until it has loaded the network. Throws Error with its last words, OutOfMemory, or
    /// what `options.worker.interrupt` throws.
    Worker(const Weights& weights, const EngineOptions& options);

    /// Makes room for a batch in the shared memory.
    void reserve(const Shape& in, const Shape& out);
    /// Where the process reads input and writes output, in `layout`, after `reserve` for the same shapes.
    [[nodiscard]] float* input() const { return reinterpret_cast<float*>(memory_.pointer()); }
    [[nodiscard]] float* output() const { return reinterpret_cast<float*>(memory_.pointer() + output_place_); }
    [[nodiscard]] Layout layout() const { return layout_; }

    /// Runs the network on what lies in the shared memory. Returns the seconds that the process took by its own clock.
    /// After an OutOfMemory or an error of the framework the process can be called again.
    double run(const Shape& in, const Shape& out);

    /// The process that runs the network: a child of `child_`, its guardian.
    [[nodiscard]] int id() const { return process_; }
    [[nodiscard]] const std::string& versions() const { return versions_; }
    /// What Python copies beside the rank; empty: nothing.
    [[nodiscard]] const std::string& copies() const { return copies_; }
    /// What copies to its device and back took in the last call, which its seconds leave out.
    [[nodiscard]] const CopySeconds& copies_of_call() const { return copies_of_call_; }
    /// sha256 of the values of a network that is code; empty: it is none.
    [[nodiscard]] const std::string& network_sha256() const { return network_sha256_; }
    [[nodiscard]] bool has_ended() const { return socket_.number() < 0; }
    /// How it computed the last call, where that is not plain fp32 and the adapter knows it.
    [[nodiscard]] const std::string& arithmetic() const { return arithmetic_; }

  private:
    Worker(const Weights& weights, const EngineOptions& options, std::pair<Descriptor, Descriptor> sockets);

    struct Reply {
        int64_t status = 0, nanoseconds = 0, to_device_ns = 0, to_host_ns = 0;
        std::string text;
    };

    /// Waits for an answer while the process does `what`, at most `options.worker.timeout_s`.
    Reply wait_for_reply(const std::string& what);
    [[nodiscard]] bool find_reply(const std::string& what, Reply& reply);
    /// Throws what a reply says.
    void check(const Reply& reply) const;
    [[noreturn]] void give_up(const std::string& how);
    void call_interrupt();

    std::string name_;
    WorkerOptions options_;
    SharedMemory memory_;
    ChildProcess child_;
    int process_ = 0;
    Descriptor socket_;  // closed first: the process ends at its end of file
    Layout layout_ = Layout::contiguous;
    size_t output_place_ = 0;
    CopySeconds copies_of_call_;
    std::string versions_, copies_, network_sha256_, arithmetic_;
};

}  // namespace pb::engine::worker_engine
