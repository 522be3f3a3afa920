#include "engine/checkpoint/pickle_machine.hpp"
#include "engine/checkpoint/pickled_state_dict.hpp"
#include "engine/checkpoint/readers.hpp"
#include "engine/checkpoint/zip_archive.hpp"
#include "engine/network_file.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <map>

namespace pb::engine {
namespace {

bool begins_with(Bytes file, std::string_view magic) {
    return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
}

// The folder of all records in the archive: the one that contains the pickle.
std::string find_root(const ZipArchive& archive, const std::string& name) {
    constexpr std::string_view kPickle = "/data.pkl";
    for (const std::string& entry : archive.names())
        if (entry.ends_with(kPickle) && std::count(entry.begin(), entry.end(), '/') == 1)
            return entry.substr(0, entry.size() - kPickle.size());
    throw UsageError(name + ": a zip archive without <folder>/data.pkl: not written by torch.save");
}

void check_byte_order(const ZipArchive& archive, const std::string& root, const std::string& name) {
    const std::string entry = root + "/byteorder";
    if (!archive.contains(entry)) return;  // before torch 2.1: little
    const auto bytes = archive.read(entry);
    const std::string_view order(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (order != "little")
        throw UsageError(name + ": byte order " + shown(order) + "; save the file on a little-endian machine");
}

// torch/serialization.py, _legacy_save: the number 0x1950a86a20f9469cfc6c and the protocol 1001, a pickle each.
constexpr std::string_view kMagic("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e", 15);
constexpr std::string_view kProtocol("\x80\x02\x4d\xe9\x03\x2e", 6);

void check_system(const PickleValue& system, const PickleHeap& heap, const ByteReader& reader) {
    const auto* facts = std::get_if<DictRef>(&system);
    if (facts == nullptr) reader.fail("the description of the writing system is no dict");
    for (const auto& [key, value] : heap.dicts[facts->index]) {
        const auto* name = std::get_if<std::string_view>(&key);
        const auto* truth = std::get_if<bool>(&value);
        if (name != nullptr && *name == "little_endian" && truth != nullptr && !*truth)
            reader.fail("written by a big-endian machine; save the file on a little-endian one");
    }
}

using StorageMap = std::map<std::string_view, Bytes>;

// The storages in the order of the list of keys, each an int64 count and its elements.
StorageMap read_storages(ByteReader& reader, const PickleHeap& heap, const PickleValue& keys) {
    std::map<std::string_view, const PickledStorage*> announced;
    for (const PickledStorage& storage : heap.storages) announced.emplace(storage.key, &storage);
    const auto* list = std::get_if<ListRef>(&keys);
    if (list == nullptr) reader.fail("the keys of the storages are no list");
    StorageMap storages;
    for (const PickleValue& key : heap.lists[list->index]) {
        const auto* name = std::get_if<std::string_view>(&key);
        const auto found = name == nullptr ? announced.end() : announced.find(*name);
        if (found == announced.end()) reader.fail("a storage belongs to no tensor");
        const PickledStorage& storage = *found->second;
        const auto count = reader.take_integer<int64_t>();
        if (count != storage.elements)
            reader.fail(
                fmt::format("storage {} has {} elements, announced were {}", shown(*name), count, storage.elements));
        uint64_t bytes = 0;
        if (__builtin_mul_overflow(static_cast<uint64_t>(count), size_of(storage.type), &bytes))
            reader.fail("storage " + shown(*name) + " is larger than any file");
        if (!storages.emplace(*name, reader.take(bytes)).second)
            reader.fail("storage " + shown(*name) + " comes twice");
    }
    if (reader.left() != 0) reader.fail(fmt::format("{} bytes are left over", reader.left()));
    return storages;
}

}  // namespace

bool is_zip(Bytes file) { return begins_with(file, "PK\x03\x04"); }

Checkpoint read_zip_pth(Bytes file, const std::string& name) {
    const ZipArchive archive(file, name);
    const std::string root = find_root(archive, name);
    check_byte_order(archive, root, name);
    const std::vector<std::byte> pickle = archive.read(root + "/data.pkl");
    ByteReader reader(pickle, name + ", entry " + shown(root + "/data.pkl"));
    PickleHeap heap;
    const PickleValue value = run_pickle(reader, heap);
    std::list<std::vector<std::byte>> records;  // a list, so that storages keep their address
    const auto read_storage = [&](const PickledStorage& storage) -> Bytes {
        return records.emplace_back(archive.read(root + "/data/" + std::string(storage.key)));
    };
    return to_tensors({name, file.size(), heap, read_storage}, value);
}

bool is_legacy_pth(Bytes file) { return begins_with(file, kMagic); }

Checkpoint read_legacy_pth(Bytes file, const std::string& name) {
    ByteReader reader(file, name);
    (void)reader.take(kMagic.size());
    if (reader.take_text(kProtocol.size()) != kProtocol) reader.fail("not protocol 1001 of torch.save");
    PickleHeap heap;
    check_system(run_pickle(reader, heap), heap, reader);
    const PickleValue value = run_pickle(reader, heap);
    const PickleValue keys = run_pickle(reader, heap);
    const StorageMap storages = read_storages(reader, heap, keys);
    const auto read_storage = [&](const PickledStorage& storage) -> Bytes {
        const auto found = storages.find(storage.key);
        return found == storages.end() ? Bytes{} : found->second;
    };
    return to_tensors({name, file.size(), heap, read_storage}, value);
}

bool is_compiled_package(const std::filesystem::path& file) {
    const std::vector<std::byte> bytes = read_file(file);
    const auto names = ZipArchive(bytes, file.string()).names();
    return std::ranges::any_of(
        names, [](const std::string& name) { return name.find("data/aotinductor/") != std::string::npos; });
}

std::optional<EngineKind> sole_engine_of(const std::filesystem::path& file) {
    if (file.extension() != ".pt2" || is_compiled_package(file)) return std::nullopt;
    return EngineKind::pytorch;
}

}  // namespace pb::engine
