#include "engine/checkpoint/nested_state_dict.hpp"

#include "engine/checkpoint/byte_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace pb::engine {
namespace {

// Averaged weights first, as BasicSR (params_ema), timm (state_dict_ema, model_ema) and others load them: they are what
// the training was for. Then the names of PyTorch Lightning and most scripts, of PyTorch's tutorials, of BasicSR.
constexpr std::array<std::string_view, 13> kNestedUnder{
    "params_ema",       "state_dict_ema", "model_ema", "ema_state_dict", "ema_model", "ema", "state_dict",
    "model_state_dict", "model_state",    "params",    "model",          "network",   "net"};

class Search {
  public:
    /// `strict`: a state dict consists of tensors only. Otherwise one tensor is enough, so that an error can name the
    /// others.
    Search(const PickleHeap& heap, bool strict) : heap_(heap), strict_(strict), seen_(heap.dicts.size(), false) {}

    // Each dict is looked into once, so that cycles end and the time grows with the file.
    std::optional<NestedStateDict> look(size_t dict, int depth) {
        constexpr int kDeepest = 4;
        if (depth > kDeepest || seen_[dict]) return std::nullopt;
        seen_[dict] = true;
        std::optional<NestedStateDict> chosen;
        std::string name, others;
        const auto nested = dicts_in(dict);
        for (size_t i = 0; i < nested.size(); ++i) {
            auto found = nested[i] ? look(*nested[i], depth + 1) : std::nullopt;
            if (!found) continue;
            if (chosen) {
                others += (others.empty() ? "" : ", ") + shown(kNestedUnder[i]);
                continue;
            }
            name = shown(kNestedUnder[i]);
            chosen = std::move(found);
        }
        if (!chosen) return is_state_dict(dict) ? std::optional(NestedStateDict{dict, ""}) : std::nullopt;
        if (!others.empty()) chosen->note = fmt::format("{} is read, not {}", name, others);
        return chosen;
    }

  private:
    [[nodiscard]] std::array<std::optional<size_t>, kNestedUnder.size()> dicts_in(size_t dict) const {
        std::array<std::optional<size_t>, kNestedUnder.size()> nested;
        for (const auto& [key, value] : heap_.dicts[dict]) {
            const auto* name = std::get_if<std::string_view>(&key);
            const auto* inner = std::get_if<DictRef>(&value);
            if (name == nullptr || inner == nullptr) continue;
            const auto known = std::ranges::find(kNestedUnder, *name);
            if (known != kNestedUnder.end()) nested[static_cast<size_t>(known - kNestedUnder.begin())] = inner->index;
        }
        return nested;
    }

    [[nodiscard]] bool is_state_dict(size_t dict) const {
        const auto is_tensor = [](const auto& item) { return std::holds_alternative<TensorRef>(item.second); };
        const auto& items = heap_.dicts[dict];
        return strict_ ? !items.empty() && std::ranges::all_of(items, is_tensor)
                       : std::ranges::any_of(items, is_tensor);
    }

    const PickleHeap& heap_;
    bool strict_;
    std::vector<bool> seen_;
};

}  // namespace

NestedStateDict find_state_dict(const PickleHeap& heap, size_t outermost) {
    for (const bool strict : {true, false})
        if (auto found = Search(heap, strict).look(outermost, 0)) return *found;
    return {outermost, ""};
}

}  // namespace pb::engine
