#include "operation.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace fake {
namespace {

size_t bytes_of(const Call& call) { return call.count * (call.type == ncclDouble ? sizeof(double) : 1); }

Bytes message(const Call& call, const void* input) {
    Bytes bytes(sizeof call + bytes_of(call));
    std::memcpy(bytes.data(), &call, sizeof call);
    std::memcpy(bytes.data() + sizeof call, input, bytes_of(call));
    return bytes;
}

/// What a peer sent for this call. Ranks that call different things would hang or mix their data up in NCCL.
std::optional<Bytes> take(ncclComm& communicator, const Call& expected, int peer) {
    auto bytes = receive(communicator.world[static_cast<size_t>(peer)], communicator.tag);
    if (!bytes) return std::nullopt;
    Call call;
    std::memcpy(&call, bytes->data(), sizeof call);
    if (call != expected)
        communicator.fail(ncclInternalError, "rank " + std::to_string(peer) + " calls something else than this rank");
    bytes->erase(bytes->begin(), bytes->begin() + sizeof call);
    bytes->resize(bytes_of(expected));
    return bytes;
}

double reduce(int32_t reduction, double one, double other) {
    switch (reduction) {
        case ncclProd: return one * other;
        case ncclMax: return std::max(one, other);
        case ncclMin: return std::min(one, other);
        default: return one + other;
    }
}

std::vector<double> doubles_in(const Bytes& bytes) {
    std::vector<double> values(bytes.size() / sizeof(double));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

std::vector<double> result_of(const Call& call, const std::vector<Bytes>& rows) {
    std::vector<double> result = doubles_in(rows[0]);
    for (size_t rank = 1; rank < rows.size(); ++rank) {
        const std::vector<double> row = doubles_in(rows[rank]);
        if (call.kind == Call::Kind::all_gather) result.insert(result.end(), row.begin(), row.end());
        for (size_t i = 0; call.kind == Call::Kind::all_reduce && i < row.size(); ++i)
            result[i] = reduce(call.reduction, result[i], row[i]);
    }
    return result;
}

/// Everybody sends to everybody and works the result out in rank order.
class Collective {
  public:
    Collective(Shared communicator, const Call& call, const Buffers& buffers, bool add_one)
        : communicator_(std::move(communicator)),
          call_(call),
          buffers_(buffers),
          add_one_(add_one),
          rows_(communicator_->world.size()) {}

    bool go_on() {
        if (communicator_->is_aborted) return true;
        if (!is_sent_)
            for (const int peer : communicator_->world) send(peer, communicator_->tag, message(call_, buffers_.input));
        is_sent_ = true;
        for (size_t peer = 0; peer < rows_.size(); ++peer)
            if (!rows_[peer]) rows_[peer] = take(*communicator_, call_, static_cast<int>(peer));
        if (std::ranges::any_of(rows_, [](const auto& row) { return !row; })) return false;
        finish();
        return true;
    }

  private:
    void finish() {
        std::vector<Bytes> rows;
        for (auto& row : rows_) rows.push_back(std::move(*row));
        std::vector<double> result = result_of(call_, rows);
        for (double& value : result)
            if (add_one_) value += 1;  // adding 0 would change -0.0
        std::memcpy(buffers_.output, result.data(), result.size() * sizeof(double));
    }

    Shared communicator_;
    Call call_;
    Buffers buffers_;
    bool add_one_;
    bool is_sent_ = false;
    std::vector<std::optional<Bytes>> rows_;
};

}  // namespace

Step collective(const Shared& communicator, const Call& call, const Buffers& buffers, bool add_one) {
    const auto state = std::make_shared<Collective>(communicator, call, buffers, add_one);
    return [state] { return state->go_on(); };
}

Step send_to(const Shared& communicator, const Call& call, const void* input, int peer) {
    return [=] {
        if (!communicator->is_aborted)
            send(communicator->world[static_cast<size_t>(peer)], communicator->tag, message(call, input));
        return true;
    };
}

Step receive_from(const Shared& communicator, const Call& call, void* output, int peer) {
    return [=] {
        if (communicator->is_aborted) return true;
        const auto bytes = take(*communicator, call, peer);
        if (bytes) std::memcpy(output, bytes->data(), bytes->size());
        return bytes.has_value();
    };
}

Step side_by_side(std::vector<Step> steps) {
    return [steps = std::move(steps)]() mutable {
        std::erase_if(steps, [](const Step& step) { return step(); });
        return steps.empty();
    };
}

}  // namespace fake
