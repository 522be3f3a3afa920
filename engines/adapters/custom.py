"""For networks that users bring: a noise level as second input, and models for one window at a time."""

import numpy


def level_of(windows, axes):
    """The noise level, which is the last channel of `windows`, in the shape that a network declares: `axes` are its
    extents, None or a text where they are dynamic. A scalar, one number a window, or a map of the window's extents."""
    level = windows[:, -1:]
    is_map = len(axes) == 4 and axes[2] != 1
    if not is_map:
        level = level[:, :, :1, :1].reshape((len(windows),) + (1,) * (len(axes) - 1) if axes else -1)
    return numpy.ascontiguousarray(level if axes else level[:1].reshape(()))


def is_for_one(inputs):
    """Whether a network takes one window at a time. `inputs` are the axes of each of its inputs."""
    return any(len(axes) > 0 and axes[0] == 1 for axes in inputs)


def check_shape(result, out):
    if not hasattr(result, "shape"):
        raise ValueError(f"the network gave a {type(result).__name__}: give one array")
    if tuple(result.shape) != tuple(out.shape):
        raise ValueError(f"the network gave an array of shape {tuple(result.shape)} instead of {tuple(out.shape)}")
    if "complex" in str(getattr(result, "dtype", "")):
        raise ValueError("the network gave complex numbers: give real ones")


def call_apart(run, inputs, takes_level):
    """A call that gives `run` the inputs of a network as arrays of their own and copies its output."""

    def run_some(windows, out):
        arrays = (numpy.ascontiguousarray(windows[:, :-1]), level_of(windows, inputs[-1])) if takes_level else (windows,)
        result = run(*arrays)
        check_shape(result, out)
        out[...] = result

    one_at_a_time = is_for_one(inputs)

    def call(windows, out):
        step = 1 if one_at_a_time else len(windows)
        for begin in range(0, len(windows), step):
            run_some(windows[begin:begin + step], out[begin:begin + step])

    return call
