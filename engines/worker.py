"""Runs a network in another framework for one rank of patchbench, in a process of its own below a guardian.

usage: worker.py ENGINE --versions    prints the versions of the engine's packages

patchbench starts `worker.py ENGINE --rank PID --threads N --layout L --dtype D --limit BYTES [--device cuda:N]
[--option NAME[=VALUE]]... [--model FILE [--sigma-input]]`.
ENGINE is the name of a file in adapters/, or python:FILE for an adapter of the user (docs/engines.md says what an
adapter is). The process inherits three descriptors:
  3  a socket pair that keeps message boundaries. A request to run the network is 7 integers of 8 bytes: windows, input
     channels, height, width, output channels, place of the output in the shared memory, size of the shared memory. A
     reply is 4 integers (status, nanoseconds, and those of copies to the device and back, which are not in the first)
     and a text: of an error, or how the adapter computed. End of file means that the rank has ended.
  4  memory shared with the rank: the input at 0, then the output, both float32. It only ever grows.
  5  the network as ONNX; nothing where --model names a file that the user brings
"""

import argparse
import importlib
import importlib.metadata
import importlib.util
import mmap
import os
import pathlib
import platform
import re
import resource
import socket
import struct
import sys
import time

SOCKET, MEMORY, MODEL = 3, 4, 5
REQUEST = struct.Struct("=7q")
REPLY = struct.Struct("=4q")
OK, FAILED, OUT_OF_MEMORY = 0, 1, 2
LARGEST_TEXT = 4000
KEPT_SHAPES = 4
limited = False  # whether limit_memory was called


def limit_threads(count):
    """Set before a framework is imported: most read these variables once."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC"):  # NPROC: the pools of XLA
        os.environ[name] = str(count)
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # as patchbench sets for LibTorch: frameworks wait alike


def find_modules():
    """Python that is isolated (-I) does not look for modules beside its script."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))


def load_adapter(engine):
    """The module of an engine."""
    if not engine.startswith("python:"):
        return importlib.import_module(f"adapters.{engine}_adapter")
    file = pathlib.Path(engine.removeprefix("python:"))
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    sys.path.insert(0, str(file.resolve().parent))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def versions_of(packages):
    """Of installed packages, without importing them: `onnxruntime 1.23.2, Python 3.11.2`."""
    known = []
    for package in packages:
        try:
            known.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    if packages and not known:
        raise importlib.metadata.PackageNotFoundError(" or ".join(packages))
    return ", ".join([*known, f"Python {platform.python_version()}"])


def layout_of(adapter, wanted):
    """The layout in which the adapter takes and gives windows: NCHW or NHWC."""
    layout = getattr(adapter, "LAYOUT", "NCHW")
    if layout == "any":
        layout = wanted
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"LAYOUT of the adapter is {layout!r}: it must be 'NCHW', 'NHWC' or 'any'")
    return layout


def check_dtype(adapter, dtype):
    known = getattr(adapter, "DTYPES", ("fp32",))
    if dtype not in known:
        raise ValueError(f"the adapter computes in {' and '.join(known)} only: {dtype} is not in its DTYPES; "
                         f"choose dtype: {known[0]}")


def check_device(adapter, device):
    known = getattr(adapter, "DEVICES", ("cpu",))
    if device.partition(":")[0] not in known:
        raise ValueError(f"the adapter computes on {' and '.join(known)} only: {device} is not in its DEVICES; "
                         f"choose device: {known[0]}")


def copies_of(adapter, engine):
    """What Python copies, for the notes of a point. The adapters beside this file say it; one of the user may not."""
    unsaid = "the output where the adapter returns it" if engine.startswith("python:") else ""
    return getattr(adapter, "COPIES", unsaid)


def limit_memory(spare_bytes):
    """Allows the process no more than `spare_bytes` beside what it holds now."""
    with open("/proc/self/status") as lines:
        held_kib = next(int(line.split()[1]) for line in lines if line.startswith("VmData:"))
    limit = held_kib * 1024 + spare_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    global limited
    limited = True


class Windows:
    """The shared memory as arrays, the same two for a shape until the memory grows."""

    def __init__(self, layout):
        self._layout = layout
        self._memory = None
        self._known = {}

    def arrays(self, request):
        n, channels_in, height, width, channels_out, place, size = request
        if self._memory is None or len(self._memory) != size:
            self._known.clear()
            self._memory = mmap.mmap(MEMORY, size)  # the former one stays while arrays refer to it
        if request not in self._known:
            if len(self._known) == KEPT_SHAPES:
                self._known.pop(next(iter(self._known)))
            windows = self._array(0, n, channels_in, height, width), self._array(place, n, channels_out, height, width)
            self._known[request] = windows
        return self._known[request]

    def _array(self, place, n, channels, height, width):
        import numpy

        shape = (n, height, width, channels) if self._layout == "NHWC" else (n, channels, height, width)
        return numpy.ndarray(shape, numpy.float32, self._memory, place)


def call_engine(adapter, engine, windows, out):
    """Calls the engine, which writes into `out` or returns an array. Gives the nanoseconds that it took, without those
    of its copies to a device and back, which follow."""
    begin = time.perf_counter_ns()
    result = engine(windows, out)
    if result is not None:
        if tuple(result.shape) != out.shape:
            raise ValueError(f"the engine gave an array of shape {tuple(result.shape)} instead of {out.shape}")
        out[...] = result
    elapsed = time.perf_counter_ns() - begin
    to_device, to_host = getattr(adapter, "COPY_NS", (0, 0))
    return elapsed - to_device - to_host, to_device, to_host


def is_out_of_memory(error):
    """Frameworks say it in their own words."""
    text = str(error).lower()
    under_a_limit = ("resource temporarily unavailable",  # no memory for a thread
                     "could not create a primitive")  # of oneDNN, in TensorFlow
    if limited and any(word in text for word in under_a_limit):
        return True
    words = ("bad_alloc", "out of memory", "not enough memory", "failed to allocate memory", "can't alloc",
             "cannot allocate memory", "cannot map zero-fill pages", "resource_exhausted", "oom when allocating")
    return isinstance(error, MemoryError) or any(word in text for word in words) or \
        re.search(r"failed to allocate \d+ bytes", text) is not None


def describe(error):
    text = re.sub(r"Exception from \S+:\d+: ", "", " ".join(str(error).split()))  # where OpenVINO's sources threw it
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def encoded(text):
    """For a reply. A file name that is not UTF-8 has surrogates."""
    return text.encode(errors="backslashreplace")[:LARGEST_TEXT]


def missing_package(error, engine, model):
    """What to do where the environment of an engine lacks a package. Code of the user may need packages of its own."""
    is_users = engine.startswith("python:") or (model or "").lower().endswith(".py")
    if is_users or not isinstance(error, ModuleNotFoundError):
        return ""
    return (f"; the environment {sys.prefix} is not complete: install it there, or remove the folder and run "
            f"launch/engines.sh --only {engine}")


def serve(rank, adapter, engine, windows):
    """Answers requests until the rank ends."""
    while request := rank.recv(REQUEST.size):
        try:
            nanoseconds = call_engine(adapter, engine, *windows.arrays(REQUEST.unpack(request)))
            reply = REPLY.pack(OK, *nanoseconds) + encoded(getattr(adapter, "ARITHMETIC", ""))
        except Exception as error:
            status = OUT_OF_MEMORY if is_out_of_memory(error) else FAILED
            reply = REPLY.pack(status, 0, 0, 0) + encoded(describe(error))
        rank.send(reply)


def start(arguments):
    """Loads the network and tells the rank what it must know. Gives adapter, engine and its windows."""
    adapter = load_adapter(arguments.engine)
    layout = layout_of(adapter, arguments.layout)
    check_dtype(adapter, arguments.dtype)
    check_device(adapter, arguments.device)
    options = dict(option.partition("=")[::2] for option in arguments.option)
    options |= {"threads": arguments.threads, "layout": layout, "dtype": arguments.dtype, "device": arguments.device}
    options |= {"custom": True} if arguments.model else {}
    options |= {"sigma_input": True} if arguments.sigma_input else {}
    engine = adapter.load(arguments.model or f"/proc/self/fd/{MODEL}", options)
    ready = [str(os.getpid()), layout, versions_of(getattr(adapter, "PACKAGES", ())),
             copies_of(adapter, arguments.engine), getattr(adapter, "NETWORK_SHA256", "")]
    if arguments.limit > 0:
        limit_memory(arguments.limit)
    return adapter, engine, Windows(layout), "\n".join(ready)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine")
    parser.add_argument("--versions", action="store_true")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--layout", default="NHWC")
    parser.add_argument("--dtype", default="fp32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--model", help="a network that the user brings; descriptor 5 is then empty")
    parser.add_argument("--sigma-input", action="store_true", help="its second input takes the last channel of windows")
    arguments = parser.parse_args()
    find_modules()
    if arguments.versions:
        from adapters import PACKAGES

        print(versions_of(PACKAGES[arguments.engine]))
        return
    import guardian

    guardian.guard(arguments.rank, (SOCKET, MEMORY, MODEL))
    limit_threads(arguments.threads)
    rank = socket.socket(fileno=SOCKET)
    try:
        adapter, engine, windows, ready = start(arguments)
    except Exception as error:
        status = OUT_OF_MEMORY if is_out_of_memory(error) else FAILED
        text = describe(error) + missing_package(error, arguments.engine, arguments.model)
        rank.send(REPLY.pack(status, 0, 0, 0) + encoded(text))
        raise
    rank.send(REPLY.pack(OK, 0, 0, 0) + ready.encode())
    serve(rank, adapter, engine, windows)
    del engine  # PyTorch removes what it unpacked into temporary files
    os._exit(0)  # the threads of a framework can take long to end


if __name__ == "__main__":
    main()
