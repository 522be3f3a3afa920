#include "comm/mpi_check.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

namespace pb::mpi {

void check(int status, std::source_location where) {
    if (status == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(status, text.data(), &length);
    const std::string_view path = where.file_name();
    throw Error(fmt::format("MPI: {}, at {}:{} in {}", std::string_view(text.data(), static_cast<size_t>(length)),
                            path.substr(path.rfind('/') + 1), where.line(), where.function_name()));
}

bool is_running() {
    int initialised = 0;
    int finalised = 0;
    MPI_Initialized(&initialised);
    MPI_Finalized(&finalised);
    return initialised != 0 && finalised == 0;
}

}  // namespace pb::mpi
