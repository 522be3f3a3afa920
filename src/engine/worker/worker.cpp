#include "engine/worker/worker.hpp"

#include "base/text.hpp"
#include "base/user_paths.hpp"
#include "device/host_memory.hpp"
#include "engine/onnx/onnx_network.hpp"
#include "engine/worker/engine_places.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <sstream>

namespace pb::engine::worker_engine {

namespace {

constexpr const char* kWhat = "memory shared with an engine's process";

/// `bytes`: that were asked for; 0 where none were yet.
[[noreturn]] void fail(size_t bytes, int error) {
    const std::string size = bytes > 0 ? fmt::format("{} MiB: ", (bytes >> 20) + 1) : "";
    const std::string message = fmt::format("{}: {}{}", kWhat, size, std::strerror(error));
    if (error == ENOMEM || error == ENOSPC) throw OutOfMemory(message + "; use a smaller batch or smaller windows");
    throw Error(message);
}

Descriptor make_memory_file(const char* name, unsigned flags) {
    Descriptor descriptor(memfd_create(name, MFD_CLOEXEC | flags));
    if (descriptor.number() >= 0) return descriptor;
    require_descriptors(kWhat);
    fail(0, errno);
}

Descriptor make_descriptor() {
    Descriptor descriptor = make_memory_file("patchbench-windows", MFD_ALLOW_SEALING);
    // A process that shrinks it would end the other one by SIGBUS.
    (void)fcntl(descriptor.number(), F_ADD_SEALS, F_SEAL_SHRINK);
    return descriptor;
}

// As in engines/worker.py.
constexpr int64_t kOk = 0;
constexpr int64_t kOutOfMemory = 2;
using Request = std::array<int64_t, 7>;
using Header = std::array<int64_t, 4>;
constexpr size_t kLargestReply = 8192;

constexpr double kEndPatienceS = 2;      // between the end of the socket and that of the process
constexpr int kPollMs = 200;             // between two looks at signals
constexpr size_t kPlaceMultiple = 4096;  // of the output: arrays begin at a page

std::pair<Descriptor, Descriptor> make_sockets() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        require_descriptors("an engine's process");
        throw Error(std::string("engine: no pair of sockets: ") + std::strerror(errno));
    }
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// The network as ONNX, in memory: the process opens it by its descriptor, and no file is left when a process is
/// killed.
Descriptor make_model(const Weights& weights) {
    if (weights.card) return Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));  // the process opens the file
    const std::string model = to_onnx(weights);
    Descriptor file = make_memory_file("patchbench-model", 0);
    if (!write_at(file.number(), 0, std::as_bytes(std::span(model))))
        throw OutOfMemory(std::string("engine: no memory for the network: ") + std::strerror(errno));
    return file;
}

std::vector<std::string> command_line(const Weights& weights, const EngineOptions& options) {
    const WorkerOptions& worker = options.worker;
    std::vector<std::string> command = worker_command(options.engine, worker.file);
    const std::string layout = options.layout == Layout::channels_last ? "NHWC" : "NCHW";
    for (const std::string& word :
         {std::string("--rank"), std::to_string(getpid()), std::string("--threads"), std::to_string(options.threads),
          std::string("--layout"), layout, std::string("--dtype"), std::string(name_of(options.precision)),
          std::string("--limit"), std::to_string(worker.memory_limit_bytes)})
        command.push_back(word);
    if (options.device.is_cuda()) command.push_back(fmt::format("--device=cuda:{}", options.device.index));
    for (const std::string_view word : split(worker.options, ","))
        if (!word.empty()) command.push_back(fmt::format("--option={}", word));
    if (!weights.card) return command;
    command.push_back("--model=" + std::filesystem::absolute(weights.source).string());
    if (weights.card->sigma == network::SigmaInput::input) command.emplace_back("--sigma-input");
    return command;
}

size_t bytes_of(const Shape& shape) { return static_cast<size_t>(shape.elements()) * sizeof(float); }

size_t place_after(const Shape& in) { return (bytes_of(in) + kPlaceMultiple - 1) / kPlaceMultiple * kPlaceMultiple; }

ChildProcess start(const Weights& weights, const EngineOptions& options, const SharedMemory& memory,
                   const Descriptor& theirs) {
    const Descriptor model = make_model(weights);
    return {command_line(weights, options), {theirs.number(), memory.descriptor(), model.number()}};
}

}  // namespace

SharedMemory::SharedMemory() : descriptor_(make_descriptor()) {}

void SharedMemory::grow(size_t bytes) {
    if (bytes <= this->bytes()) return;
    if (bytes > static_cast<size_t>(std::numeric_limits<off_t>::max())) fail(bytes, ENOMEM);
    if (!device::fits_host_memory(bytes - this->bytes())) fail(bytes, ENOMEM);
    int error = 0;
    do error = posix_fallocate(descriptor_.number(), 0, static_cast<off_t>(bytes));
    while (error == EINTR);
    if (error != 0) fail(bytes, error);
    mapping_ = {};  // there may be no addresses for both
    mapping_ = Mapping::map(descriptor_.number(), bytes);
    if (mapping_.bytes().empty()) fail(bytes, errno);
}

Worker::Worker(const Weights& weights, const EngineOptions& options) : Worker(weights, options, make_sockets()) {}

Worker::Worker(const Weights& weights, const EngineOptions& options, std::pair<Descriptor, Descriptor> sockets)
    : name_(name_of(options.engine)),
      options_(options.worker),
      child_(start(weights, options, memory_, sockets.second)),
      socket_(std::move(sockets.first)) {
    sockets.second.close();  // else the end of the process would not be noticed
    const Reply ready = wait_for_reply("loading the network");
    check(ready);
    std::istringstream lines(ready.text);
    std::string layout;
    lines >> process_ >> layout >> std::ws;
    std::getline(lines, versions_);
    std::getline(lines, copies_);
    std::getline(lines, network_sha256_);
    layout_ = layout == "NHWC" ? Layout::channels_last : Layout::contiguous;
}

void Worker::reserve(const Shape& in, const Shape& out) {
    output_place_ = place_after(in);
    memory_.grow(output_place_ + bytes_of(out));
}

double Worker::run(const Shape& in, const Shape& out) {
    const Request request{
        in.n, in.c, in.h, in.w, out.c, static_cast<int64_t>(output_place_), static_cast<int64_t>(memory_.bytes())};
    if (socket_.number() < 0) give_up("is no longer there");
    // When the process has ended the answer will say so.
    (void)::send(socket_.number(), request.data(), sizeof request, MSG_NOSIGNAL);
    const Reply reply = wait_for_reply("a forward call");
    check(reply);
    arithmetic_ = reply.text;
    copies_of_call_ = {static_cast<double>(reply.to_device_ns) * 1e-9, static_cast<double>(reply.to_host_ns) * 1e-9};
    return static_cast<double>(reply.nanoseconds) * 1e-9;
}

Worker::Reply Worker::wait_for_reply(const std::string& what) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const auto end = begin + std::chrono::duration<double>(options_.timeout_s);
    Reply reply;
    while (!find_reply(what, reply)) {
        call_interrupt();
        if (child_.has_ended(0)) {  // a process that the adapter started may hold the socket open
            if (find_reply(what, reply)) break;
            give_up(child_.how_it_ended(0) + " (" + what + ")");
        }
        if (Clock::now() < end) continue;
        child_.kill();
        give_up(
            fmt::format("did not answer for {:.4g} s ({}) and was killed; raise worker.timeout_s if it needs longer",
                        options_.timeout_s, what));
    }
    return reply;
}

/// False when there is none after a while.
bool Worker::find_reply(const std::string& what, Reply& reply) {
    std::array<pollfd, 2> events{{{socket_.number(), POLLIN, 0}, {child_.words(), POLLIN, 0}}};
    if (::poll(events.data(), events.size(), kPollMs) < 0) return false;  // a signal came
    if (events[1].revents != 0) child_.read_words();
    if (events[0].revents == 0) return false;
    std::array<char, kLargestReply> message{};
    const ssize_t count = ::recv(socket_.number(), message.data(), message.size(), 0);
    if (count < 0 && errno == EINTR) return false;
    Header header{};
    if (count < static_cast<ssize_t>(sizeof header)) give_up(child_.how_it_ended(kEndPatienceS) + " (" + what + ")");
    std::memcpy(header.data(), message.data(), sizeof header);
    reply = {header[0], header[1], header[2], header[3],
             std::string(message.data() + sizeof header, message.data() + count)};
    return true;
}

void Worker::call_interrupt() {
    if (!options_.interrupt) return;
    try {
        options_.interrupt();
    } catch (...) {
        child_.kill();  // its answer would be taken for that of the next call
        socket_.close();
        throw;
    }
}

void Worker::check(const Reply& reply) const {
    if (reply.status == kOk) return;
    if (reply.status == kOutOfMemory) throw OutOfMemory("engine " + name_ + ": out of memory: " + reply.text);
    throw Error("engine " + name_ + ": " + reply.text);
}

void Worker::give_up(const std::string& how) {
    socket_.close();
    const std::string words = child_.last_words();
    throw ProcessEnded("engine " + name_ + ": its process " + how +
                       (words.empty() ? "" : "; its last words: " + words));
}

}  // namespace pb::engine::worker_engine
