// A stand-in for the NVML of a recent driver, opened in its place by tests: one device whose counters advance at every
// reading. FAKE_NVML_REFUSES names functions (separated by blanks) that answer "not supported"; FAKE_NVML_PIDS lists
// the processes on the device; FAKE_NVML_REASONS is the mask of slow-down reasons; with FAKE_NVML_LONG counters are of
// the type unsigned long.
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// The answer of `function`, unless it is to refuse.
int answer_of(const char* function) {
    std::istringstream refused(variable("FAKE_NVML_REFUSES"));
    for (std::string name; refused >> name;)
        if (name == function) return kNotSupported;
    return kSuccess;
}

int device = 0;
int board = 0;
unsigned long long energy_mj = 1'000'000;
unsigned long long thermal_ns = 7'000'000'000;
unsigned long long power_ns = 0;

struct Process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
struct FieldValue {
    unsigned field, scope;
    long long timestamp, latency;
    int type, result;
    unsigned long long value;
};

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
int nvmlInit_v2() { return answer_of(__func__); }
int nvmlShutdown() { return kSuccess; }
int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
    *handle = &device;
    return std::strcmp(uuid, "GPU-fake") == 0 || std::strcmp(uuid, "MIG-fake") == 0 ? answer_of(__func__) : kNotFound;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** handle) {
    *handle = &device;
    return std::strcmp(bus_id, "0000:0a:00.0") == 0 ? kSuccess : kNotFound;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void*, void** handle) {
    *handle = &board;
    return kSuccess;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* energy) {
    *energy = energy_mj += 5'000;
    return answer_of(__func__);
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* clock) {
    *clock = type == 1 ? 1980 : 3201;
    return answer_of(__func__);
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
    *celsius = 41;
    return answer_of(__func__);
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
    *milliwatts = 350'500;
    return answer_of(__func__);
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* gpu_and_memory) {
    gpu_and_memory[0] = 97;
    gpu_and_memory[1] = 12;
    return answer_of(__func__);
}
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* mask) {
    *mask = std::strtoull(variable("FAKE_NVML_REASONS").c_str(), nullptr, 0);
    return answer_of(__func__);
}
int nvmlDeviceGetFieldValues(void*, int count, FieldValue* values) {
    for (int i = 0; i < count; ++i) {
        values[i].type = variable("FAKE_NVML_LONG").empty() ? 3 : 2;  // unsigned long long, unsigned long
        values[i].result = values[i].field == 74 || values[i].field == 75 ? kSuccess : kNotSupported;
        values[i].value = values[i].field == 75 ? thermal_ns += 2'000'000'000 : power_ns += 500'000'000;
    }
    return answer_of(__func__);
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* processes) {
    std::istringstream pids(variable("FAKE_NVML_PIDS"));
    unsigned found = 0;
    for (unsigned pid = 0; pids >> pid; ++found)
        if (found < *count) processes[found] = {pid, 1 << 20, ~0U, ~0U};
    const bool fits = found <= *count;
    *count = found;
    return fits ? answer_of(__func__) : kInsufficientSize;
}
}
// NOLINTEND(readability-identifier-naming)
