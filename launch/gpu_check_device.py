"""Writes down what the CUDA device can do: all that PyTorch says of it, and cuDNN's own description, with which plans can
be judged where there is no such device. usage: gpu_check_device.py OUT.json"""

import ctypes
import glob
import json
import os
import pathlib
import sys

# Of cudnn_graph.h
DEVICEPROP_DESCRIPTOR = 38
ATTR_DEVICE_ID, ATTR_JSON = 2700, 2702
TYPE_INT32, TYPE_CHAR = 23, 24
MOST_BYTES = 1 << 20


def torch_properties(torch, index):
    properties = torch.cuda.get_device_properties(index)
    names = [name for name in dir(properties) if not name.startswith("_")]
    values = {name: getattr(properties, name) for name in names}
    return {name: value if isinstance(value, (int, float, str)) else str(value)
            for name, value in values.items() if not callable(value)}


def cudnn_library(torch):
    site = pathlib.Path(torch.__file__).resolve().parent.parent
    return ctypes.CDLL((glob.glob(f"{site}/nvidia/cudnn/lib/libcudnn_graph.so*") or ["libcudnn_graph.so.9"])[0])


def call(library, name, *arguments):
    status = getattr(library, name)(*arguments)
    if status != 0:
        raise RuntimeError(f"{name}: cuDNN's status {status}")


def cudnn_description(torch, index):
    """As text that cuDNN reads again (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION)."""
    library = cudnn_library(torch)
    descriptor = ctypes.c_void_p()
    call(library, "cudnnBackendCreateDescriptor", DEVICEPROP_DESCRIPTOR, ctypes.byref(descriptor))
    device = ctypes.c_int32(index)
    call(library, "cudnnBackendSetAttribute", descriptor, ATTR_DEVICE_ID, TYPE_INT32, ctypes.c_int64(1),
         ctypes.byref(device))
    call(library, "cudnnBackendFinalize", descriptor)
    text, size = ctypes.create_string_buffer(MOST_BYTES), ctypes.c_int64()
    call(library, "cudnnBackendGetAttribute", descriptor, ATTR_JSON, TYPE_CHAR, ctypes.c_int64(MOST_BYTES),
         ctypes.byref(size), text)
    return text.raw[: size.value].decode(errors="replace").rstrip("\0")


def attempt(make, *arguments):
    """What it gives, or why it does not."""
    try:
        return make(*arguments)
    except Exception as error:  # of a library that may be another: the other half is still worth having
        return f"not known: {type(error).__name__}: {error}"


def main():
    import torch  # here, so that a Python without it says so in this step's log

    count = torch.cuda.device_count()
    known = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": attempt(torch.backends.cudnn.version),
             "devices": [{"torch": attempt(torch_properties, torch, index),
                          "cudnn": attempt(cudnn_description, torch, index)} for index in range(count)]}
    part = pathlib.Path(sys.argv[1] + ".part")
    part.write_text(json.dumps(known, indent=1))
    os.replace(part, sys.argv[1])
    print(f"{count} CUDA devices")


if __name__ == "__main__":
    main()
