#include "engine/checkpoint/pickle_machine.hpp"
#include "engine/checkpoint/pickled_state_dict.hpp"
#include "engine/checkpoint/readers.hpp"
#include "engine/checkpoint/zip_archive.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <list>

namespace pb::engine {
namespace {

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

}  // namespace

bool is_zip(Bytes file) {
    constexpr std::string_view kMagic = "PK\x03\x04";
    return file.size() >= kMagic.size() && std::memcmp(file.data(), kMagic.data(), kMagic.size()) == 0;
}

Checkpoint read_zip_pth(Bytes file, const std::string& name) {
    const ZipArchive archive(file, name);
    const std::string root = find_root(archive, name);
    check_byte_order(archive, root, name);
    const std::vector<std::byte> pickle = archive.read(root + "/data.pkl");
    ByteReader reader(pickle, name + ", entry " + shown(root + "/data.pkl"));
    PickleHeap heap;
    const PickleValue value = PickleMachine(reader, heap).run();
    std::list<std::vector<std::byte>> records;  // a list, so that storages keep their address
    const auto read_storage = [&](const PickledStorage& storage) -> Bytes {
        return records.emplace_back(archive.read(root + "/data/" + std::string(storage.key)));
    };
    return to_tensors({name, file.size(), heap, read_storage}, value);
}

}  // namespace pb::engine
