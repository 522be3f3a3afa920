"""One module an engine, <engine>_adapter.py; docs/engines.md says what it holds."""

# Packages whose versions describe an engine.
PACKAGES = {
    "onnxruntime": ("onnxruntime",),
    "openvino": ("openvino",),
    "pytorch": ("torch",),
    "tensorflow": ("tensorflow-cpu",),
    "jax": ("jax", "jaxlib"),
}


def address_of(array):
    """Where the samples of a NumPy array lie."""
    return array.__array_interface__["data"][0]
