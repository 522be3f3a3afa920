#include "engine/checkpoint/pickle_value.hpp"

#include <algorithm>
#include <array>

namespace pb::engine {
namespace {

// More than any state dict needs. Without this limit a shared tuple of sizes could take much memory.
constexpr size_t kMostDimensions = 8;

std::optional<std::vector<int64_t>> sizes_of(const PickleValue& value, const PickleHeap& heap) {
    const auto* tuple = std::get_if<TupleRef>(&value);
    if (tuple == nullptr || heap.tuples[tuple->index].size() > kMostDimensions) return std::nullopt;
    std::vector<int64_t> sizes;
    for (const PickleValue& item : heap.tuples[tuple->index]) {
        const auto* size = std::get_if<int64_t>(&item);
        if (size == nullptr || *size < 0) return std::nullopt;
        sizes.push_back(*size);
    }
    return sizes;
}

/// Whether the seventh argument has an entry: a lazily negated or conjugated tensor, whose storage has other values.
bool is_lazy(const std::vector<PickleValue>& arguments, const PickleHeap& heap) {
    const auto* flags = arguments.size() > 6 ? std::get_if<DictRef>(&arguments[6]) : nullptr;
    return flags != nullptr && !heap.dicts[flags->index].empty();
}

// Arguments: storage, offset, shape, stride, flags without effect on the values, and those of is_lazy.
std::optional<PickleValue> rebuild_tensor(const std::vector<PickleValue>& arguments, PickleHeap& heap) {
    const auto* storage = std::get_if<StorageRef>(&arguments[0]);
    const auto* offset = std::get_if<int64_t>(&arguments[1]);
    auto shape = sizes_of(arguments[2], heap);
    auto stride = sizes_of(arguments[3], heap);
    if (is_lazy(arguments, heap)) return std::nullopt;
    if (storage == nullptr || offset == nullptr || *offset < 0 || !shape || !stride || shape->size() != stride->size())
        return std::nullopt;
    heap.tensors.push_back({storage->index, *offset, std::move(*shape), std::move(*stride)});
    return TensorRef{heap.tensors.size() - 1};
}

/// An OrderedDict is called without arguments, or by Python 2 with a list of lists of a key and its value. The list is
/// emptied: a hostile file could copy it into any number of dicts.
std::optional<PickleValue> make_ordered_dict(const std::vector<PickleValue>& arguments, PickleHeap& heap) {
    const auto* list = arguments.size() == 1 ? std::get_if<ListRef>(&arguments[0]) : nullptr;
    if (list == nullptr && !arguments.empty()) return std::nullopt;
    std::vector<PickleValue> pairs;
    if (list != nullptr) pairs.swap(heap.lists[list->index]);
    std::vector<std::pair<PickleValue, PickleValue>> items;
    for (const PickleValue& each : pairs) {
        const auto* pair = std::get_if<ListRef>(&each);
        if (pair == nullptr || heap.lists[pair->index].size() != 2) return std::nullopt;
        items.emplace_back(heap.lists[pair->index][0], heap.lists[pair->index][1]);
    }
    heap.dicts.push_back(std::move(items));
    return DictRef{heap.dicts.size() - 1};
}

/// Classes of what training scripts and Lightning save beside the weights, as `module.name`. Nothing of them is made.
bool is_setting(std::string_view module, std::string_view name) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 32> kSettings{{
        {"__builtin__", "bytearray"},
        {"__builtin__", "complex"},
        {"__builtin__", "dict"},  // what a defaultdict makes
        {"__builtin__", "int"},
        {"__builtin__", "list"},
        {"__builtin__", "set"},
        {"argparse", "Namespace"},
        {"collections", "defaultdict"},
        {"pathlib", "Path"},
        {"pathlib", "PosixPath"},
        {"pathlib", "PurePosixPath"},
        {"pathlib", "WindowsPath"},
        {"pathlib._local", "PosixPath"},
        {"numpy", "dtype"},
        {"numpy.core.multiarray", "scalar"},
        {"numpy._core.multiarray", "scalar"},
        {"_codecs", "encode"},  // the bytes of a NumPy number
        {"torch", "Size"},
        {"torch", "device"},
        {"torch", "bfloat16"},  // types are named, never called
        {"torch", "bool"},
        {"torch", "float16"},
        {"torch", "float32"},
        {"torch", "float64"},
        {"torch", "int16"},
        {"torch", "int32"},
        {"torch", "int64"},
        {"torch", "int8"},
        {"torch", "uint8"},
        {"pytorch_lightning.utilities.parsing", "AttributeDict"},
        {"lightning.fabric.utilities.data", "AttributeDict"},
        {"lightning_fabric.utilities.data", "AttributeDict"},
    }};
    return std::ranges::find(kSettings, std::pair(module, name)) != kSettings.end();
}

}  // namespace

std::optional<PickleValue> find_global(std::string_view module, std::string_view name) {
    if (module == "collections" && name == "OrderedDict") return Callable::ordered_dict;
    if (module == "collections" && name == "Counter") return Callable::counter;
    if (module == "torch._utils") {
        if (name == "_rebuild_tensor") return Callable::rebuild_tensor;
        if (name == "_rebuild_tensor_v2") return Callable::rebuild_tensor_v2;
        if (name == "_rebuild_parameter") return Callable::rebuild_parameter;
    }
    if (module == "torch")
        if (const auto type = find_storage_type(name)) return *type;
    if (is_setting(module, name)) return Callable::setting;
    return std::nullopt;
}

std::optional<PickleValue> call_global(Callable callable, const std::vector<PickleValue>& arguments, PickleHeap& heap) {
    const size_t count = arguments.size();
    switch (callable) {
        case Callable::ordered_dict: return make_ordered_dict(arguments, heap);
        case Callable::counter:  // in the state of the scheduler MultiStepLR, made from a dict
            if (count != 1 || !std::holds_alternative<DictRef>(arguments[0])) return std::nullopt;
            return arguments[0];
        case Callable::rebuild_tensor: return count == 4 ? rebuild_tensor(arguments, heap) : std::nullopt;
        case Callable::rebuild_tensor_v2:
            return count == 6 || count == 7 ? rebuild_tensor(arguments, heap) : std::nullopt;
        case Callable::rebuild_parameter:
            if (count != 3 || !std::holds_alternative<TensorRef>(arguments[0])) return std::nullopt;
            return arguments[0];
        case Callable::setting: return Setting{};
    }
    return std::nullopt;
}

std::optional<PickleValue> find_persistent(const PickleValue& id, PickleHeap& heap) {
    const auto* tuple = std::get_if<TupleRef>(&id);
    if (tuple == nullptr) return std::nullopt;
    const auto& parts = heap.tuples[tuple->index];
    // The sixth part describes a view of another storage (before torch 0.4); None otherwise.
    if (parts.size() != 5 && !(parts.size() == 6 && std::holds_alternative<std::monostate>(parts[5])))
        return std::nullopt;
    const auto* word = std::get_if<std::string_view>(&parts[0]);
    const auto* type = std::get_if<ElementType>(&parts[1]);
    const auto* key = std::get_if<std::string_view>(&parts[2]);
    const auto* elements = std::get_if<int64_t>(&parts[4]);
    if (word == nullptr || *word != "storage" || type == nullptr || key == nullptr || elements == nullptr ||
        *elements < 0)
        return std::nullopt;
    heap.storages.push_back({*type, *key, *elements});
    return StorageRef{heap.storages.size() - 1};
}

}  // namespace pb::engine
