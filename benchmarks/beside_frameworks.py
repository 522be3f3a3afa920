#!/usr/bin/env python3
"""The engine native beside PyTorch, ONNX Runtime, OpenVINO and ncnn: forward calls with the same weights and windows, in
turns, one thread each on the CPU.

usage: .venv/bin/python benchmarks/beside_frameworks.py BUILD [--networks drunet,dncnn,unet] [--batches 1,4] ..

BUILD is the folder with patchbench and benchmarks/forward_server. patchbench writes the network as ONNX, of which
.engines/<framework> (launch/engines.sh) makes its own; PyTorch runs plain_networks.py. ncnn has no environment of
launch/engines.sh: `python3 -m venv .engines/ncnn && .engines/ncnn/bin/pip install ncnn numpy`. What is not installed is
left out, and said so. `--dtype bf16` compares PyTorch and OpenVINO in bf16, and native in fp32, with native in bf16.

A round counts the processor seconds of a few calls of each side, in an order that turns round from one to the next. The
ratio is the other's time / native's of each round, as median [smallest, largest]: above 1, native is faster. Outputs are
compared with PyTorch's in fp32 first: beyond the tolerance is a failure (exit code 1), a ratio below 1 is not.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import torch

import beside_pytorch as plain
from plain_networks import NETWORKS, make_network

HERE = pathlib.Path(__file__).resolve().parent
BF16 = ("pytorch", "openvino")
ENGINES = {"onnxruntime": "onnxruntime", "openvino": "openvino", "ncnn": f"python:{HERE / 'ncnn_adapter.py'}"}


class Framework(plain.Process):
    """framework_server.py in the environment of a framework."""

    def __init__(self, python, engine, arguments):
        super().__init__([python, HERE / "framework_server.py", engine, "--threads", str(arguments.threads),
                          "--dtype", arguments.dtype])


class Sides:
    """Processes that compute: native, and the frameworks that are installed."""

    def __init__(self, arguments):
        self.native = {"native": (plain.Server(arguments), arguments.dtype)}
        if arguments.dtype != "fp32":
            self.native["native fp32"] = plain.Server(arguments), "fp32"
        self.frameworks = {}
        names = [name for name in arguments.frameworks.split(",") if arguments.dtype == "fp32" or name in BF16]
        for name in names:
            python = arguments.engines / name / "bin/python"
            if name in ENGINES and python.exists():
                self.frameworks[name] = Framework(python, ENGINES[name], arguments)
            elif name != "pytorch":
                print(f"{name} is left out: there is no {python}", flush=True)
        self.has_pytorch = "pytorch" in names


class Comparison:
    """One network with one batch; what the processes read and write is in `folder`."""

    def __init__(self, network, arguments, sides, folder):
        self.arguments, self.sides, self.folder = arguments, sides, folder
        self.samples, self.batch = plain.make_windows(network, arguments)
        plain.save_npy(folder / "samples.npy", self.samples)
        plain.save_npy(folder / "batch.npy", self.batch)
        self.pytorch = plain.Plain(make_network(network), self.batch, arguments.dtype, "cpu")
        self.expected = plain.Plain(make_network(network), self.batch, "fp32", "cpu").out
        self.errors = {"pytorch": plain.relative_difference(self.pytorch.out.float(), self.expected)}
        self.load(network)

    def load(self, network):
        weights, model = self.folder / "weights.pth", self.folder / "network.onnx"
        torch.save(make_network(network).state_dict(), weights)
        export = ["networks", "--network", network, "--weights", weights, "--export", model]
        subprocess.run([self.arguments.build / "patchbench", *export], check=True, stdout=subprocess.DEVNULL)
        for name, (process, dtype) in self.sides.native.items():
            process.ask("load", network, weights, dtype, self.folder / "samples.npy", plain.SIGMA)
            self.compare(name, process, self.samples.shape, (0, 3, 1, 2))
        for name, process in self.sides.frameworks.items():
            process.ask("load", model, self.folder / "batch.npy")
            self.compare(name, process, self.expected.shape, (0, 1, 2, 3))

    def compare(self, name, process, shape, axes):
        process.ask("save", self.folder / "out.npy")
        out = plain.load_npy(self.folder / "out.npy", shape).permute(axes)
        self.errors[name] = plain.relative_difference(out, self.expected)

    def run(self):
        """Processor seconds of a call, a list for each side with a value a round."""
        seconds = {name: process.processor_seconds for name, (process, _) in self.sides.native.items()}
        if self.sides.has_pytorch:
            seconds["pytorch"] = self.pytorch.processor_seconds
        seconds |= {name: process.processor_seconds for name, process in self.sides.frameworks.items()}
        calls = {name: max(1, round(plain.PROCESSOR_ROUND_S / max(of_calls(1), 0.01)))
                 for name, of_calls in seconds.items()}
        times = {name: [] for name in seconds}
        for index in range(self.arguments.rounds):
            for name in list(seconds)[:: -1 if index % 2 else 1]:
                times[name].append(seconds[name](calls[name]) / calls[name])
        return times


def ratio_of(times, name):
    ratios = [other / ours for ours, other in zip(times["native"], times[name])]
    return {"median": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}


def difference_text(result, name):
    error, tolerance = result["errors"][name], plain.TOLERANCE[result["dtype"]]
    return f", difference to PyTorch in fp32 {error:.1e}" + ("  OUTPUTS DIFFER" if error > tolerance else "")


def lines_of(result):
    """One for native, and one for each other side with its ratio."""
    head = f"{result['network']:<7} batch {result['batch']}"
    seconds = {name: statistics.median(times) for name, times in result["seconds"].items()}
    yield f"{head} native       {seconds['native']:.3f} s a call{difference_text(result, 'native')}"
    for name, ratio in result["ratios"].items():
        yield (f"{head} {name:<12} {seconds[name]:.3f} s a call, ratio {ratio['median']:.2f} [{ratio['least']:.2f}, "
               f"{ratio['most']:.2f}]{difference_text(result, name)}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--batches", default="1,4")
    parser.add_argument("--frameworks", default="pytorch,onnxruntime,openvino,ncnn")
    parser.add_argument("--engines", type=pathlib.Path, default=HERE.parent / ".engines", help="their environments")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--edge", type=int, default=256, help="pixels; a multiple of 8")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="of each side")
    parser.add_argument("--out", type=pathlib.Path, help="JSON, written after every comparison")
    arguments = parser.parse_args()
    arguments.server = arguments.build / "benchmarks/forward_server"
    arguments.device, arguments.engine, arguments.winograd_tile, arguments.avx2 = "cpu", "native", 4, False
    return arguments


def main():
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    sides = Sides(arguments)
    results = []
    for network in arguments.networks.split(","):
        for batch in map(int, arguments.batches.split(",")):
            arguments.batch = batch
            with tempfile.TemporaryDirectory() as folder:
                comparison = Comparison(network, arguments, sides, pathlib.Path(folder))
                times = comparison.run()
            others = [name for name in times if name != "native"]
            results.append({"network": network, "dtype": arguments.dtype, "batch": batch, "window_px": arguments.edge, "seconds": times,
                            "errors": comparison.errors, "ratios": {name: ratio_of(times, name) for name in others}})
            print(*lines_of(results[-1]), sep="\n", flush=True)
            if arguments.out:
                arguments.out.write_text(json.dumps(results, indent=1))
    errors = [error for result in results for error in result["errors"].values()]
    sys.exit(1 if max(errors) > plain.TOLERANCE[arguments.dtype] else 0)


if __name__ == "__main__":
    main()
