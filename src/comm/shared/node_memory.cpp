#include "comm/shared/node_memory.hpp"

#include "base/fault.hpp"
#include "base/sha256.hpp"
#include "base/user_paths.hpp"
#include "comm/collective_step.hpp"
#include "device/host_memory.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/base/shape.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace pb::comm {

namespace {

/// Reserves this rank's share of the pages; the shares cover the file.
void reserve_share(const SharedFile& file, size_t bytes, const Communicator& node) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const Range pages = shard(static_cast<int64_t>((bytes - 1) / page + 1), node.rank(), node.size());
    file.reserve(static_cast<size_t>(pages.begin) * page, std::min(static_cast<size_t>(pages.end) * page, bytes));
}

/// Bytes to reserve at a time: free memory is checked before each piece, and a signal makes the kernel undo one piece
/// only.
constexpr size_t kPiece = size_t{256} << 20;

std::string mib(size_t bytes) { return fmt::format("{} MiB", (bytes >> 20) + 1); }

[[noreturn]] void fail(const std::string& what, int error) {
    const std::string message = "memory shared by the ranks of a node: " + what + ": " + std::strerror(error);
    if (error == ENOMEM || error == ENOSPC)
        throw OutOfMemory(message + "; use fewer ranks per node or a smaller image");
    throw Error(message +
                (error == EFBIG ? "; the shell's limit on files (ulimit -f) holds for it, too: raise it" : ""));
}

/// A lock of the open file, not of the process: the kernel releases it when the file is closed.
int set_lock(int descriptor, short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return fcntl(descriptor, F_OFD_SETLKW, &lock);
}

struct stat status_of(int descriptor) {
    struct stat status {};
    if (fstat(descriptor, &status) != 0) fail("fstat", errno);
    return status;
}

constexpr size_t kDigits = 64;  // of a SHA-256
constexpr size_t kMostHeld = 8;

/// A block that a rank holds. It may be opened through that rank. An empty name: none.
struct Entry {
    std::array<char, kDigits> name{};
    SharedFileAddress address;

    [[nodiscard]] bool is_free() const { return name.front() == '\0'; }
};
static_assert(std::is_trivially_copyable_v<Entry>);

}  // namespace

SharedFile make_node_file(const Communicator& node, size_t bytes) {
    SharedFile file;
    SharedFileAddress address;
    mpi::step_together(node, [&] {
        if (!node.is_root()) return;
        require_host_memory(bytes);
        file = SharedFile(bytes);
        address = file.address();
    });
    node.broadcast(std::as_writable_bytes(std::span(&address, 1)));
    mpi::step_together(node, [&] {
        require(address.bytes == bytes,
                fmt::format("shared memory of {} bytes was asked for where rank 0 of the node asked for {}", bytes,
                            address.bytes));
        if (!node.is_root()) file = SharedFile(address);
    });
    mpi::step_together(node, [&] { reserve_share(file, bytes, node); });
    return file;
}

NodeMemory::NodeMemory(const Communicator& node, size_t bytes) {
    if (node.max(static_cast<double>(bytes)) == 0) return;
    const SharedFile file = make_node_file(node, bytes);
    mpi::step_together(node, [&] { mapping_ = file.map(); });
}

/// What each rank of the node holds, in memory that all of them read and write under the lock of its file.
struct NodeBlocks::Table {
    explicit Table(const Communicator& node)
        : file(make_node_file(node, static_cast<size_t>(node.size()) * kMostHeld * sizeof(Entry))),
          rank(static_cast<size_t>(node.rank())) {
        mpi::step_together(node, [&] {
            const SharedFileLock can_lock(file);
            mapping = file.map();
        });
    }

    /// Memory of the kernel is zero at first: free entries.
    [[nodiscard]] std::span<Entry> entries() const {
        return {reinterpret_cast<Entry*>(mapping.bytes().data()), mapping.bytes().size() / sizeof(Entry)};
    }
    [[nodiscard]] std::span<Entry> own() const { return entries().subspan(rank * kMostHeld, kMostHeld); }

    [[nodiscard]] std::optional<SharedFile> open(const std::string& digest, size_t bytes) const;
    [[nodiscard]] Entry* enter(const std::string& digest, const SharedFile& file) const;

    SharedFile file;
    Mapping mapping;
    size_t rank;
};

/// One block on this rank. Open as long as it is held, so that other ranks can open it through this one.
struct NodeBlocks::Held {
    Held(std::shared_ptr<Table> of, SharedFile opened) : table(std::move(of)), file(std::move(opened)) {}
    ~Held() {
        if (entry == nullptr) return;
        try {
            const SharedFileLock lock(table->file);
            *entry = {};
        } catch (const Error&) {  // whoever reads the entry finds that its file is gone
        }
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    std::shared_ptr<Table> table;
    SharedFile file;
    Mapping mapping;
    Entry* entry = nullptr;
};

/// Through any rank that holds it.
std::optional<SharedFile> NodeBlocks::Table::open(const std::string& digest, size_t bytes) const {
    for (const Entry& entry : entries()) {
        if (std::memcmp(entry.name.data(), digest.data(), kDigits) != 0 || entry.address.bytes != bytes) continue;
        try {
            return SharedFile(entry.address);
        } catch (const Error&) {  // that rank has died
        }
    }
    return std::nullopt;
}

/// Null where this rank holds too many: the block can then be found through other ranks only.
Entry* NodeBlocks::Table::enter(const std::string& digest, const SharedFile& block) const {
    const std::span<Entry> mine = own();
    const auto free = std::ranges::find_if(mine, &Entry::is_free);
    if (free == mine.end()) return nullptr;
    std::copy_n(digest.begin(), kDigits, free->name.begin());
    free->address = block.address();
    return &*free;
}

NodeBlocks::NodeBlocks(const Communicator& node) : table_(std::make_shared<Table>(node)) {}

std::shared_ptr<const std::byte> NodeBlocks::find(const std::string& name, size_t bytes, const Fill& fill) {
    const std::string digest = sha256_of(std::as_bytes(std::span(name)));
    const SharedFileLock lock(table_->file);
    std::optional<SharedFile> known = table_->open(digest, bytes);
    const bool is_new = !known;
    if (is_new) {
        require_host_memory(bytes);
        known = SharedFile(bytes);
        known->reserve(0, bytes);
    }
    const auto held = std::make_shared<Held>(table_, std::move(*known));
    held->mapping = held->file.map();
    if (is_new) {
        inject_fault("pack");
        fill(held->mapping.bytes());
    }
    protect(held->mapping);
    held->entry = table_->enter(digest, held->file);
    return {held, held->mapping.bytes().data()};
}

void require_host_memory(size_t bytes) {
    if (device::fits_host_memory(bytes)) return;
    const auto available = static_cast<size_t>(device::available_host_memory_bytes().value_or(0));
    throw OutOfMemory("the ranks of a node need " + mib(bytes) + " of shared host memory but " + mib(available) +
                      " are free (or left to the job's control group); use a smaller image, or ask for more memory");
}

SharedFile::SharedFile(size_t bytes) : bytes_(bytes) {
    if (bytes > static_cast<size_t>(std::numeric_limits<off_t>::max())) fail("a file of " + mib(bytes), ENOMEM);
    descriptor_ = Descriptor(memfd_create("patchbench", MFD_CLOEXEC));
    if (descriptor_.number() < 0) require_descriptors("memory shared by the ranks of a node");
    if (descriptor_.number() < 0) fail("memfd_create", errno);
    if (ftruncate(descriptor_.number(), static_cast<off_t>(bytes)) != 0) fail("ftruncate to " + mib(bytes), errno);
}

SharedFile::SharedFile(const SharedFileAddress& address) : bytes_(address.bytes) {
    const std::string path = fmt::format("/proc/{}/fd/{}", address.pid, address.descriptor);
    const std::string advice = " (start all ranks of a host as one user and inside one container)";
    descriptor_ = Descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (descriptor_.number() < 0) require_descriptors(path);
    if (descriptor_.number() < 0) fail("cannot open " + path + advice, errno);
    const struct stat status = status_of(descriptor_.number());
    require(status.st_dev == address.device && status.st_ino == address.inode,
            "memory shared by the ranks of a node: " + path + " is another process's file" + advice);
}

SharedFileAddress SharedFile::address() const {
    const struct stat status = status_of(descriptor_.number());
    return {getpid(), descriptor_.number(), status.st_dev, status.st_ino, bytes_};
}

void SharedFile::reserve(size_t begin, size_t end) const {
    while (begin < end) {
        const size_t piece = std::min(kPiece, end - begin);
        require_host_memory(piece);
        const int error = posix_fallocate(descriptor_.number(), static_cast<off_t>(begin), static_cast<off_t>(piece));
        if (error == EINTR) continue;
        if (error != 0) fail("reserving " + mib(piece), error);
        begin += piece;
    }
}

Mapping SharedFile::map() const {
    Mapping mapping = Mapping::map(descriptor_.number(), bytes_);
    if (mapping.bytes().empty()) fail("mmap of " + mib(bytes_), errno);
    return mapping;
}

void protect(const Mapping& mapping) {
    if (mprotect(mapping.bytes().data(), mapping.bytes().size(), PROT_READ) != 0) fail("mprotect", errno);
}

SharedFileLock::SharedFileLock(const SharedFile& file) : descriptor_(file.descriptor_.number()) {
    while (set_lock(descriptor_, F_WRLCK) != 0)
        if (errno != EINTR) fail("a lock", errno);
}

SharedFileLock::~SharedFileLock() { (void)set_lock(descriptor_, F_UNLCK); }

}  // namespace pb::comm
