"""OpenVINO on the CPU. Its tensors are the shared memory: Python copies nothing. A shape is compiled when it comes."""

import openvino

from . import PACKAGES as ALL_PACKAGES
from . import address_of

PACKAGES = ALL_PACKAGES["openvino"]
LAYOUT = "NCHW"
KEPT_SHAPES = 4


def load(model, options):
    core = openvino.Core()
    network = core.read_model(model)
    settings = {
        "INFERENCE_NUM_THREADS": options["threads"],
        "INFERENCE_PRECISION_HINT": "f32",  # its default is bf16 where the processor has it
        "PERFORMANCE_HINT": "LATENCY",
        "ENABLE_CPU_PINNING": False,  # ranks that are not bound would all be pinned to the same cores
    }
    compiled, requests = {}, {}

    def request_for(windows, out):
        if windows.shape not in compiled:
            network.reshape(list(windows.shape))
            compiled[windows.shape] = core.compile_model(network, "CPU", settings)
        request = compiled[windows.shape].create_infer_request()
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
