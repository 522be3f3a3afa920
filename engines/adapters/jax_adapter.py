"""JAX on the CPU: the graph through jax.jit, windows as NHWC."""

import jax
import numpy
from jax import lax
from jax import numpy as jnp

from onnx_graph import read_graph

from . import PACKAGES as ALL_PACKAGES
from . import bf16

PACKAGES = ALL_PACKAGES["jax"]
LAYOUT = "NHWC"
DTYPES = ("fp32", "bf16")
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


def load(model, options):
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

    def call(windows, out):
        x = jnp.from_dlpack(windows)
        if x.shape not in compiled:
            compile_for(x)
        numpy.copyto(out, numpy.asarray(compiled[x.shape](weights, x)))

    return call
