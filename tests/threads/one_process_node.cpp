#include "threads/one_process_node.hpp"

#include "comm/communicator.hpp"
#include "comm/shared/node_memory.hpp"

#include <atomic>
#include <barrier>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

// Here no mapping is a rank's own: all have the one address that the thread sanitizer can watch.
void pb::Mapping::Unmap::operator()(std::byte* /*pointer*/) const noexcept {}

namespace pb::comm {
namespace {

struct Node {
    explicit Node(int num_ranks) : texts(static_cast<size_t>(num_ranks)), gate(num_ranks) {}
    std::vector<std::string> texts;
    std::vector<std::byte> memory;
    std::barrier<> gate;
};

thread_local Node* own_node = nullptr;
thread_local int own_rank = 0;
std::atomic<bool> abort_is_right{false};

}  // namespace

struct Communicator::Impl {
    Node* node;
    int rank;
};

Communicator::Communicator() = default;
Communicator::~Communicator() = default;
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::Communicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator Communicator::world() { return Communicator(std::make_unique<Impl>(Impl{own_node, own_rank})); }
Communicator Communicator::node() const { return Communicator(std::make_unique<Impl>(*impl_)); }
int Communicator::rank() const { return impl_->rank; }
int Communicator::size() const { return static_cast<int>(impl_->node->texts.size()); }
void Communicator::barrier() const { impl_->node->gate.arrive_and_wait(); }

std::vector<std::string> Communicator::all_gather(const std::string& text) const {
    impl_->node->texts[static_cast<size_t>(impl_->rank)] = text;
    barrier();
    auto all = impl_->node->texts;
    barrier();
    return all;
}

NodeMemory::NodeMemory(const Communicator& node, size_t bytes) {
    if (node.is_root()) own_node->memory.resize(bytes + 64);
    node.barrier();
    void* first = own_node->memory.data();
    size_t space = bytes + 64;
    mapping_ = {static_cast<std::byte*>(std::align(64, bytes, first, space)), bytes};
}

std::string host_name() { return "here"; }

void MpiSession::abort(int /*code*/) { std::_Exit(abort_is_right ? 0 : 1); }

}  // namespace pb::comm

namespace pb::test {

void expect_abort() { comm::abort_is_right = true; }

void run_ranks(int num_ranks, const std::function<void(int rank)>& body) {
    comm::Node node(num_ranks);
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < num_ranks; ++rank)
        ranks.emplace_back([&node, &body, rank] {
            comm::own_node = &node;
            comm::own_rank = rank;
            body(rank);
        });
}

}  // namespace pb::test
