#include "machine.hpp"

#include "refuse.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace pb::fakes {
namespace {

struct sigaction former_handler;
std::unique_ptr<Machine> current;

/// What the host, or a kernel, did with memory that was forbidden to it.
std::string offence(const Allocation& allocation, const std::byte* address) {
    const Queues& queues = machine().queues;
    const std::string memory = allocation.name();
    if (!allocation.is_live) return "use after free: " + memory;
    if (address < allocation.begin || address >= allocation.begin + allocation.bytes)
        return "beyond the end: something next to " + memory + " is touched";
    if (queues.running() != nullptr)
        return "undeclared: " + queues.running()->what + " touches " + memory + ", which it was not given";
    if (allocation.place == Place::device) return "the host touches " + memory;
    if (const std::string writer = queues.pending_on(allocation, true); !writer.empty())
        return "the host touches " + memory + ", which " + writer + " has still to write";
    return "the host writes " + memory + ", which " + queues.pending_on(allocation, false) + " has still to read";
}

void meet_violation(int signal, siginfo_t* info, void* context) {
    const auto* const address = static_cast<const std::byte*>(info->si_addr);
    if (current != nullptr)
        if (const Allocation* const allocation = current->allocations.find(address))
            refuse(offence(*allocation, address));
    if ((former_handler.sa_flags & SA_SIGINFO) != 0) return former_handler.sa_sigaction(signal, info, context);
    sigaction(SIGSEGV, &former_handler, nullptr);  // it comes again, and meets the default
}

void install_handler() {
    struct sigaction action {};
    action.sa_sigaction = meet_violation;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &former_handler);
}

void make_machine(const FakeCudaOptions& options) {
    static const bool is_installed = (install_handler(), true);
    (void)is_installed;
    current = std::make_unique<Machine>(options);
}

}  // namespace

void refuse(const std::string& what) {
    const std::string seed = current ? std::to_string(current->options.seed) : "none";
    (void)std::fprintf(stderr, "fake CUDA, seed %s: %s\n", seed.c_str(), what.c_str());
    std::abort();
}

Machine& machine() {
    if (current == nullptr) make_machine({});
    return *current;
}

FakeCuda::FakeCuda(const FakeCudaOptions& options) {
    if (current != nullptr) current->check_empty();
    make_machine(options);
}

FakeCuda::~FakeCuda() {
    current->check_empty();
    current.reset();
}

int FakeCuda::most_busy_streams() const { return current->queues.most_busy(); }

Queue& Machine::queue_of(cudaStream_t stream, const std::string& use) {
    if (stream == nullptr) refuse("default stream: " + use);
    Queue* const queue = queues.find(stream);
    if (queue == nullptr) refuse("no stream: " + use);
    if (!queue->is_live) refuse("stream " + std::to_string(queue->number) + " after its end: " + use);
    return *queue;
}

EventState& Machine::event_of(cudaEvent_t event, const std::string& use) {
    const auto found = std::ranges::find_if(
        events, [&](const EventState& state) { return static_cast<const void*>(&state) == event; });
    if (found == events.end()) refuse("no event: " + use);
    if (!found->is_live) refuse("event " + std::to_string(found->number) + " after its end: " + use);
    return *found;
}

Access Machine::access_to(const void* begin, size_t bytes, bool writes, const std::string& use) {
    const auto* const first = static_cast<const std::byte*>(begin);
    Allocation* const allocation = allocations.find(begin);
    if (allocation == nullptr) refuse("no device memory: " + use);
    if (!allocation->is_live) refuse("use after free: " + use + " of " + allocation->name());
    if (first < allocation->begin || first + bytes > allocation->begin + allocation->bytes)
        refuse("beyond the end: " + use + " of " + std::to_string(bytes) + " bytes at " +
               std::to_string(first - allocation->begin) + " of " + allocation->name());
    return {allocation, first, bytes, writes};
}

void Machine::check_empty() const {
    if (const Allocation* const left = allocations.find_live()) refuse("never freed: " + left->name());
    for (const EventState& event : events)
        if (event.is_live) refuse("never destroyed: event " + std::to_string(event.number));
    for (const Queue& queue : queues.queues())
        if (queue.is_live) refuse("never destroyed: stream " + std::to_string(queue.number));
}

}  // namespace pb::fakes
