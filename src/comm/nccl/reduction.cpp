#include "comm/collective_step.hpp"
#include "comm/nccl/backend.hpp"
#include "comm/nccl/communicator.hpp"

#include "patchbench/device/device.hpp"
#include "patchbench/device/stream.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <cstddef>
#include <optional>

namespace pb::comm {
namespace {

/// "2.28.9" from NCCL's code: 10000 * major + 100 * minor + patch since 2.9.
std::string version_text(int code) { return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100); }

/// Input and output of one collective on the device.
struct Exchange {
    device::DeviceBuffer input;
    device::DeviceBuffer output;

    Exchange(DeviceId device, std::span<const double> values, size_t num_results, device::Stream& stream)
        : input(device, values.size_bytes()), output(device, num_results * sizeof(double)) {
        device::copy_to_device(input.pointer(), values.data(), values.size_bytes(), stream);
        stream.synchronise();
    }
};

class NcclReduction final : public MetricReduction {
  public:
    NcclReduction(const Communicator& communicator, DeviceId device, double timeout_s)
        : ranks_(communicator.split(0, communicator.rank()), device, timeout_s) {}

    [[nodiscard]] std::string_view name() const override { return "NCCL"; }

    [[nodiscard]] std::vector<std::vector<double>> all_gather(std::span<const double> values) override {
        const size_t num_ranks = static_cast<size_t>(ranks_.ranks().size());
        const auto flat = run("ncclAllGather", values, values.size() * num_ranks, [&](auto& exchange, auto comm) {
            return ncclAllGather(exchange.input.pointer(), exchange.output.pointer(), values.size(), ncclDouble, comm,
                                 ranks_.cuda_stream());
        });
        std::vector<std::vector<double>> rows;
        for (size_t rank = 0; rank < num_ranks; ++rank) {
            const auto first = flat.begin() + static_cast<std::ptrdiff_t>(rank * values.size());
            rows.emplace_back(first, first + static_cast<std::ptrdiff_t>(values.size()));
        }
        return rows;
    }

    [[nodiscard]] std::vector<double> max(std::span<const double> values) override {
        mpi::step_together(ranks_.ranks(), [&] { require_no_nan(values); });
        return run("ncclAllReduce", values, values.size(), [&](auto& exchange, auto comm) {
            return ncclAllReduce(exchange.input.pointer(), exchange.output.pointer(), values.size(), ncclDouble,
                                 ncclMax, comm, ranks_.cuda_stream());
        });
    }

  private:
    template <class Submit>
    std::vector<double> run(const std::string& what, std::span<const double> values, size_t num_results,
                            Submit&& submit) {
        require_equal_lengths(ranks_.ranks(), values);
        if (values.empty()) return {};
        std::optional<Exchange> exchange;
        mpi::step_together(ranks_.ranks(), [&] {
            device::select_device(ranks_.device());
            exchange.emplace(ranks_.device(), values, num_results, ranks_.stream());
        });
        std::vector<double> results(num_results);
        ranks_.together(what, [&] {
            ranks_.nccl().run([&](ncclComm_t comm) { return submit(*exchange, comm); }, ranks_.cuda_stream(), what);
            device::copy_to_host(results.data(), exchange->output.pointer(), num_results * sizeof(double),
                                 ranks_.stream());
            ranks_.stream().synchronise();
        });
        return results;
    }

    nccl::NcclRanks ranks_;
};

}  // namespace

bool nccl_is_built_in() { return true; }

std::unique_ptr<MetricReduction> make_nccl_reduction(const Communicator& communicator, DeviceId device,
                                                     double timeout_s) {
    return std::make_unique<NcclReduction>(communicator, device, timeout_s);
}

std::string nccl_header_version() { return version_text(NCCL_VERSION_CODE); }

std::string nccl_loaded_version() {
    int code = 0;
    nccl::check(ncclGetVersion(&code));
    return version_text(code);
}

}  // namespace pb::comm
