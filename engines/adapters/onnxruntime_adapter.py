"""ONNX Runtime. On the CPU input and output are bound to the shared memory: Python copies nothing. Networks that users
bring may need arrays of their own (custom.py). On a GPU (gpu.py) by its provider CUDA, or TensorRT with the option
`tensorrt`."""

import os

import numpy
import onnxruntime

from . import PACKAGES as ALL_PACKAGES
from . import address_of, custom, gpu

PACKAGES = ALL_PACKAGES["onnxruntime"]
LAYOUT = "NCHW"
DTYPES = ("fp32", "tf32")
DEVICES = ("cpu", "cuda")
COPIES = ""
KEPT_BINDINGS = 4


def providers_of(options):
    """Names and settings, the preferred one first."""
    index = gpu.index_of(options)
    if index is None:
        return [("CPUExecutionProvider", {})]
    wanted = [("CUDAExecutionProvider", {"device_id": index, "use_tf32": int(options["dtype"] == "tf32")})]
    if "tensorrt" in options:
        if options["dtype"] == "fp32":
            os.environ["NVIDIA_TF32_OVERRIDE"] = "0"  # TensorRT takes TF32 for fp32 unless it is told not to
        wanted.insert(0, ("TensorrtExecutionProvider", {"device_id": index}))
    for name, _ in wanted:
        gpu.require(name in onnxruntime.get_available_providers(), "onnxruntime", options,
                    f"this ONNX Runtime has no {name}")
    return wanted


def on_device(session, name_in, name_out, index):
    def compute(x):
        binding = session.io_binding()
        binding.bind_ortvalue_input(name_in, x)
        binding.bind_output(name_out, "cuda", index)
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        return binding.get_outputs()[0]

    to_device = lambda windows: onnxruntime.OrtValue.ortvalue_from_numpy(windows, "cuda", index)
    return gpu.call_by_steps(globals(), to_device, compute, lambda y, out: numpy.copyto(out, y.numpy()))


def load(model, options):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options["threads"]
    settings.inter_op_num_threads = 1
    # Threads that wait by spinning take the cores from the rank, which cuts and writes windows in the meantime.
    settings.add_session_config_entry("session.intra_op.allow_spinning", "1" if "spin" in options else "0")
    providers = providers_of(options)
    session = onnxruntime.InferenceSession(model, settings, providers=providers)
    gpu.require(session.get_providers()[0] == providers[0][0], "onnxruntime", options,
                f"{providers[0][0]} does not start")  # it goes on with another one, and says so in a warning
    global COPIES
    inputs = session.get_inputs()
    axes = [each.shape for each in inputs]
    if "sigma_input" in options or custom.is_for_one(axes):
        COPIES = "the output, and input with a noise level beside it, once"
        names = [each.name for each in inputs]
        run = lambda *arrays: session.run(None, dict(zip(names, arrays)))[0]
        return custom.call_apart(run, axes, "sigma_input" in options)
    name_in, name_out = inputs[0].name, session.get_outputs()[0].name
    if gpu.index_of(options) is not None:
        COPIES = "the output once more"
        return on_device(session, name_in, name_out, gpu.index_of(options))
    bindings = {}

    def bind(windows, out):
        if "custom" in options:  # else its words for another shape are about addresses
            custom.check_shape(session.run(None, {name_in: windows})[0], out)
        binding = session.io_binding()
        binding.bind_input(name_in, "cpu", 0, numpy.float32, windows.shape, address_of(windows))
        binding.bind_output(name_out, "cpu", 0, numpy.float32, out.shape, address_of(out))
        return binding

    def call(windows, out):
        key = windows.shape, address_of(windows), address_of(out)
        if key not in bindings:
            if len(bindings) == KEPT_BINDINGS:
                bindings.clear()
            bindings[key] = bind(windows, out)
        session.run_with_iobinding(bindings[key])

    return call
