"""OpenVINO on the CPU. Its tensors are the shared memory: Python copies nothing. A shape is compiled when it comes.
Networks that users bring may need arrays of their own (custom.py)."""

import openvino

from . import PACKAGES as ALL_PACKAGES
from . import address_of, bf16, custom

PACKAGES = ALL_PACKAGES["openvino"]
LAYOUT = "NCHW"
DTYPES = ("fp32", "bf16")
COPIES = ""
ARITHMETIC = ""
KEPT_SHAPES = 4


def arithmetic_of(compiled):
    """What a compiled model computes in: OpenVINO takes the hint bf16 on any processor, and only some heed it."""
    hint = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
    layers = [{key: value.astype(str) for key, value in layer.get_rt_info().items()}
              for layer in compiled.get_runtime_model().get_ops()]
    layers = [layer for layer in layers if layer["layerType"] in ("Convolution", "Deconvolution")]
    kernels = ", ".join(sorted({layer["primitiveType"] for layer in layers}))
    text = bf16.count_text([layer["runtimePrecision"] for layer in layers])
    return f"OpenVINO computes in {hint} {bf16.processor_text()}: {text} ({kernels})"


def load(model, options):
    core = openvino.Core()
    network = core.read_model(model)
    settings = {
        "INFERENCE_NUM_THREADS": options["threads"],
        # Its default is bf16 where the processor has it.
        "INFERENCE_PRECISION_HINT": "bf16" if options["dtype"] == "bf16" else "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "ENABLE_CPU_PINNING": False,  # ranks that are not bound would all be pinned to the same cores
    }
    compiled, requests = {}, {}

    def compile_for(*shapes):
        if shapes not in compiled:
            if len(compiled) == KEPT_SHAPES:
                compiled.clear()
            network.reshape(dict(zip(range(len(shapes)), map(list, shapes))))
            compiled[shapes] = core.compile_model(network, "CPU", settings)
            global ARITHMETIC
            ARITHMETIC = arithmetic_of(compiled[shapes]) if options["dtype"] == "bf16" else ""
        return compiled[shapes]

    global COPIES
    axes = [[extent.get_length() if extent.is_static else None for extent in each.partial_shape]
            for each in network.inputs]
    if "sigma_input" in options or custom.is_for_one(axes):
        COPIES = "the output, and input with a noise level beside it, once"
        run = lambda *arrays: compile_for(*(array.shape for array in arrays))(list(arrays))[0]
        return custom.call_apart(run, axes, "sigma_input" in options)

    def request_for(windows, out):
        network_of_shape = compile_for(windows.shape)
        custom.check_shape(network_of_shape.output(0), out)
        request = network_of_shape.create_infer_request()
        request.set_input_tensor(openvino.Tensor(windows, shared_memory=True))
        request.set_output_tensor(openvino.Tensor(out, shared_memory=True))
        return request

    def call(windows, out):
        key = windows.shape, address_of(windows), address_of(out)
        if key not in requests:
            if len(requests) == KEPT_SHAPES:
                requests.clear()
                compiled.clear()
            requests[key] = request_for(windows, out)
        requests[key].infer()

    return call
