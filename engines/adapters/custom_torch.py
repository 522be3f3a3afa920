"""Networks that users bring as code for PyTorch: TorchScript (.pt), packages of torch.export or AOTInductor (.pt2) and
Python files (.py) whose function `make_network()` gives a torch.nn.Module. They are code, and run as the user."""

import hashlib
import importlib.machinery
import importlib.util
import os
import pathlib
import random
import sys
import zipfile

import numpy
import torch

ENDINGS = (".pt", ".pt2", ".py")


def seed_generators():
    """A file that draws its weights at random draws the same ones in each process of a job."""
    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)


def run_module_file(file):
    seed_generators()
    sys.path.insert(0, str(file.parent))
    loader = importlib.machinery.SourceFileLoader(file.stem, str(file))
    spec = importlib.util.spec_from_file_location(file.stem, file, loader=loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "make_network"):
        raise AttributeError(f"{file.name} has no function make_network() that gives a torch.nn.Module")
    network = module.make_network()
    if not isinstance(network, torch.nn.Module):
        raise TypeError(f"make_network() of {file.name} gave a {type(network).__name__}: give a torch.nn.Module")
    return network.eval()


def as_exported(tensor):
    """The same in the strides that torch.export sees: those of a dense NCHW tensor, also along axes of extent 1."""
    return torch.empty(tensor.shape).copy_(tensor)


def refuse_fixed_inputs(program):
    """Inputs of an ExportedProgram that take windows of one size only, or a number of them that is not one."""
    for node in program.graph.nodes:
        if node.op != "placeholder" or node.name not in program.graph_signature.user_inputs:
            continue
        shape = tuple(getattr(node.meta.get("val"), "shape", ()))
        if len(shape) != 4:
            continue
        if isinstance(shape[2], int) or isinstance(shape[3], int):
            raise ValueError(f"its input {node.name} has a fixed size ({shape[2]} x {shape[3]}): export it with dynamic "
                             "height and width")
        if isinstance(shape[0], int) and shape[0] != 1:
            raise ValueError(f"its input {node.name} has a fixed batch of {shape[0]}: export it with a dynamic batch, or "
                             "with a batch of 1")


def open_exported(file):
    program = torch.export.load(str(file))
    refuse_fixed_inputs(program)
    return program.module()


def open_package(file):
    with zipfile.ZipFile(file) as archive:
        is_compiled = any("data/aotinductor/" in name for name in archive.namelist())
    if not is_compiled:
        return open_exported(file)
    os.environ["AOTI_RUNTIME_CHECK_INPUTS"] = "1"  # else it takes any extent for that which it was compiled for
    torch._inductor.config.cpp.vec_isa_ok = True  # else it compiles six programs to try the processor's vectors: 10 s
    run = torch._inductor.aoti_load_package(str(file))

    def run_whole(*inputs):
        try:
            return run(*map(as_exported, inputs))
        except RuntimeError as error:
            if "API call failed" not in str(error):  # it writes the reason to standard error
                raise
            shapes = " and ".join(str(tuple(each.shape)) for each in inputs)
            raise RuntimeError(f"the package does not run windows of shape {shapes}: it was not exported for them, or "
                               "memory ran out") from None

    ways = {}  # other than whole, for one window and for many: found at the first call

    def call(*inputs):
        """torch.export takes a batch that is dynamic for one of 2 and more, and one that is fixed is of 1."""
        is_single = len(inputs[0]) == 1
        otherwise = run_twice if is_single else run_one_by_one
        if is_single not in ways:
            try:
                return run_whole(*inputs)
            except RuntimeError:
                pass
        result = otherwise(*inputs)
        ways[is_single] = otherwise
        return result

    def run_twice(*inputs):
        return run_whole(*(torch.cat((each, each)) for each in inputs))[:1]

    def run_one_by_one(*inputs):
        return torch.cat([run_whole(*(each[i:i + 1] for each in inputs)) for i in range(len(inputs[0]))])

    return call


def open_network(model):
    file = pathlib.Path(model)
    ending = file.suffix.lower()
    if ending == ".pt":
        return torch.jit.load(model, map_location="cpu").eval()
    return open_package(file) if ending == ".pt2" else run_module_file(file)


def tensors_of(network):
    """(name, tensor) of its parameters, its buffers and what its modules hold as attributes."""
    for prefix, module in network.named_modules():
        held = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False), *vars(module).items()]
        for name, value in sorted(held, key=lambda item: item[0]):
            if isinstance(value, torch.Tensor):
                yield f"{prefix}.{name}", value


def bytes_of(tensor):
    """Its values as one block of memory; none where it has no values yet, or never."""
    if torch.nn.parameter.is_lazy(tensor) or tensor.is_meta:
        return b""
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    dense = tensor.detach().to_dense() if tensor.layout != torch.strided else tensor.detach()
    return dense.cpu().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8).numpy().data


def digest_of(network):
    """sha256 of the tensors of a module, which a Python file may take from anywhere; empty for a package."""
    if not isinstance(network, torch.nn.Module):
        return ""
    digest = hashlib.sha256()
    for name, tensor in tensors_of(network):
        digest.update(f"{name} {tensor.dtype} {tensor.layout}".encode())
        digest.update(bytes_of(tensor))
    return digest.hexdigest()


def with_level(network):
    """A function of an NCHW tensor whose last channel is the noise level that the network takes as its second input:
    one number a window."""
    return lambda x: network(x[:, :-1].contiguous(), x[:, -1, 0, 0].contiguous())
