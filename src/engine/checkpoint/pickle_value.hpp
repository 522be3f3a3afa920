// Values in a pickle of a state dict. They are small and own nothing: text points into the file, containers and tensors
// are indices into a `PickleHeap`. So copies through the memo are cheap, cycles are harmless, and destroying a deeply
// nested structure needs no recursion. Pickles are read without executing anything: only the opcodes are known that
// torch.save (pickle protocol 2) uses for a state dict.
#pragma once

#include "engine/checkpoint/checkpoint_file.hpp"

#include "patchbench/engine/weights.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pb::engine {

/// The functions that a state dict calls; all others are refused. `setting` makes a value of no interest: what scripts
/// save beside the weights.
enum class Callable : uint8_t { ordered_dict, counter, rebuild_tensor, rebuild_tensor_v2, rebuild_parameter, setting };

enum class HeapKind : uint8_t { tuple, list, dict, storage, tensor };

/// An element of the list of this kind in a PickleHeap.
template <HeapKind>
struct HeapRef {
    size_t index;
};
using TupleRef = HeapRef<HeapKind::tuple>;
using ListRef = HeapRef<HeapKind::list>;
using DictRef = HeapRef<HeapKind::dict>;
using StorageRef = HeapRef<HeapKind::storage>;
using TensorRef = HeapRef<HeapKind::tensor>;

/// What a `Callable::setting` makes: its items and attributes are dropped.
struct Setting {};

/// monostate: None; an ElementType: the type of a storage.
using PickleValue = std::variant<std::monostate, bool, int64_t, double, std::string_view, Callable, ElementType,
                                 TupleRef, ListRef, DictRef, StorageRef, TensorRef, Setting>;

/// A run of elements in the file, named by its key.
struct PickledStorage {
    ElementType type;
    std::string_view key;
    int64_t elements;
};

/// A strided view of a storage, not yet checked against the size of the storage.
struct PickledTensor {
    size_t storage;  // index into PickleHeap::storages
    int64_t offset;  // elements
    std::vector<int64_t> shape;
    std::vector<int64_t> stride;
};

struct PickleHeap {
    std::vector<std::vector<PickleValue>> tuples;
    std::vector<std::vector<PickleValue>> lists;
    std::vector<std::vector<std::pair<PickleValue, PickleValue>>> dicts;
    std::vector<PickledStorage> storages;
    std::vector<PickledTensor> tensors;
};

/// The only names that a pickle may call: `collections.OrderedDict` and `Counter`, `torch._utils._rebuild_*`,
/// `torch.FloatStorage`, ..., and the classes of settings that scripts save beside weights (`argparse.Namespace`,
/// paths, numbers of NumPy); nullopt for any other name.
[[nodiscard]] std::optional<PickleValue> find_global(std::string_view module, std::string_view name);

/// The result of calling `callable`, made in `heap`; nullopt when the arguments do not fit. `arguments` may be a tuple
/// of `heap`, since no tuple is added or changed.
[[nodiscard]] std::optional<PickleValue> call_global(Callable callable, const std::vector<PickleValue>& arguments,
                                                     PickleHeap& heap);

/// The storage that a persistent id ('storage', type, key, location, elements[, None]) names.
[[nodiscard]] std::optional<PickleValue> find_persistent(const PickleValue& id, PickleHeap& heap);

/// Reads one pickle up to and including its STOP; makes its values in `heap`. Throws UsageError with the byte offset
/// where the pickle is damaged or names something that no state dict needs. In pickle_machine.cpp.
[[nodiscard]] PickleValue run_pickle(ByteReader& reader, PickleHeap& heap);

struct PickledFile {
    std::string name;    // for messages
    uint64_t bytes = 0;  // size of the file: limit for all tensors together
    const PickleHeap& heap;
    /// Returns the bytes of a storage, which must stay valid; they may be fewer or more than announced. Called once for
    /// each key.
    std::function<Bytes(const PickledStorage&)> read_storage;
};

/// The tensors of a pickle: finds the state dict in what training scripts save (dicts in dicts, beside the optimizer,
/// the epoch and so on), checks every view against its storage and copies it. Throws UsageError that names the tensor
/// and what is wrong with it. In pickled_state_dict.cpp.
[[nodiscard]] Checkpoint to_tensors(const PickledFile& file, const PickleValue& root);

}  // namespace pb::engine
