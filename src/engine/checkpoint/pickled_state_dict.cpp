#include "base/text.hpp"
#include "engine/checkpoint/checkpoint_file.hpp"
#include "engine/checkpoint/pickle_value.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace pb::engine {
namespace {

// Averaged weights first, as BasicSR (params_ema), timm (state_dict_ema, model_ema) and others load them: they are what
// the training was for. Then the names of PyTorch Lightning and most scripts, of PyTorch's tutorials, of BasicSR.
constexpr std::array<std::string_view, 17> kNestedUnder{"params_ema",
                                                        "state_dict_ema",
                                                        "model_ema",
                                                        "ema_state_dict",
                                                        "ema_model",
                                                        "ema",
                                                        "swa_state_dict",
                                                        "averaged_state_dict",
                                                        "best_state_dict",
                                                        "state_dict",
                                                        "model_state_dict",
                                                        "model_state",
                                                        "params",
                                                        "model",
                                                        "module",
                                                        "network",
                                                        "net"};

/// Whether a name says that its weights may be better than others: parts of it between underscores.
bool says_better(std::string_view name) {
    constexpr std::array<std::string_view, 6> kWords{"ema", "swa", "averaged", "average", "avg", "best"};
    const std::string joined = "_" + std::string(name) + "_";
    return std::ranges::any_of(
        kWords, [&](std::string_view word) { return joined.find("_" + std::string(word) + "_") != std::string::npos; });
}

struct NestedStateDict {
    size_t dict = 0;   // index into PickleHeap::dicts
    std::string note;  // "'params_ema' is read, not 'params'"; empty when there was no choice
};

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
                add_item(others, shown(kNestedUnder[i]));
                continue;
            }
            name = shown(kNestedUnder[i]);
            chosen = std::move(found);
        }
        for (const std::string_view other : better_names(dict))
            if (others.find(shown(other)) == std::string::npos && shown(other) != name) add_item(others, shown(other));
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

    /// Whether there are tensors among the first values of the dict, or of a dict or list in it.
    [[nodiscard]] bool holds_tensors(size_t dict, bool looks_deeper = true) const {
        const auto is_tensor = [](const PickleValue& value) { return std::holds_alternative<TensorRef>(value); };
        const auto& items = heap_.dicts[dict];
        return std::any_of(items.begin(), items.begin() + std::min(kFew, std::ssize(items)), [&](const auto& item) {
            const PickleValue& value = item.second;
            if (const auto* list = std::get_if<ListRef>(&value))
                return !heap_.lists[list->index].empty() && is_tensor(heap_.lists[list->index].front());
            if (const auto* inner = std::get_if<DictRef>(&value))
                return looks_deeper && holds_tensors(inner->index, false);
            return is_tensor(value);
        });
    }

    /// Names of the dicts in `dict` that hold tensors and whose names say that they are better.
    [[nodiscard]] std::vector<std::string_view> better_names(size_t dict) const {
        std::vector<std::string_view> names;
        for (const auto& [key, value] : heap_.dicts[dict]) {
            const auto* name = std::get_if<std::string_view>(&key);
            const auto* inner = std::get_if<DictRef>(&value);
            if (name != nullptr && inner != nullptr && says_better(*name) && holds_tensors(inner->index))
                names.push_back(*name);
        }
        return names;
    }

    [[nodiscard]] bool is_state_dict(size_t dict) const {
        const auto is_tensor = [](const auto& item) { return std::holds_alternative<TensorRef>(item.second); };
        const auto& items = heap_.dicts[dict];
        return strict_ ? !items.empty() && std::ranges::all_of(items, is_tensor)
                       : std::ranges::any_of(items, is_tensor);
    }

    static constexpr std::ptrdiff_t kFew = 16;  // a hostile file has any number of names for one dict
    const PickleHeap& heap_;
    bool strict_;
    std::vector<bool> seen_;
};

class TensorReader {
  public:
    explicit TensorReader(const PickledFile& file) : file_(file) {}

    NamedTensor read(std::string_view key, const PickledTensor& tensor) {
        const PickledStorage& storage = file_.heap.storages[tensor.storage];
        const size_t element_bytes = size_of(storage.type);
        const int64_t elements = check_view(key, tensor, storage);
        if (elements == 0) return {tensor.shape, {}};
        const Bytes bytes = storage_bytes(key, storage);
        const uint64_t bytes_of_tensor = static_cast<uint64_t>(elements) * element_bytes;
        const auto [first, is_new] = first_at_.try_emplace({storage.key, tensor.offset}, key);
        if (!is_new && bytes_of_tensor > file_.bytes - tensor_bytes_)
            fail(key, "shares its values with " + shown(first->second) +
                          ", as tied weights do: save a copy of each, with .clone()");
        spend(key, tensor_bytes_, bytes_of_tensor);
        std::vector<float> values = is_dense(tensor)
                                        ? to_floats(bytes.subspan(static_cast<size_t>(tensor.offset) * element_bytes,
                                                                  static_cast<size_t>(elements) * element_bytes),
                                                    storage.type)
                                        : gather(tensor, bytes, storage.type, elements);
        return {tensor.shape, std::move(values), is_integer(storage.type)};
    }

    [[noreturn]] void fail(std::string_view key, const std::string& reason) const {
        throw UsageError(file_.name + ", tensor " + shown(key) + ": " + reason);
    }

  private:
    // Returns the number of elements after checking that all of them are in the storage.
    [[nodiscard]] int64_t check_view(std::string_view key, const PickledTensor& tensor,
                                     const PickledStorage& storage) const {
        const auto elements = checked_elements(tensor.shape);
        if (!elements || *elements > storage.elements)
            fail(key, fmt::format("has more elements than its storage ({}); an expanded tensor is to be saved with "
                                  ".contiguous()",
                                  storage.elements));
        if (*elements == 0) return 0;
        int64_t last = tensor.offset;
        for (size_t d = 0; d < tensor.shape.size(); ++d) {
            int64_t reach = 0;
            if (__builtin_mul_overflow(tensor.shape[d] - 1, tensor.stride[d], &reach) ||
                __builtin_add_overflow(last, reach, &last))
                fail(key, "has strides that are beyond any storage");
        }
        if (last >= storage.elements)
            fail(key, fmt::format("reaches element {} of a storage of {}", last, storage.elements));
        return *elements;
    }

    // All tensors and storages together may not be larger than the file. Otherwise overlapping views, or archive
    // entries that share bytes, could make a small file large in memory.
    void spend(std::string_view key, uint64_t& spent, uint64_t bytes) const {
        if (bytes > file_.bytes - spent)
            fail(key, fmt::format("claims {} bytes: together more than the file has; truncated or lying", bytes));
        spent += bytes;
    }

    Bytes storage_bytes(std::string_view key, const PickledStorage& storage) {
        uint64_t announced = 0;
        if (__builtin_mul_overflow(static_cast<uint64_t>(storage.elements), size_of(storage.type), &announced))
            fail(key, "has a storage beyond any file");
        auto known = storages_.find(storage.key);
        if (known == storages_.end()) {
            spend(key, storage_bytes_, announced);
            known = storages_.emplace(storage.key, file_.read_storage(storage)).first;
        }
        if (known->second.size() != announced)
            fail(key, fmt::format("announces a storage of {} bytes, the file has {}", announced, known->second.size()));
        return known->second;
    }

    static bool is_dense(const PickledTensor& tensor) {
        int64_t expected = 1;
        for (size_t d = tensor.shape.size(); d-- > 0; expected *= tensor.shape[d])
            if (tensor.shape[d] != 1 && tensor.stride[d] != expected) return false;
        return true;
    }

    static std::vector<float> gather(const PickledTensor& tensor, Bytes bytes, ElementType type, int64_t elements) {
        std::vector<float> values(static_cast<size_t>(elements));
        std::vector<int64_t> index(tensor.shape.size(), 0);
        std::vector<int64_t> stride = tensor.stride;
        for (size_t d = 0; d < stride.size(); ++d)
            if (tensor.shape[d] == 1) stride[d] = 0;  // has no meaning and may be any number
        int64_t place = tensor.offset;
        for (float& value : values) {
            value = element_at(bytes, type, static_cast<size_t>(place));
            for (size_t d = index.size(); d-- > 0;) {
                place += stride[d];
                if (++index[d] < tensor.shape[d]) break;
                place -= stride[d] * tensor.shape[d];
                index[d] = 0;
            }
        }
        return values;
    }

    const PickledFile& file_;
    std::map<std::string_view, Bytes> storages_;
    std::map<std::pair<std::string_view, int64_t>, std::string_view> first_at_;  // by storage and offset
    uint64_t tensor_bytes_ = 0;
    uint64_t storage_bytes_ = 0;
};

/// Follows the usual names, averaged weights first. Returns `outermost` when no state dict is found under them.
NestedStateDict find_state_dict(const PickleHeap& heap, size_t outermost) {
    for (const bool strict : {true, false})
        if (auto found = Search(heap, strict).look(outermost, 0)) return *found;
    return {outermost, ""};
}

}  // namespace

Checkpoint to_tensors(const PickledFile& file, const PickleValue& root) {
    const auto* outermost = std::get_if<DictRef>(&root);
    if (outermost == nullptr)
        throw UsageError(file.name + ": holds no dict; save the weights with torch.save(model.state_dict(), file)");
    NestedStateDict found = find_state_dict(file.heap, outermost->index);
    TensorReader reader(file);
    StateDict tensors;
    for (const auto& [key, value] : file.heap.dicts[found.dict]) {
        const auto* name = std::get_if<std::string_view>(&key);
        if (name == nullptr) throw UsageError(file.name + ": the state dict has a key that is no text");
        const auto* tensor = std::get_if<TensorRef>(&value);
        if (tensor == nullptr) reader.fail(*name, "is no tensor; save the state dict alone");
        if (tensors.contains(std::string(*name))) reader.fail(*name, "is there twice");
        tensors[std::string(*name)] = reader.read(*name, file.heap.tensors[tensor->index]);
    }
    return {.tensors = std::move(tensors), .metadata = {}, .note = std::move(found.note)};
}

}  // namespace pb::engine
