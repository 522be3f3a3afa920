"""JAX: the graph through jax.jit, windows as NHWC. On the CPU, or on a GPU (gpu.py)."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # of a GPU, which ranks may share

import jax
import numpy
from jax import lax
from jax import numpy as jnp

from onnx_graph import read_graph

from . import PACKAGES as ALL_PACKAGES
from . import bf16, gpu

PACKAGES = ALL_PACKAGES["jax"]
LAYOUT = "NHWC"
DTYPES = ("fp32", "tf32", "bf16")
DEVICES = ("cpu", "cuda")
COPIES = "the output once"
ARITHMETIC = ""
KEPT_SHAPES = 4
LAYOUTS = ("NHWC", "HWIO", "NHWC")


def convolve(x, weight, bias=None, *, strides, pads, **_):
    padding = [(pads[0], pads[2]), (pads[1], pads[3])]
    y = lax.conv_general_dilated(x, weight, strides, padding, dimension_numbers=LAYOUTS)
    return y if bias is None else y + bias


def convolve_transposed(x, weight, bias=None, *, strides, **_):
    y = lax.conv_transpose(x, weight, strides, "VALID", dimension_numbers=LAYOUTS)
    return y if bias is None else y + bias


def max_pool(x, kernel_shape, strides):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, *kernel_shape, 1), (1, *strides, 1), "VALID")


OPERATIONS = {
    "Conv": convolve,
    "ConvTranspose": convolve_transposed,
    "Relu": lambda x: jnp.maximum(x, 0),
    "Add": lambda x, y: x + y,
    "Sub": lambda x, y: x - y,
    "Concat": lambda *maps, axis: jnp.concatenate(maps, -1),  # axis 1 of NCHW
    "MaxPool": max_pool,
    "Resize": lambda x, *scales, **how: x.repeat(2, 1).repeat(2, 2),
}


# Weights as HWIO. Those of a transposed convolution are [in, out, h, w] and are applied mirrored.
TURNS = {
    "Conv": lambda weight: weight.transpose(2, 3, 1, 0),
    "ConvTranspose": lambda weight: weight.transpose(2, 3, 0, 1)[::-1, ::-1],
}


def device_of(options):
    index = gpu.index_of(options)
    if index is None:
        return jax.devices("cpu")[0]
    try:
        devices = jax.devices("cuda")
    except RuntimeError:  # this JAX has none
        devices = []
    gpu.require(index < len(devices), "jax", options, f"this JAX sees {len(devices)} CUDA devices")
    return devices[index]


def load(model, options):
    device = device_of(options)
    jax.config.update("jax_default_device", device)
    if gpu.index_of(options) is not None:  # its default there is the lowest
        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if options["dtype"] == "tf32" else "highest")
    graph = read_graph(model)
    dtype = jnp.bfloat16 if options["dtype"] == "bf16" else jnp.float32
    weights = {name: jnp.asarray(array, dtype) for name, array in graph.turned_tensors(TURNS).items()}
    graph.tensors.clear()
    # Else XLA leaves out that maps between layers are rounded to bf16.
    run = jax.jit(lambda weights, x: graph.run(OPERATIONS, weights, x.astype(dtype)).astype(jnp.float32),
                  compiler_options={"xla_allow_excess_precision": False})
    compiled = {}  # by shape

    def compile_for(x):
        if len(compiled) == KEPT_SHAPES:
            compiled.clear()
        compiled[x.shape] = run.lower(weights, x).compile()
        global ARITHMETIC
        ARITHMETIC = bf16.xla_text(compiled[x.shape].as_text()) if dtype == jnp.bfloat16 else ""

    def compute(x):
        if x.shape not in compiled:
            compile_for(x)
        return compiled[x.shape](weights, x).block_until_ready()

    if gpu.index_of(options) is not None:
        return gpu.call_by_steps(globals(), lambda windows: jax.device_put(windows, device).block_until_ready(),
                                 compute, lambda y, out: numpy.copyto(out, numpy.asarray(y)))

    def call(windows, out):
        numpy.copyto(out, numpy.asarray(compute(jnp.from_dlpack(windows))))

    return call
