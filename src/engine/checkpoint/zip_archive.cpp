#include "engine/checkpoint/zip_archive.hpp"

#include "base/handle.hpp"

#include "patchbench/base/error.hpp"

#include <zip.h>

#include <map>

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

}  // namespace

struct ZipArchive::Impl {
    ZipHandle archive;
    std::string name;
    size_t bytes;
    std::map<std::string, zip_uint64_t, std::less<>> entries;

    [[noreturn]] void fail(const std::string& entry, const std::string& reason) const {
        throw UsageError(name + ", entry " + shown(entry) + ": " + reason);
    }
};

ZipArchive::ZipArchive(Bytes file, const std::string& name)
    : impl_(std::make_unique<Impl>(Impl{open_archive(file, name), name, file.size(), {}})) {
    const zip_int64_t count = zip_get_num_entries(impl_->archive.get(), 0);
    for (zip_int64_t i = 0; i < count; ++i) {
        const auto index = static_cast<zip_uint64_t>(i);
        const char* entry = zip_get_name(impl_->archive.get(), index, ZIP_FL_ENC_RAW);
        if (entry == nullptr) impl_->fail("", "has no name: the archive is damaged");
        if (!impl_->entries.emplace(entry, index).second) impl_->fail(entry, "is there twice");
    }
}

ZipArchive::~ZipArchive() = default;

std::vector<std::string> ZipArchive::names() const {
    std::vector<std::string> all;
    for (const auto& [entry, index] : impl_->entries) all.push_back(entry);
    return all;
}

bool ZipArchive::contains(const std::string& entry) const { return impl_->entries.contains(entry); }

std::vector<std::byte> ZipArchive::read(const std::string& entry) const {
    zip_t* archive = impl_->archive.get();
    const auto found = impl_->entries.find(entry);
    zip_stat_t facts;
    if (found == impl_->entries.end() || zip_stat_index(archive, found->second, 0, &facts) != 0)
        impl_->fail(entry, "missing in the archive");
    constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((facts.valid & kNeeded) != kNeeded || facts.encryption_method != ZIP_EM_NONE)
        impl_->fail(entry, "encrypted or incomplete");
    if (facts.comp_method != ZIP_CM_STORE) impl_->fail(entry, "compressed; torch.save stores: save the file again");
    if (facts.size > impl_->bytes) impl_->fail(entry, "announces more bytes than the file has");
    const EntryHandle opened(zip_fopen_index(archive, found->second, 0));
    if (!opened) impl_->fail(entry, std::string("cannot be read: ") + zip_strerror(archive));
    std::vector<std::byte> bytes(facts.size);
    const zip_int64_t got = zip_fread(opened.get(), bytes.data(), bytes.size());
    std::byte beyond;
    // The checksum is compared when reading past the end.
    const zip_int64_t rest = zip_fread(opened.get(), &beyond, 1);
    if (got != static_cast<zip_int64_t>(bytes.size()) || rest != 0)
        impl_->fail(entry, "damaged (sizes or checksum differ); fetch the file again");
    return bytes;
}

}  // namespace pb::engine
