"""Networks that users bring as code for PyTorch: TorchScript (.pt), packages of torch.export or AOTInductor (.pt2) and
Python files (.py) whose function `make_network()` gives a torch.nn.Module. They are code, and run as the user."""

import importlib.util
import pathlib
import sys

import torch

ENDINGS = (".pt", ".pt2", ".py")


def run_module_file(file):
    sys.path.insert(0, str(file.parent))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "make_network"):
        raise AttributeError(f"{file.name} has no function make_network() that gives a torch.nn.Module")
    return module.make_network().eval()


def open_package(file):
    try:
        return torch.export.load(str(file)).module()
    except Exception:  # none of torch.export: then of AOTInductor
        return torch._inductor.aoti_load_package(str(file))


def open_network(model):
    file = pathlib.Path(model)
    if file.suffix == ".pt":
        return torch.jit.load(model, map_location="cpu").eval()
    return open_package(file) if file.suffix == ".pt2" else run_module_file(file)


def caller_of(model, takes_level):
    """A function of an NCHW tensor whose last channel is the noise level where the network takes one as its second
    input: one number a window."""
    network = open_network(model)
    if not takes_level:
        return network
    return lambda x: network(x[:, :-1].contiguous(), x[:, -1, 0, 0].contiguous())
