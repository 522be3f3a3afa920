"""ONNX Runtime on the CPU. Input and output are bound to the shared memory: Python copies nothing. Networks that users
bring may need arrays of their own (brought.py)."""

import numpy
import onnxruntime

from . import PACKAGES as ALL_PACKAGES
from . import address_of, brought

PACKAGES = ALL_PACKAGES["onnxruntime"]
LAYOUT = "NCHW"
COPIES = ""
KEPT_BINDINGS = 4


def load(model, options):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options["threads"]
    settings.inter_op_num_threads = 1
    # Threads that wait by spinning take the cores from the rank, which cuts and writes windows in the meantime.
    settings.add_session_config_entry("session.intra_op.allow_spinning", "1" if "spin" in options else "0")
    session = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    global COPIES
    inputs = session.get_inputs()
    if "sigma_input" in options or brought.is_for_one(inputs[0].shape):
        COPIES = "the output, and input with a noise level beside it, once"
        names = [each.name for each in inputs]
        run = lambda *arrays: session.run(None, dict(zip(names, arrays)))[0]
        return brought.call_apart(run, "sigma_input" in options, inputs[-1].shape, brought.is_for_one(inputs[0].shape))
    name_in, name_out = inputs[0].name, session.get_outputs()[0].name
    bindings = {}

    def bind(windows, out):
        if "brought" in options:  # else its words for another shape are about addresses
            brought.check_shape(session.run(None, {name_in: windows})[0], out)
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
