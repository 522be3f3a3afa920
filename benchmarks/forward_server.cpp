// Runs forward calls when it is told to, so that a script can time them in turns with those of something else
// (beside_pytorch.py). Batches stay on the device: what is timed is the network alone. Commands, one a line on stdin,
// each answered by one line on stdout (`error <what>` when it failed; the next command is then still served):
//   load NETWORK WEIGHTS DTYPE WINDOWS.npy SIGMA   -> ready
//   time CALLS                                     -> seconds of that many forward calls
//   save OUT.npy                                   -> saved
#include "base/engine_support.hpp"
#include "device/convert.hpp"
#include "engine/memory.hpp"
#include "peer/npy.hpp"
#include "plan/plan.hpp"

#include "patchbench/device/device.hpp"
#include "patchbench/engine/denoiser.hpp"
#include "patchbench/network/network_facts.hpp"

#include <CLI/CLI.hpp>
#include <hwy/highway.h>

#include <iostream>
#include <optional>
#include <sstream>

namespace pb::peer {
namespace {

struct Request {
    std::string network, weights, dtype, windows;
    float sigma = 0;
};

/// One network with one batch of windows on one device.
class Resident {
  public:
    Resident(const Request& request, engine::EngineOptions options)
        : windows_(read_npy(request.windows)),
          weights_(engine::load_weights(request.weights, parse_enum<network::NetworkKind>(request.network))),
          options_(options_for(request, options)),
          stream_(options.device),
          denoiser_(engine::make_denoiser(weights_, options_)) {
        require(windows_.shape.size() == 4 && windows_.shape[3] == weights_.channels(),
                request.windows + ": should be (N, H, W, " + std::to_string(weights_.channels()) + ")");
        const Shape shape{windows_.shape[0], weights_.channels(), windows_.shape[1], windows_.shape[2]};
        Shape in = shape;
        if (network::network_facts(weights_.kind()).takes_sigma) {
            conversion_.sigma = request.sigma;
            ++in.c;
        }
        samples_ = allocate(shape, DType::f32, samples_memory_);
        in_ = allocate(in, storage_of(options_.engine, options_.precision), in_memory_);
        out_ = allocate(shape, storage_of(options_.engine, options_.precision), out_memory_);
        device::copy_to_device(samples_.pointer, windows_.values.data(), samples_.bytes(), stream_);
        device::samples_to_network(samples_, in_, conversion_, stream_);
        denoiser_->prepare(in_, out_, stream_);
        seconds(1);
    }

    /// Of `calls` forward calls, by the device's clock.
    double seconds(int calls) {
        device::Event start(options_.device), end(options_.device);
        start.record(stream_);
        for (int i = 0; i < calls; ++i) denoiser_->forward(in_, out_, stream_);
        end.record(stream_);
        stream_.synchronise();
        return end.seconds_since(start);
    }

    void save(const std::string& file) {
        Array result = windows_;
        device::network_to_samples(out_, samples_, conversion_, stream_);
        device::copy_to_host(result.values.data(), samples_.pointer, samples_.bytes(), stream_);
        stream_.synchronise();
        write_npy(file, result);
    }

  private:
    /// Layers are fused as with `fusion: auto`.
    static engine::EngineOptions options_for(const Request& request, engine::EngineOptions options) {
        options.precision = parse_enum<Precision>(request.dtype);
        plan::Point point;
        point.device = options.device.kind;
        point.settings.network = parse_enum<network::NetworkKind>(request.network);
        point.settings.dtype = options.precision;
        options.fusion = plan::is_fused(point);
        return options;
    }

    BatchView allocate(const Shape& shape, DType type, engine::EngineBuffer& memory) const {
        BatchView view{.shape = shape, .dtype = type, .layout = Layout::channels_last, .device = options_.device};
        memory = engine::EngineBuffer(options_.device, view.bytes());
        view.pointer = memory.pointer();
        return view;
    }

    Array windows_;
    engine::Weights weights_;
    engine::EngineOptions options_;
    device::Conversion conversion_;
    engine::EngineBuffer samples_memory_, in_memory_, out_memory_;
    BatchView samples_, in_, out_;
    device::Stream stream_;  // ends before the memory that its work uses
    std::unique_ptr<engine::Denoiser> denoiser_;
};

class Server {
  public:
    explicit Server(const engine::EngineOptions& options) : options_(options) {}

    std::string answer(const std::string& line) {
        std::istringstream words(line);
        std::string command;
        words >> command;
        if (command == "load") return load(words);
        require(command == "time" || command == "save", "unknown command '" + command + "'");
        require(resident_.has_value(), "nothing is loaded");
        return command == "time" ? time(words) : save(words);
    }

  private:
    std::string load(std::istream& words) {
        Request request;
        words >> request.network >> request.weights >> request.dtype >> request.windows >> request.sigma;
        require(!words.fail(), "load NETWORK WEIGHTS DTYPE WINDOWS.npy SIGMA");
        resident_.reset();
        engine::empty_allocator_cache(options_.device);
        resident_.emplace(request, options_);
        return "ready";
    }

    std::string time(std::istream& words) {
        int calls = 0;
        words >> calls;
        require(calls > 0, "time CALLS");
        std::ostringstream text;
        text.precision(9);
        text << resident_->seconds(calls);
        return text.str();
    }

    std::string save(std::istream& words) {
        std::string file;
        words >> file;
        resident_->save(file);
        return "saved";
    }

    engine::EngineOptions options_;
    std::optional<Resident> resident_;
};

void serve(const engine::EngineOptions& options) {
    device::select_device(options.device);
    Server server(options);
    for (std::string line; std::getline(std::cin, line);) {
        try {
            std::cout << server.answer(line) << std::endl;
        } catch (const std::exception& error) {
            std::string what = error.what();
            std::replace(what.begin(), what.end(), '\n', ' ');
            std::cout << "error " << what << std::endl;
        }
    }
}

}  // namespace
}  // namespace pb::peer

int main(int argc, char** argv) {
    CLI::App app("Forward calls on request; the commands are at the top of its source");
    pb::engine::EngineOptions options;
    bool cuda = false, avx2 = false;
    std::string engine = "torch";
    options.cudnn_benchmark = true;
    app.add_flag("--cuda", cuda, "on the first GPU instead of the CPU");
    app.add_option("--threads", options.threads, "on the CPU");
    app.add_option("--engine", engine, "torch or native");
    app.add_flag("--avx2", avx2, "engine native: no AVX-512");
    app.add_option("--winograd-tile", options.winograd_tile, "engine native: 4, or 2");
    CLI11_PARSE(app, argc, argv);
    options.engine = pb::parse_enum<pb::EngineKind>(engine);
    if (avx2) hwy::DisableTargets(HWY_AVX3);
    if (cuda) options.device = {pb::DeviceKind::cuda, 0};
    try {
        pb::peer::serve(options);
    } catch (const std::exception& error) {
        std::cerr << "forward_server: " << error.what() << std::endl;
        return 1;
    }
    return 0;
}
