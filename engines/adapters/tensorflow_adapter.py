"""TensorFlow on the CPU: the graph through tf.function, windows as NHWC."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Else XLA leaves out that maps between layers are rounded to bf16.
os.environ.setdefault("XLA_FLAGS", "--xla_allow_excess_precision=false")

import numpy
import tensorflow as tf

from onnx_graph import read_graph

from . import PACKAGES as ALL_PACKAGES
from . import bf16

PACKAGES = ALL_PACKAGES["tensorflow"]
LAYOUT = "NHWC"
DTYPES = ("fp32", "bf16")
COPIES = "input and output once"
ARITHMETIC = ""


def convolve(x, weight, bias=None, *, strides, pads, **_):
    y = tf.nn.conv2d(x, weight, strides, [[0, 0], [pads[0], pads[2]], [pads[1], pads[3]], [0, 0]])
    return y if bias is None else tf.nn.bias_add(y, bias)


def convolve_transposed(x, weight, bias=None, *, strides, **_):
    n, height, width, _ = x.shape
    shape = (n, height * strides[0], width * strides[1], weight.shape[2])
    y = tf.nn.conv2d_transpose(x, weight, shape, strides, "VALID")
    return y if bias is None else tf.nn.bias_add(y, bias)


OPERATIONS = {
    "Conv": convolve,
    "ConvTranspose": convolve_transposed,
    "Relu": tf.nn.relu,
    "Add": lambda x, y: x + y,
    "Sub": lambda x, y: x - y,
    "Concat": lambda *maps, axis: tf.concat(maps, -1),  # axis 1 of NCHW
    "MaxPool": lambda x, kernel_shape, strides: tf.nn.max_pool2d(x, kernel_shape, strides, "VALID"),
    "Resize": lambda x, *scales, **how: tf.repeat(tf.repeat(x, 2, 1), 2, 2),
}


def hwio(weight):
    """As [h, w, in, out]; that of a transposed convolution, [in, out, h, w] in ONNX, as [h, w, out, in]."""
    return numpy.ascontiguousarray(weight.transpose(2, 3, 1, 0))


TURNS = {"Conv": hwio, "ConvTranspose": hwio}


def load(model, options):
    tf.config.threading.set_intra_op_parallelism_threads(options["threads"])
    tf.config.threading.set_inter_op_parallelism_threads(1)
    graph = read_graph(model)
    dtype = tf.bfloat16 if options["dtype"] == "bf16" else tf.float32
    weights = {name: tf.cast(array, dtype) for name, array in graph.turned_tensors(TURNS).items()}
    graph.tensors.clear()
    run = tf.function(lambda x: tf.cast(graph.run(OPERATIONS, weights, tf.cast(x, dtype)), tf.float32),
                      autograph=False,  # it would leave a file for temporary ones in each process
                      jit_compile="xla" in options)
    global ARITHMETIC
    ARITHMETIC = ""

    def arithmetic(windows):
        if "xla" in options:
            return bf16.xla_text(run.experimental_get_compiler_ir(tf.constant(windows))("optimized_hlo"))
        return f"TensorFlow computes layers with its bf16 kernels, {bf16.processor_text()}"

    def call(windows, out):
        global ARITHMETIC
        if dtype == tf.bfloat16 and not ARITHMETIC:
            ARITHMETIC = arithmetic(windows)
        numpy.copyto(out, run(tf.constant(windows)).numpy())

    return call
