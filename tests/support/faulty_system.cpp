// For LD_PRELOAD in tests: a file system that fails or is watched, memory that is short, and a clock that steps
// backwards.
// FAULTY_READ=<end of a path>:<n>: from the n-th pread() of such a file on, it fails with EIO.
// FAULTY_SIGNAL=<end of a path>: every other pread() of such a file is interrupted by a signal, and fails with EINTR.
// FAULTY_SYNC=<end of a path>: fsync() of such a file fails with EIO.
// FAULTY_JOURNAL=<file>: "<process> open|read|write|fsync|rename <path>[ <new path>]" is added for each such call on
// what lies in the folder of that file, or below it. Only opening for reading is an open, only pread() is a read.
// FAULTY_MEMORY=<file>: read in place of /proc/meminfo.
// FAULTY_CLOCK=1: whenever the time of day is asked for, it is an hour earlier than the time before.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

namespace {

template <class Function>
Function* next_of(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Empty where the descriptor has none.
std::string path_of(int descriptor) {
    char path[4096];
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t length = readlink(link.c_str(), path, sizeof path);
    return length < 0 ? std::string() : std::string(path, static_cast<size_t>(length));
}

bool is_faulty(int descriptor) {
    static std::atomic<int> reads{0};
    const char* wanted = std::getenv("FAULTY_READ");
    if (wanted == nullptr) return false;
    const std::string_view text = wanted;
    const size_t colon = text.rfind(':');
    if (!path_of(descriptor).ends_with(text.substr(0, colon))) return false;
    return ++reads >= std::atoi(&text[colon + 1]);
}

bool is_interrupted(int descriptor) {
    static std::atomic<int> reads{0};
    const char* wanted = std::getenv("FAULTY_SIGNAL");
    return wanted != nullptr && path_of(descriptor).ends_with(wanted) && ++reads % 2 == 1;
}

ssize_t real_write(int descriptor, const void* from, size_t count) {
    static auto* const real = next_of<ssize_t(int, const void*, size_t)>("write");
    return real(descriptor, from, count);
}

int real_open(const char* path, int flags, mode_t mode) {
    static auto* const real = next_of<int(const char*, int, ...)>("open64");
    return real(path, flags, mode);
}

/// errno stays as it is.
void note(const char* call, const std::string& path, const std::string& more = "") {
    const char* journal = std::getenv("FAULTY_JOURNAL");
    if (journal == nullptr) return;
    const std::string_view folder = std::string_view(journal).substr(0, std::string_view(journal).rfind('/'));
    if (!path.starts_with(folder)) return;
    const int before = errno;
    const std::string line = std::to_string(getpid()) + ' ' + call + ' ' + path + more + '\n';
    const int descriptor = real_open(journal, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor < 0 || real_write(descriptor, line.data(), line.size()) < 0) std::abort();
    close(descriptor);
    errno = before;
}

void note(const char* call, int descriptor) {
    if (std::getenv("FAULTY_JOURNAL") != nullptr) note(call, path_of(descriptor));
}

int noted_open(const char* path, int flags, mode_t mode) {
    const int descriptor = real_open(path, flags, mode);
    if (descriptor >= 0 && (flags & O_ACCMODE) == O_RDONLY) note("open", descriptor);
    return descriptor;
}

/// The argument that open() has only where it creates a file.
mode_t mode_of(int flags, va_list more) { return (flags & (O_CREAT | O_TMPFILE)) == 0 ? 0 : va_arg(more, mode_t); }

bool cannot_sync(int descriptor) {
    const char* wanted = std::getenv("FAULTY_SYNC");
    return wanted != nullptr && path_of(descriptor).ends_with(wanted);
}

const char* file_for(const char* path) {
    const char* memory = std::getenv("FAULTY_MEMORY");
    return memory != nullptr && std::string_view(path) == "/proc/meminfo" ? memory : path;
}

time_t seconds_back() {
    static std::atomic<time_t> hours{0};
    return std::getenv("FAULTY_CLOCK") == nullptr ? 0 : 3600 * ++hours;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = mode_of(flags, more);
    va_end(more);
    return noted_open(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = mode_of(flags, more);
    va_end(more);
    return noted_open(path, flags, mode);
}

ssize_t pread(int descriptor, void* to, size_t count, off_t offset) {
    static auto* const real = next_of<ssize_t(int, void*, size_t, off_t)>("pread");
    note("read", descriptor);
    const bool fails = is_faulty(descriptor);
    if (!fails && !is_interrupted(descriptor)) return real(descriptor, to, count, offset);
    errno = fails ? EIO : EINTR;
    return -1;
}

ssize_t pread64(int descriptor, void* to, size_t count, off64_t offset) { return pread(descriptor, to, count, offset); }

ssize_t write(int descriptor, const void* from, size_t count) {
    note("write", descriptor);
    return real_write(descriptor, from, count);
}

ssize_t pwrite(int descriptor, const void* from, size_t count, off_t offset) {
    static auto* const real = next_of<ssize_t(int, const void*, size_t, off_t)>("pwrite");
    note("write", descriptor);
    return real(descriptor, from, count, offset);
}

ssize_t pwrite64(int descriptor, const void* from, size_t count, off64_t offset) {
    return pwrite(descriptor, from, count, offset);
}

int fsync(int descriptor) {
    static auto* const real = next_of<int(int)>("fsync");
    if (cannot_sync(descriptor)) {
        errno = EIO;
        return -1;
    }
    note("fsync", descriptor);
    return real(descriptor);
}

int rename(const char* from, const char* to) noexcept {
    static auto* const real = next_of<int(const char*, const char*)>("rename");
    note("rename", from, std::string(" ") + to);
    return real(from, to);
}

FILE* fopen(const char* path, const char* mode) {
    static auto* const real = next_of<FILE*(const char*, const char*)>("fopen");
    return real(file_for(path), mode);
}

FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

int clock_gettime(clockid_t clock, timespec* now) noexcept {
    static auto* const real = next_of<int(clockid_t, timespec*)>("clock_gettime");
    const int result = real(clock, now);
    if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec -= seconds_back();
    return result;
}

int gettimeofday(timeval* now, void* zone) noexcept {
    static auto* const real = next_of<int(timeval*, void*)>("gettimeofday");
    const int result = real(now, zone);
    if (result == 0) now->tv_sec -= seconds_back();
    return result;
}

time_t time(time_t* now) noexcept {
    timespec precise{};
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now != nullptr) *now = precise.tv_sec;
    return precise.tv_sec;
}

}  // extern "C"
