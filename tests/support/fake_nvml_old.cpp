// A stand-in for the NVML of an old driver, which lacks most functions and has a name of former times.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** handle) {
    static int device = 0;
    *handle = &device;
    return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
    *celsius = 60;
    return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* mask) {
    *mask = 0x20;  // software thermal slowdown
    return 0;
}
}
// NOLINTEND(readability-identifier-naming)
