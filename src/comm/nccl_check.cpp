#include "nccl_check.hpp"

#include "patchbench/base/error.hpp"

#include <string>
#include <string_view>

namespace pb::nccl {

void check(ncclResult_t status, ncclComm_t communicator, std::source_location where) {
    if (status == ncclSuccess || status == ncclInProgress) return;
    const char* last = ncclGetLastError(communicator);
    const std::string_view path = where.file_name();
    throw Error("NCCL: " + std::string(ncclGetErrorString(status)) +
                (last == nullptr || *last == '\0' ? "" : std::string(" (") + last + ")") + ", at " +
                std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(where.line()) + " in " +
                where.function_name() + "; NCCL_DEBUG=INFO says more");
}

}  // namespace pb::nccl
