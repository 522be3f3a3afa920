#include "engine/torch/slab.hpp"

#include <algorithm>
#include <utility>

namespace pb::engine::torch_engine {

Slab::Slab(const Network& network, const network::ExchangedSlab& slab, Runner runner)
    : network_(network),
      slab_(slab),
      runner_(std::move(runner)),
      steps_(network::slab_steps(network.graph(), slab)),
      pieces_(network.graph().size()) {}

void Slab::run(const void* in, void* out, RowExchange* exchange) {
    const size_t output = network_.graph().output();
    const int64_t width = slab_.shape().image.w;
    in_flight_.reset();
    runner_([&] {
        pieces_ = PieceMaps(network_.graph().size());
        pieces_.maps.front() = network_.rows_at(const_cast<void*>(in), 0, slab_.held(0), width);
        pieces_.held.front() = network::piece_of_rows(network_.graph(), 0, slab_.held(0), width);
        at::Tensor made = network_.rows_at(out, output, slab_.owned(output), width);
        for (size_t step = 0; step < steps_.size(); ++step) run_step(step, made, exchange);
    });
}

void Slab::run_step(size_t step, at::Tensor& out, RowExchange* exchange) {
    const network::PieceStep& piece = steps_[step];
    const size_t made = piece.step.last;
    if (in_flight_ && std::ranges::count(piece.maps, *in_flight_) > 0) finish(exchange);
    network_.run_piece(step, piece, pieces_, out);
    if (exchange == nullptr || !travels(made)) return;
    if (in_flight_) finish(exchange);
    exchange->start(border_rows(made, network::Side::above), border_rows(made, network::Side::below));
    in_flight_ = made;
}

void Slab::finish(RowExchange* exchange) {
    exchange->finish();
    in_flight_.reset();
}

bool Slab::travels(size_t operation) const {
    const std::vector<size_t>& maps = slab_.travelling();
    return std::ranges::binary_search(maps, operation);
}

BorderRows Slab::border_rows(size_t operation, network::Side side) const {
    return {bytes_of(operation, slab_.sent(operation, side)), bytes_of(operation, slab_.received(operation, side))};
}

/// Rows of a map of one image in NHWC lie one after another.
std::span<std::byte> Slab::bytes_of(size_t operation, const Range& rows) const {
    if (rows.size() == 0) return {};
    const int64_t row_bytes = slab_.row_bytes(operation);
    auto* const first = static_cast<std::byte*>(pieces_.maps[operation].data_ptr());
    return {first + (rows.begin - slab_.held(operation).begin) * row_bytes,
            static_cast<size_t>(rows.size() * row_bytes)};
}

}  // namespace pb::engine::torch_engine
