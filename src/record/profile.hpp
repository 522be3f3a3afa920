// Where the time of a forward call goes, layer by layer. Values only.
#pragma once

#include "record/fields.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace pb::record {

/// One step of the network. Its figures are those of one call: FLOP and bytes follow from the graph, the time is the
/// mean over the calls.
struct LayerProfile {
    std::string layer;         // name of the convolution in checkpoints, else operation and index: "max_pool 3"
    std::string operation;     // "convolution 3x3, 64 to 64, relu"
    double flop = 0;           // 2 for each multiply-accumulate of a convolution
    double executed_flop = 0;  // fewer where the engine takes Winograd's method, without its transforms
    double bytes = 0;          // maps and weights, each value read and written once
    double seconds = 0;
};

template <class V, Like<LayerProfile> L>
void fields(V& v, L& layer) {
    v("layer", layer.layer);
    v("operation", layer.operation);
    v("flop", amount(layer.flop));
    v("executed_flop", amount(layer.executed_flop));
    v("bytes", amount(layer.bytes));
    v("seconds", amount(layer.seconds));
}

/// The layers of forward calls of the slowest rank, in the order of the call.
struct Profile {
    int rank = 0;  // number among all started ranks
    int64_t calls = 0;
    int64_t windows = 0;   // of a call
    double forward_s = 0;  // mean of a call; more than its layers together
    std::vector<LayerProfile> layers;
};

template <class V, Like<Profile> P>
void fields(V& v, P& profile) {
    v("rank", count(profile.rank), "the slowest one");
    v("calls", whole(profile.calls, 1), "forward calls after the repetitions; all figures are those of one call");
    v("windows", whole(profile.windows, 1), "of a call");
    v("forward_s", amount(profile.forward_s), "mean of a call; more than its layers together");
    v("layers", profile.layers, "in the order of the call; FLOP and bytes follow from the graph");
}

}  // namespace pb::record
