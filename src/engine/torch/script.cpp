#include "engine/torch/script.hpp"

#include "patchbench/base/error.hpp"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace pb::engine::torch_engine {

namespace {

constexpr size_t kLongestText = 400;  // characters: a script may say anything

/// The interpreter gives a traceback of the script, then "RuntimeError: <what happened>", then perhaps places in
/// LibTorch.
std::string last_words(const std::string& text) {
    std::istringstream lines(text);
    std::string words, error;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("Exception raised from")) break;
        if (line.find_first_not_of(' ') != std::string::npos) words = line;
        const size_t colon = line.find(": ");
        if (colon != std::string::npos && line.substr(0, colon).ends_with("Error")) error = line;
    }
    return (error.empty() ? words : error).substr(0, kLongestText);
}

/// The interpreter passes on the text of an exception, not its type.
bool says_out_of_memory(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    constexpr std::array kWords{"out of memory", "not enough memory", "can't allocate memory", "under the cap of",
                                "the host has no"};
    return std::any_of(kWords.begin(), kWords.end(),
                       [&](const char* words) { return text.find(words) != std::string::npos; });
}

/// Throws what a script, or the reading of one, has thrown as `text` in this program's words.
[[noreturn]] void rethrow(const std::string& what, const std::string& text) {
    const std::string words = last_words(text);
    TORCH_CHECK_WITH(OutOfMemoryError, !says_out_of_memory(text), words);
    throw Error("engine torch: " + what + ": " + words);
}

template <class Work>
auto in_script(const std::string& what, Work&& work) {
    try {
        return work();
    } catch (const c10::OutOfMemoryError&) {
        throw;
    } catch (const c10::Error& error) {
        rethrow(what, error.what_without_backtrace());
    } catch (const std::exception& error) {
        rethrow(what, error.what());
    }
}

torch::jit::Module load(const std::string& file, const Placement& placement) {
    return in_script(file + " is no TorchScript that LibTorch reads", [&] {
        torch::jit::Module module = torch::jit::load(file, placement.options.device());
        module.eval();
        return module;
    });
}

std::vector<c10::IValue> inputs_of(const at::Tensor& in, bool takes_level) {
    if (!takes_level) return {in};
    const int64_t channels = in.size(1) - 1;
    return {in.narrow(1, 0, channels).contiguous(), in.select(1, channels).select(1, 0).select(1, 0).contiguous()};
}

}  // namespace

Script::Script(const Weights& weights, const Placement& placement)
    : file_(weights.source),
      module_(load(file_, placement)),
      takes_level_(weights.card.value().sigma == network::SigmaInput::input) {}

void Script::run(const at::Tensor& in, at::Tensor& out) {
    const c10::IValue result = in_script(file_, [&] { return module_.forward(inputs_of(in, takes_level_)); });
    if (!result.isTensor())
        throw Error("engine torch: " + file_ + " gave " + result.tagKind() + " instead of a tensor");
    const at::Tensor& pixels = result.toTensor();
    if (pixels.sizes() != out.sizes()) {
        std::ostringstream text;
        text << "engine torch: " << file_ << " gave a tensor of " << pixels.sizes() << " instead of " << out.sizes();
        throw Error(text.str());
    }
    out.copy_(pixels);
}

}  // namespace pb::engine::torch_engine
