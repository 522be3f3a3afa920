#!/usr/bin/env python3
"""Denoises one image with one peer, in a process of its own: what peers.py starts.

usage: peer_process.py PEER --model dncnn.onnx --image noisy.npy --out denoised.npy [--threads 1]
       peer_process.py --list     the peers that can run in this environment
       peer_process.py --crop photo.jpg --edge 768 --sigma 0.1 --out noisy.npy

Images are float32 arrays of (H, W, 3) in [0, 1]. Prints one line of JSON: seconds of the call alone, by the clock and of
the processor, and pixels through the network by those of the image.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TILE, TILE_PAD = 256, 10  # a plain tile loop; the margin is that of Real-ESRGAN
RADIUS = 20  # px around a pixel that DnCNN sees: one for each of its convolutions
ROI, OVERLAP = 256, 0.25  # MONAI: patch of the others, its own default overlap
DEEPINV_OVERLAP = 64  # deepinv.distributed: its defaults are patches of 256 and this


def as_batch(image):
    """(1, 3, H, W), contiguous."""
    import numpy

    return numpy.ascontiguousarray(image.transpose(2, 0, 1)[None])


class Counted:
    """Counts the pixels that go into a network."""

    def __init__(self, network):
        self.network, self.pixels = network, 0

    def __call__(self, x, *unused, **also_unused):
        self.pixels += x.shape[0] * x.shape[-2] * x.shape[-1]
        return self.network(x)


def torch_network(model, threads, dtype):
    """DnCNN as in plain_networks.py, with the weights of the ONNX file."""
    import torch

    sys.path[:0] = [str(HERE), str(HERE.parent / "engines")]
    from onnx_graph import read_graph
    from plain_networks import DnCNN

    torch.set_num_threads(threads)
    network = DnCNN()
    network.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in read_graph(model).tensors.items()})
    return network.eval().to(dtype=dtype, memory_format=torch.channels_last)


def in_torch(denoise, dtype_name="float32"):
    """A peer that gets the network as a function of tensors."""

    def load(arguments):
        import torch

        dtype = getattr(torch, dtype_name)
        network = Counted(torch_network(arguments.model, arguments.threads, dtype))
        call = denoise(network)

        @torch.inference_mode()
        def run(batch):
            x = torch.from_numpy(batch).to(dtype=dtype, memory_format=torch.channels_last)
            return call(x).contiguous().numpy(), network.pixels

        return run

    return load


def whole(network):
    return network


def tile_loop(tile, pad):
    def make(network):
        def call(x):
            import torch

            out = torch.empty_like(x)
            height, width = x.shape[-2:]
            for row in range(0, height, tile):
                for column in range(0, width, tile):
                    top, left = max(row - pad, 0), max(column - pad, 0)
                    bottom, right = min(row + tile, height), min(column + tile, width)
                    y = network(x[..., top : bottom + pad, left : right + pad])
                    out[..., row:bottom, column:right] = y[..., row - top : bottom - top, column - left : right - left]
            return out

        return call

    return make


def monai_window(network):
    from monai.inferers import sliding_window_inference

    return lambda x: sliding_window_inference(x, (ROI, ROI), 4, network, overlap=OVERLAP)


def deepinv_distributed(network):
    from deepinv.distributed import DistributedContext, distribute
    from deepinv.models.base import Denoiser

    class Wrapped(Denoiser):
        def forward(self, x, sigma=None, **unused):
            return network(x)

    def call(x):
        with DistributedContext(device_mode="cpu") as context:
            return distribute(Wrapped(), context, patch_size=TILE, overlap=DEEPINV_OVERLAP)(x, 0.1)

    return call


def onnxruntime_whole(arguments):
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = arguments.threads, 1
    session = onnxruntime.InferenceSession(arguments.model, settings, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda batch: (session.run(None, {name: batch})[0], batch.shape[-2] * batch.shape[-1])


def openvino_whole(arguments):
    import openvino

    core = openvino.Core()
    network = core.read_model(arguments.model)
    settings = {"INFERENCE_NUM_THREADS": arguments.threads, "INFERENCE_PRECISION_HINT": "f32"}

    def run(batch):
        network.reshape(list(batch.shape))
        compiled = core.compile_model(network, "CPU", settings)
        return compiled(batch)[0], batch.shape[-2] * batch.shape[-1]

    return run


# name -> (packages, how it loads)
PEERS = {
    "pytorch": (("torch",), in_torch(whole)),
    # The truth. Tiles with a margin of the receptive radius are the whole image; whole it takes 14 kB a pixel.
    "double": (("torch",), in_torch(tile_loop(128, RADIUS), "float64")),
    "tiles": (("torch",), in_torch(tile_loop(TILE, TILE_PAD))),
    "monai": (("torch", "monai"), in_torch(monai_window)),
    "deepinv": (("torch", "deepinv"), in_torch(deepinv_distributed)),
    "onnxruntime": (("onnxruntime",), onnxruntime_whole),
    "openvino": (("openvino",), openvino_whole),
}


def runnable():
    return [name for name, (packages, _) in PEERS.items() if all(map(importlib.util.find_spec, packages))]


def crop(arguments):
    """The centre of a photograph with noise, the same for every peer."""
    import numpy

    if arguments.crop.endswith(".npy"):
        clean = numpy.load(arguments.crop)
    else:
        from PIL import Image

        clean = numpy.asarray(Image.open(arguments.crop).convert("RGB"), numpy.float32) / 255
    top, left = ((extent - min(extent, arguments.edge)) // 2 for extent in clean.shape[:2])
    part = clean[top : top + arguments.edge, left : left + arguments.edge]
    noise = numpy.random.default_rng(1).normal(0, arguments.sigma, part.shape)
    numpy.save(arguments.out, (part + noise).astype(numpy.float32))


def denoise(arguments):
    import numpy

    batch = as_batch(numpy.load(arguments.image))
    run = PEERS[arguments.peer][1](arguments)
    begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
    out, pixels = run(batch)
    seconds = {"denoise_s": time.perf_counter() - begin_s, "denoise_cpu_s": time.process_time() - begin_cpu_s}
    numpy.save(arguments.out, out[0].transpose(1, 2, 0))
    print(json.dumps(seconds | {"processed": pixels / (batch.shape[-2] * batch.shape[-1])}), flush=True)
    os._exit(0)  # the threads of a framework can take long to end


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", nargs="?", choices=PEERS)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--crop")
    parser.add_argument("--edge", type=int, default=768)
    parser.add_argument("--sigma", type=float, default=0.1)
    parser.add_argument("--model")
    parser.add_argument("--image")
    parser.add_argument("--out")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.list:
        print(" ".join(runnable()))
    elif arguments.crop:
        crop(arguments)
    else:
        denoise(arguments)


if __name__ == "__main__":
    main()
