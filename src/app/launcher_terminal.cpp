#include "app/launcher_terminal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace pb::app {

namespace {

namespace fs = std::filesystem;

bool is_pipe(int descriptor) {
    struct stat status {};
    return ::fstat(descriptor, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

bool is_terminal_without_size(int descriptor) {
    winsize size{};
    return ::isatty(descriptor) == 1 && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col == 0;
}

bool is_launcher(pid_t process) {
    std::string name;
    std::getline(std::ifstream(fmt::format("/proc/{}/comm", process)), name);
    for (const char* launcher : {"mpirun", "mpiexec", "orterun", "prterun"})
        if (name.starts_with(launcher)) return true;
    return false;
}

int open_terminal_of_launcher(int stream) {
    std::error_code failed;
    const fs::path file = fs::read_symlink(fmt::format("/proc/{}/fd/{}", ::getppid(), stream), failed);
    if (failed || !fs::is_character_file(file, failed)) return -1;
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0 || ::isatty(descriptor) == 1) return descriptor;
    ::close(descriptor);
    return -1;
}

}  // namespace

bool is_forwarded(int stream) {
    return (is_pipe(stream) || is_terminal_without_size(stream)) && is_launcher(::getppid());
}

int open_terminal_of(int stream) {
    if (is_forwarded(stream)) return open_terminal_of_launcher(stream);
    return ::isatty(stream) == 1 ? ::fcntl(stream, F_DUPFD_CLOEXEC, 3) : -1;
}

}  // namespace pb::app
