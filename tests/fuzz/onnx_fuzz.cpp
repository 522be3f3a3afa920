// ONNX models: what becomes a graph, which network that is, and its card.
#include "engine/network_file.hpp"
#include "engine/onnx/onnx_network.hpp"
#include "fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    pb::test::expect_value_or_error(bytes, count, [](const auto& file) {
        const pb::engine::OnnxNetwork network = pb::engine::read_onnx(pb::engine::read_file(file), file.string());
        (void)pb::engine::recognise_network(network, file.string());
    });
    pb::test::expect_value_or_error(bytes, count, [](const auto& file) {
        const pb::engine::LayersInFile layers = pb::engine::layers_in(file);
        if (layers.card) (void)pb::network::parse_network_card(pb::network::stored_text(*layers.card));
    });
    return 0;
}
