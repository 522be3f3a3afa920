// For LD_PRELOAD in tests: a file system that fails, memory that is short, and a clock that steps backwards.
// FAULTY_READ=<end of a path>:<n>: from the n-th pread() of such a file on, it fails with EIO.
// FAULTY_MEMORY=<file>: read in place of /proc/meminfo.
// FAULTY_CLOCK=1: whenever the time of day is asked for, it is an hour earlier than the time before.
#include <dlfcn.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
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

bool is_faulty(int descriptor) {
    static std::atomic<int> reads{0};
    const char* wanted = std::getenv("FAULTY_READ");
    if (wanted == nullptr) return false;
    const std::string_view text = wanted;
    const size_t colon = text.rfind(':');
    char path[4096];
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t length = readlink(link.c_str(), path, sizeof path);
    if (length < 0 || !std::string_view(path, static_cast<size_t>(length)).ends_with(text.substr(0, colon)))
        return false;
    return ++reads >= std::atoi(&text[colon + 1]);
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

ssize_t pread(int descriptor, void* to, size_t count, off_t offset) {
    static auto* const real = next_of<ssize_t(int, void*, size_t, off_t)>("pread");
    if (!is_faulty(descriptor)) return real(descriptor, to, count, offset);
    errno = EIO;
    return -1;
}

ssize_t pread64(int descriptor, void* to, size_t count, off64_t offset) { return pread(descriptor, to, count, offset); }

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
