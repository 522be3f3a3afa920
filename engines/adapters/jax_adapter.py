"""JAX on the CPU: the graph through jax.jit, windows as NHWC."""

import jax
import numpy
from jax import lax
from jax import numpy as jnp

from onnx_graph import read_graph

from . import PACKAGES as ALL_PACKAGES

PACKAGES = ALL_PACKAGES["jax"]
LAYOUT = "NHWC"
COPIES = "the output once"
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
    weights = {name: jnp.asarray(array) for name, array in graph.turned_tensors(TURNS).items()}
    graph.tensors.clear()
    run = jax.jit(lambda weights, x: graph.run(OPERATIONS, weights, x))

    def call(windows, out):
        numpy.copyto(out, numpy.asarray(run(weights, jnp.from_dlpack(windows))))

    return call
