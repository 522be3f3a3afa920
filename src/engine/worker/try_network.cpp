// Runs windows of any extent through a network whose card is not known yet.
#include "base/network_format.hpp"
#include "base/text.hpp"
#include "device/host_memory.hpp"
#include "engine/network_file.hpp"
#include "engine/worker/engine_places.hpp"
#include "engine/worker/worker.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <memory>

namespace pb::engine {

namespace {

constexpr size_t kLongestRefusal = 400;  // characters: frameworks add where in their sources they are

class NetworkTrial {
  public:
    NetworkTrial(std::filesystem::path file, const EngineOptions& options) : file_(std::move(file)), options_(options) {
        options_.layout = Layout::contiguous;
        options_.worker.memory_limit_bytes =
            device::available_host_memory_bytes().value_or(0) / 2;  // the file may ask for any
    }

    network::TrialOutput run(const network::NetworkCard& card, std::vector<float> window, const Shape& shape) {
        const auto key = std::pair(card.channels, card.sigma);
        if (!denoiser_ || key != key_) load(card);
        key_ = key;
        const Shape out_shape{shape.n, card.channels, shape.h, shape.w};
        network::TrialOutput output{std::vector<float>(static_cast<size_t>(out_shape.elements())), ""};
        device::Stream stream(options_.device);
        try {
            denoiser_->forward(view_of(window, shape), view_of(output.values, out_shape), stream);
        } catch (const Interrupted&) {
            throw;
        } catch (const worker_engine::ProcessEnded& error) {  // it would end again, or take as long
            throw UsageError(error.what());
        } catch (const Error& error) {
            output.refusal = std::string(error.what()).substr(0, kLongestRefusal);
        }
        return output;
    }

  private:
    void load(const network::NetworkCard& card) {
        denoiser_.reset();
        try {
            const network::NetworkCard known{
                .channels = card.channels, .sigma = card.sigma, .layers = card.layers};  // its extents are being tried
            denoiser_ = make_denoiser(custom_network(file_, known), options_);
        } catch (const Interrupted&) {
            throw;
        } catch (const Error& error) {  // the engine is not there, or it does not take the file
            throw UsageError(error.what());
        }
    }

    [[nodiscard]] BatchView view_of(std::vector<float>& values, const Shape& shape) const {
        return {values.data(), shape, DType::f32, options_.layout, options_.device};
    }

    std::filesystem::path file_;
    EngineOptions options_;
    std::unique_ptr<Denoiser> denoiser_;
    std::pair<int64_t, network::SigmaInput> key_;
};

/// Calls `find` with a function that runs windows through the network; its errors name the file.
template <class Find>
network::FoundCard try_file(const std::filesystem::path& file, const EngineOptions& options,
                            const TrialListener& listener, Find find) {
    NetworkTrial trial(file, options);
    try {
        return find([&](const network::NetworkCard& card, const std::vector<float>& window, const Shape& shape) {
            listener({shape.h, shape.w});
            return trial.run(card, window, shape);
        });
    } catch (const UsageError& error) {
        throw UsageError(file.string() + ": " + error.what());
    }
}

/// As candidates_in_onnx; of code, all that there are.
std::vector<network::NetworkCard> candidates_in(const std::filesystem::path& file) {
    if (!is_code(file)) return candidates_in_onnx(file);
    using network::SigmaInput;
    std::vector<network::NetworkCard> all;
    for (const SigmaInput sigma : {SigmaInput::none, SigmaInput::channel, SigmaInput::input})
        for (const int64_t channels : {3, 1}) all.push_back({.channels = channels, .sigma = sigma});
    return all;
}

/// No window that was tried showed that a pixel far away matters; the operations may tell more.
void take_global_operation(const std::filesystem::path& file, network::FoundCard& found) {
    const std::string operation = global_operation_in(file);
    if (operation.empty()) return;
    found.card.radius.reset();
    found.card.halo.reset();
    found.remarks.push_back(fmt::format(
        "its receptive field is unbounded: {} takes all pixels of a window, though the windows tried do not show it; "
        "where it has no effect, write radius and halo into its card",
        operation));
}

}  // namespace

void require_installed(EngineKind engine) {
    const bool has_environment = has_own_process(engine) && engine != EngineKind::python;  // which names its file
    if (has_environment) (void)worker_engine::worker_command(engine, "");
}

bool is_installed(EngineKind engine) {
    try {
        require_installed(engine);
        return true;
    } catch (const Error&) {
        return false;
    }
}

std::string versions_of(EngineKind engine) {
    if (has_own_process(engine)) return worker_engine::versions_of(engine);
    std::string versions;
    for (const device::LibraryVersion& each : engine_versions())
        add_item(versions, fmt::format("{} {}", each.library, each.loaded));
    return versions;
}

network::FoundCard try_network(const std::filesystem::path& file, const EngineOptions& options,
                               const TrialListener& listener) {
    const auto candidates = candidates_in(file);
    return try_file(file, options, listener, [&](const network::TryWindow& run) {
        network::FoundCard found = network::find_card(candidates, run);
        network::look_at_batches(found, run);
        if (found.card.halo && !is_code(file)) take_global_operation(file, found);
        return found;
    });
}

network::FoundCard try_layers(const std::filesystem::path& file, const network::NetworkCard& card,
                              const EngineOptions& options, const TrialListener& listener) {
    return try_file(file, options, listener,
                    [&](const network::TryWindow& run) { return network::find_range(card, run); });
}

}  // namespace pb::engine
