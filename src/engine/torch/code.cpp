#include "engine/torch/code.hpp"

#include "base/network_format.hpp"
#include "base/text.hpp"

#include "patchbench/base/error.hpp"

#include <c10/util/Exception.h>
#include <signal.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <sstream>
#include <utility>

namespace pb::engine::torch_engine {

namespace {

constexpr std::array kFatalSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// What a signal handler can read.
std::atomic<const char*> last_sentence{nullptr};
std::array<struct sigaction, kFatalSignals.size()> earlier_actions;

extern "C" void tell_of_crash(int signal) {
    if (const char* const sentence = last_sentence.exchange(nullptr))
        (void)!::write(STDERR_FILENO, sentence, std::strlen(sentence));
    for (size_t i = 0; i < kFatalSignals.size(); ++i)
        if (kFatalSignals[i] == signal) sigaction(signal, &earlier_actions[i], nullptr);
    ::raise(signal);
}

/// After MPI, which sets handlers of its own for some of them.
void set_handlers() {
    struct sigaction action {};
    action.sa_handler = tell_of_crash;
    action.sa_flags = SA_NODEFER;
    for (size_t i = 0; i < kFatalSignals.size(); ++i) sigaction(kFatalSignals[i], &action, &earlier_actions[i]);
}

constexpr size_t kLongestText = 400;  // characters: code may say anything

/// The interpreter gives a traceback of the script, then "RuntimeError: <what happened>", then perhaps places in
/// LibTorch.
std::string last_words(const std::string& text) {
    std::istringstream lines(text);
    std::string words, error;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("Exception raised from") || line.starts_with("Declaration:")) break;
        if (line.find_first_not_of(' ') != std::string::npos) words = line;
        const size_t colon = line.find(": ");
        if (colon != std::string::npos && line.substr(0, colon).ends_with("Error")) error = line;
    }
    return (error.empty() ? words : error).substr(0, kLongestText);
}

/// The interpreter passes on the text of an exception, not its type.
bool says_out_of_memory(const std::string& said) {
    const std::string text = lower_case(said);
    constexpr std::array kWords{"out of memory", "not enough memory", "can't allocate memory", "under the cap of",
                                "the host has no"};
    return std::ranges::any_of(kWords, [&](const char* words) { return text.find(words) != std::string::npos; });
}

/// Throws what code, or the reading of it, has thrown as `text` in this program's words.
[[noreturn]] void rethrow(const std::string& what, const std::string& text) {
    const std::string words = last_words(text);
    TORCH_CHECK_WITH(OutOfMemoryError, !says_out_of_memory(text), words);
    throw Error("engine torch: " + what + ": " + words);
}

std::vector<at::Tensor> inputs_of(const at::Tensor& in, bool takes_level) {
    if (!takes_level) return {in};
    const int64_t channels = in.size(1) - 1;
    return {in.narrow(1, 0, channels).contiguous(), in.select(1, channels).select(1, 0).select(1, 0).contiguous()};
}

class Script final : public Code {
  public:
    Script(const Weights& weights, const Placement& placement) : Code(weights) {
        guarded(file() + " is no TorchScript that LibTorch reads", [&] {
            module_ = torch::jit::load(file(), placement.options.device());
            module_.eval();
        });
    }

  private:
    [[nodiscard]] at::Tensor call(const std::vector<at::Tensor>& inputs) override {
        const c10::IValue result = module_.forward({inputs.begin(), inputs.end()});
        if (!result.isTensor())
            throw Error("engine torch: " + file() + " gave " + result.tagKind() + " instead of a tensor");
        return result.toTensor();
    }

    torch::jit::Module module_;
};

}  // namespace

CrashNote::CrashNote(std::string sentence) : sentence_(std::move(sentence)) {
    static std::once_flag once;
    std::call_once(once, set_handlers);
    last_sentence = sentence_.c_str();
}

CrashNote::~CrashNote() { last_sentence = nullptr; }

Code::Code(const Weights& weights)
    : file_(weights.source), takes_level_(weights.card.value().sigma == network::SigmaInput::input) {}

void Code::guarded(const std::string& what, const std::function<void()>& work) const {
    const CrashNote note("patchbench: " + file_ +
                         " crashed this process: engine torch runs it inside of it; engine: pytorch runs it in a "
                         "process of its own, and a crash is then the status of its point\n");
    try {
        work();
    } catch (const c10::OutOfMemoryError&) {
        throw;
    } catch (const Error&) {
        throw;
    } catch (const c10::Error& error) {
        rethrow(what, error.what_without_backtrace());
    } catch (const std::exception& error) {
        rethrow(what, error.what());
    }
}

void Code::run(const at::Tensor& in, at::Tensor& out) {
    at::Tensor pixels;
    guarded(file_, [&] { pixels = call(inputs_of(in, takes_level_)); });
    if (pixels.sizes() != out.sizes()) {
        std::ostringstream text;
        text << "engine torch: " << file_ << " gave a tensor of " << pixels.sizes() << " instead of " << out.sizes();
        throw Error(text.str());
    }
    if (pixels.is_complex()) throw Error("engine torch: " + file_ + " gave complex numbers: give real ones");
    out.copy_(pixels);
}

std::unique_ptr<Code> make_code(const Weights& weights, const Placement& placement) {
    if (network_format(weights.source) == NetworkFormat::torch_package) return make_package(weights, placement);
    return std::make_unique<Script>(weights, placement);
}

}  // namespace pb::engine::torch_engine
