#include "comm/nccl_check.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace pb::nccl {

void check(ncclResult_t status, ncclComm_t communicator, std::source_location where) {
    if (status == ncclSuccess || status == ncclInProgress) return;
    const char* last = ncclGetLastError(communicator);
    const std::string_view path = where.file_name();
    throw Error(fmt::format("NCCL: {}{}, at {}:{} in {}; NCCL_DEBUG=INFO says more", ncclGetErrorString(status),
                            last == nullptr || *last == '\0' ? "" : fmt::format(" ({})", last),
                            path.substr(path.rfind('/') + 1), where.line(), where.function_name()));
}

}  // namespace pb::nccl
