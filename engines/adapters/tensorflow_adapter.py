"""TensorFlow: the graph through tf.function, windows as NHWC. On the CPU, or on a GPU (gpu.py)."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Else XLA leaves out that maps between layers are rounded to bf16.
os.environ.setdefault("XLA_FLAGS", "--xla_allow_excess_precision=false")

import numpy
import tensorflow as tf

from onnx_graph import read_graph

from . import PACKAGES as ALL_PACKAGES
from . import bf16, gpu

PACKAGES = ALL_PACKAGES["tensorflow"]
LAYOUT = "NHWC"
DTYPES = ("fp32", "tf32", "bf16")
DEVICES = ("cpu", "cuda")
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


def choose_device(options):
    """Before the first tensor. Gives its name."""
    index = gpu.index_of(options)
    if index is None:
        tf.config.set_visible_devices([], "GPU")
        return "/CPU:0"
    devices = tf.config.list_physical_devices("GPU")
    gpu.require(index < len(devices), "tensorflow", options, f"this TensorFlow sees {len(devices)} GPUs")
    tf.config.set_visible_devices(devices[index], "GPU")
    tf.config.experimental.set_memory_growth(devices[index], True)  # ranks may share it
    tf.config.experimental.enable_tensor_float_32_execution(options["dtype"] == "tf32")
    return "/GPU:0"  # of the visible ones


def load(model, options):
    tf.config.threading.set_intra_op_parallelism_threads(options["threads"])
    tf.config.threading.set_inter_op_parallelism_threads(1)
    device = choose_device(options)
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

    def on_device(step):
        def run_there(*arguments):
            with tf.device(device):
                result = step(*arguments)
                tf.test.experimental.sync_devices()
                return result

        return run_there

    if gpu.index_of(options) is not None:
        ARITHMETIC = "TensorFlow computes layers with cuDNN" if dtype == tf.bfloat16 else ""
        return gpu.call_by_steps(globals(), on_device(lambda windows: tf.identity(tf.constant(windows))),
                                 on_device(run), lambda y, out: numpy.copyto(out, y.numpy()))

    def call(windows, out):
        global ARITHMETIC
        if dtype == tf.bfloat16 and not ARITHMETIC:
            ARITHMETIC = arithmetic(windows)
        numpy.copyto(out, run(tf.constant(windows)).numpy())

    return call
