"""One module an engine, <engine>_adapter.py; docs/engines.md says what it holds."""

# Packages whose versions describe an engine; of those for a GPU and those for the CPU one is there.
PACKAGES = {
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu"),
    "openvino": ("openvino",),
    "pytorch": ("torch",),
    "tensorflow": ("tensorflow-cpu", "tensorflow"),
    "jax": ("jax", "jaxlib", "jax-cuda13-plugin"),
}


def address_of(array):
    """Where the samples of a NumPy array lie."""
    return array.__array_interface__["data"][0]
