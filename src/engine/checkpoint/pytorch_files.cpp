#include "base/descriptor.hpp"
#include "engine/checkpoint/checkpoint_file.hpp"
#include "engine/checkpoint/pickle_value.hpp"
#include "engine/network_file.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace pb::engine {
namespace {

using ZipHandle = Handle<zip_t*, zip_discard>;
using EntryHandle = Handle<zip_file_t*, zip_fclose>;

ZipHandle open_archive(Bytes file, const std::string& name) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_buffer_create(file.data(), file.size(), 0, &error);
    ZipHandle archive(source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error));
    const std::string reason = archive ? "" : zip_error_strerror(&error);
    zip_error_fini(&error);
    if (archive) return archive;
    if (source != nullptr) zip_source_free(source);  // an opened archive owns it
    throw UsageError(name + ": the zip archive is damaged or truncated (" + reason + "); fetch the file again");
}

/// A zip archive in memory whose entries are stored without compression, as torch.save writes them. A compressed entry
/// is refused, since its announced size could be false.
class ZipArchive {
  public:
    /// `file` must outlive the archive; `name` is used in messages. Throws UsageError when it is not a zip archive, or
    /// contains a name twice.
    ZipArchive(Bytes file, std::string name)
        : archive_(open_archive(file, name)), name_(std::move(name)), bytes_(file.size()) {
        const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
        for (zip_int64_t i = 0; i < count; ++i) {
            const auto index = static_cast<zip_uint64_t>(i);
            const char* entry = zip_get_name(archive_.get(), index, ZIP_FL_ENC_RAW);
            if (entry == nullptr) fail("", "has no name: the archive is damaged");
            if (!entries_.emplace(entry, index).second) fail(entry, "is there twice");
        }
    }

    /// The numbers of all entries by their names.
    [[nodiscard]] const std::map<std::string, zip_uint64_t>& entries() const { return entries_; }

    /// The bytes of `entry`, checksum verified. Throws UsageError when it is missing, compressed or damaged.
    [[nodiscard]] std::vector<std::byte> read(const std::string& entry) const {
        const auto found = entries_.find(entry);
        zip_stat_t facts;
        if (found == entries_.end() || zip_stat_index(archive_.get(), found->second, 0, &facts) != 0)
            fail(entry, "missing in the archive");
        constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
        if ((facts.valid & kNeeded) != kNeeded || facts.encryption_method != ZIP_EM_NONE)
            fail(entry, "encrypted or incomplete");
        if (facts.comp_method != ZIP_CM_STORE) fail(entry, "compressed; torch.save stores: save the file again");
        if (facts.size > bytes_) fail(entry, "announces more bytes than the file has");
        const EntryHandle opened(zip_fopen_index(archive_.get(), found->second, 0));
        if (!opened) fail(entry, std::string("cannot be read: ") + zip_strerror(archive_.get()));
        std::vector<std::byte> bytes(facts.size);
        const zip_int64_t got = zip_fread(opened.get(), bytes.data(), bytes.size());
        std::byte beyond;
        // The checksum is compared when reading past the end.
        const zip_int64_t rest = zip_fread(opened.get(), &beyond, 1);
        if (got != static_cast<zip_int64_t>(bytes.size()) || rest != 0)
            fail(entry, "damaged (sizes or checksum differ); fetch the file again");
        return bytes;
    }

  private:
    [[noreturn]] void fail(const std::string& entry, const std::string& reason) const {
        throw UsageError(name_ + ", entry " + shown(entry) + ": " + reason);
    }

    ZipHandle archive_;
    std::string name_;
    size_t bytes_;
    std::map<std::string, zip_uint64_t> entries_;
};

bool begins_with(Bytes file, std::string_view magic) {
    return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
}

// The folder of all records in the archive: the one that contains the pickle.
std::string find_root(const ZipArchive& archive, const std::string& name) {
    constexpr std::string_view kPickle = "/data.pkl";
    for (const auto& [entry, number] : archive.entries())
        if (entry.ends_with(kPickle) && std::count(entry.begin(), entry.end(), '/') == 1)
            return entry.substr(0, entry.size() - kPickle.size());
    throw UsageError(name + ": a zip archive without <folder>/data.pkl: not written by torch.save");
}

void check_byte_order(const ZipArchive& archive, const std::string& root, const std::string& name) {
    const std::string entry = root + "/byteorder";
    if (!archive.entries().contains(entry)) return;  // before torch 2.1: little
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
    const ZipArchive archive(bytes, file.string());
    return std::ranges::any_of(archive.entries(), [](const auto& entry) {
        return entry.first.find("data/aotinductor/") != std::string::npos;
    });
}

bool is_torchscript(const std::filesystem::path& file) {
    const std::vector<std::byte> bytes = read_file(file);
    try {
        const ZipArchive archive(bytes, file.string());
        return std::ranges::any_of(archive.entries(),
                                   [](const auto& entry) { return entry.first.ends_with("/constants.pkl"); });
    } catch (const UsageError&) {  // no archive
        return false;
    }
}

}  // namespace pb::engine
