"""For adapters whose framework can compute on a GPU: which one, windows to it and back, and the time of both.
PyTorch and JAX have run with it on a GPU."""

import ctypes
import time

from . import address_of

PACKAGES = {"onnxruntime": "onnxruntime-gpu", "pytorch": "torch with CUDA", "tensorflow": "tensorflow[and-cuda]",
            "jax": "jax[cuda13]"}


def index_of(options):
    """N of `cuda:N`; None on the CPU."""
    kind, _, index = options.get("device", "cpu").partition(":")
    return int(index) if kind == "cuda" else None


def require(is_there, engine, options, found):
    """Raises what a user reads whose framework cannot use the device. `found`: what it has instead."""
    if not is_there:
        raise RuntimeError(f"{options['device']} cannot be used: {found}; launch/engines.sh --gpu --only {engine} "
                           f"installs {PACKAGES[engine]}, or choose device: cpu")


def call_by_steps(adapter, to_device, compute, to_host):
    """A call in three steps, each of which waits for its end. `adapter`: the globals of the module, whose COPY_NS
    becomes what the first and the last took."""
    pinned = Pinned()

    def call(windows, out):
        pinned.pin(windows, out)
        begin = time.perf_counter_ns()
        x = to_device(windows)
        copied = time.perf_counter_ns()
        y = compute(x)
        computed = time.perf_counter_ns()
        shape = tuple(y.shape() if callable(y.shape) else y.shape)
        if shape != out.shape:
            raise ValueError(f"the engine gave an array of shape {shape} instead of {out.shape}")
        to_host(y, out)
        adapter["COPY_NS"] = copied - begin, time.perf_counter_ns() - computed

    return call


class Pinned:
    """Pins the shared memory, by the CUDA runtime that the framework has loaded. A driver that refuses only makes the
    copies slower."""

    def __init__(self):
        self._runtime = loaded_runtime()
        self._kept = {}  # arrays by address: memory that is pinned must not be given back

    def pin(self, *arrays):
        for array in arrays:
            address = address_of(array)
            kept = self._kept.get(address)
            if self._runtime is None or (kept is not None and kept.nbytes >= array.nbytes):
                continue
            if kept is not None:
                self._call("cudaHostUnregister", ctypes.c_void_p(address))
            self._call("cudaHostRegister", ctypes.c_void_p(address), ctypes.c_size_t(array.nbytes), 0)
            self._kept[address] = array

    def _call(self, name, *arguments):
        """A refusal, as of memory of which a part is pinned, must not stay the last error, which frameworks ask for."""
        if getattr(self._runtime, name)(*arguments) != 0:
            self._runtime.cudaGetLastError()


def loaded_runtime():
    """libcudart of this process; None where the framework has it built in."""
    with open("/proc/self/maps") as lines:
        paths = sorted({line.split()[-1] for line in lines if "libcudart.so" in line})
    return ctypes.CDLL(paths[0]) if paths else None
