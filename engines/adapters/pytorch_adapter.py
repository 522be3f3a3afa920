"""PyTorch, eager or (option `compile`) through torch.compile, in the layout of the study. On the CPU, or on a GPU
(gpu.py)."""

import torch
from torch.nn import functional

from onnx_graph import read_graph

from . import PACKAGES as ALL_PACKAGES
from . import bf16, custom_torch, gpu

PACKAGES = ALL_PACKAGES["pytorch"]
LAYOUT = "any"
DTYPES = ("fp32", "tf32", "bf16")
DEVICES = ("cpu", "cuda")
COPIES = "the output once"
ARITHMETIC = ""
NETWORK_SHA256 = ""

OPERATIONS = {
    "Conv": lambda x, weight, bias=None, **a: functional.conv2d(x, weight, bias, a["strides"], a["pads"][:2]),
    "ConvTranspose": lambda x, weight, bias=None, **a: functional.conv_transpose2d(
        x, weight, bias, a["strides"], a["pads"][:2]),
    "Relu": lambda x: functional.relu(x),
    "Add": lambda x, y: x + y,
    "Sub": lambda x, y: x - y,
    "Concat": lambda *maps, axis: torch.cat(maps, axis),
    "MaxPool": lambda x, kernel_shape, strides: functional.max_pool2d(x, kernel_shape, strides),
    "Resize": lambda x, *scales, **how: functional.interpolate(x, scale_factor=2, mode="nearest"),
}


def arithmetic():
    has_kernels = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    kernels = "oneDNN's bf16" if has_kernels else "ATen's bf16, as oneDNN has none for this processor"
    return f"PyTorch computes layers with {kernels}, {bf16.processor_text()}"


def interpreter_of(model, is_nhwc, dtype, device):
    """A function of a tensor that computes the graph of an ONNX file in `dtype` on `device`."""
    graph = read_graph(model)
    memory_format = torch.channels_last if is_nhwc else torch.contiguous_format

    def weight_of(array):
        tensor = torch.from_numpy(array).to(device, dtype)
        return tensor.contiguous(memory_format=memory_format) if tensor.ndim == 4 else tensor

    weights = {name: weight_of(array) for name, array in graph.tensors.items()}
    return lambda x: graph.run(OPERATIONS, weights, x.to(dtype))


def device_of(options):
    index = gpu.index_of(options)
    if index is None:
        return torch.device("cpu")
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    gpu.require(index < there, "pytorch", options, f"this PyTorch sees {there} CUDA devices")
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = options["dtype"] == "tf32"
    return torch.device("cuda", index)


def on_device(run, tensor_of, device, is_nhwc):
    """The way to the device, and the call there; its result has the axes of the shared memory."""

    def compute(x):
        with torch.inference_mode():
            y = run(x)
        torch.cuda.synchronize(device)
        return y.permute(0, 2, 3, 1) if is_nhwc else y

    def to_device(windows):
        x = tensor_of(windows).to(device)
        torch.cuda.synchronize(device)
        return x

    return to_device, compute


def load(model, options):
    torch.set_num_threads(options["threads"])
    device = device_of(options)
    is_nhwc = options["layout"] == "NHWC"
    is_bf16 = options["dtype"] == "bf16"
    global ARITHMETIC, NETWORK_SHA256
    ARITHMETIC = arithmetic() if is_bf16 else ""
    without_gradients = torch.inference_mode
    if model.lower().endswith(custom_torch.ENDINGS):
        if is_bf16:
            raise ValueError("networks of code compute as they are written; choose dtype: fp32")
        if device.type != "cpu":
            raise ValueError("networks of code run on the CPU here; choose device: cpu, or engine: torch")
        network = custom_torch.open_network(model)
        NETWORK_SHA256 = custom_torch.digest_of(network)
        run = custom_torch.with_level(network) if "sigma_input" in options else network
        without_gradients = torch.no_grad  # it may take gradients itself
    else:
        run = interpreter_of(model, is_nhwc, torch.bfloat16 if is_bf16 else torch.float32, device)
    if "compile" in options:
        run = torch.compile(run)

    def tensor_of(array):  # the same memory; PyTorch counts the axes of both layouts as NCHW
        tensor = torch.from_numpy(array)
        return tensor.permute(0, 3, 1, 2) if is_nhwc else tensor

    if device.type != "cpu":
        ARITHMETIC = "PyTorch computes layers with cuDNN" if is_bf16 else ""
        return gpu.call_by_steps(globals(), *on_device(run, tensor_of, device, is_nhwc),
                                 lambda y, out: torch.from_numpy(out).copy_(y))

    def call(windows, out):
        with without_gradients():
            result = run(tensor_of(windows))
            target = tensor_of(out)
            if result.shape != target.shape:
                raise ValueError(f"the network gave {tuple(result.shape)} instead of {tuple(target.shape)}")
            if result.is_complex():
                raise ValueError("the network gave complex numbers: give real ones")
            target.copy_(result)

    return call
