#!/usr/bin/env python3
"""patchbench's forward calls beside plain PyTorch in Python: same weights, same windows, same dtype, in turns.

usage: beside_pytorch.py FORWARD_SERVER [--device cuda|cpu] [--dtypes fp32,bf16] [--out results.json] ..

Both sides keep their batch on the device; a round times a few calls of one, then as many of the other, who goes first
alternates. `--device cpu --engine native --dtypes fp32` compares the engine native. PyTorch: inference mode, channels_last, cuDNN's autotuner, batch norm as layers. The ratio is PyTorch's
time / patchbench's of each round: above 1, patchbench is faster. Outputs are compared with PyTorch's in fp32 first; a
difference beyond the tolerance is a failure (exit code 1), a ratio below 1 is not. The difference of one window to
PyTorch in fp32 on the CPU is written down beside it.
"""

import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

if "--avx2" in sys.argv:  # read when torch is imported
    os.environ.update(ATEN_CPU_CAPABILITY="avx2", ONEDNN_MAX_CPU_ISA="AVX2")

import torch  # noqa: E402

from plain_networks import NETWORKS, make_network

SIGMA = 0.1
STORAGE = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
# max |difference| / max |output|, to PyTorch in fp32; on CUDA its own algorithms differ by about 1e-5
TOLERANCE = {"fp32": 3e-4, "tf32": 2e-2, "bf16": 1e-1, "fp16": 2e-2}
ROUND_S = 0.05  # of each side, at least
PROCESSOR_ROUND_S = 1.0  # the kernel counts processor time in steps of 10 ms


class Process:
    """Answers a line to a line, and computes."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer or answer.startswith("error"):
            raise RuntimeError(f"{self.process.args[0]}, {words[0]}: {answer or 'it ended'}")
        return answer

    def seconds(self, calls):
        return float(self.ask("time", calls))

    def processor_seconds(self, calls):
        before = self.processor_time()
        self.ask("time", calls)
        return self.processor_time() - before

    def processor_time(self):
        """Of all its threads; in ticks of 10 ms."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Server(Process):
    """patchbench's side: benchmarks/forward_server.cpp."""

    def __init__(self, arguments):
        options = ["--cuda"] if arguments.device == "cuda" else ["--threads", str(arguments.threads)]
        options += ["--engine", arguments.engine] + (["--avx2"] if arguments.avx2 else [])
        options += ["--winograd-tile", str(arguments.winograd_tile)]
        super().__init__([arguments.server, *options])


class Plain:
    """PyTorch's side."""

    def __init__(self, model, windows, dtype, device):
        self.device = device
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = dtype == "tf32"
        placement = {"device": device, "dtype": STORAGE[dtype], "memory_format": torch.channels_last}
        self.model = model.to(**placement)
        self.batch = windows.to(**placement)
        for _ in range(3):
            self.out = self.call()
        self.wait()

    @torch.inference_mode()
    def call(self):
        return self.model(self.batch)

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def seconds(self, calls):
        if self.device != "cuda":
            return self.seconds_by(time.perf_counter, calls)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(calls):
            self.call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1000

    def processor_seconds(self, calls):
        return self.seconds_by(time.process_time, calls)

    def seconds_by(self, clock, calls):
        start = clock()
        for _ in range(calls):
            self.call()
        return clock() - start


def save_npy(file, tensor):
    """f32, row-major, format version 1.0; numpy itself need not be there."""
    shape = "".join(f"{extent}," for extent in tensor.shape)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape})}}"
    header = header.ljust((len(header) + 10 + 1 + 63) // 64 * 64 - 11) + "\n"
    values = tensor.contiguous()
    content = ctypes.string_at(values.data_ptr(), values.numel() * 4)
    file.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + content)


def load_npy(file, shape):
    content = bytearray(file.read_bytes())
    return torch.frombuffer(content, dtype=torch.float32, offset=10 + content[8] + 256 * content[9]).reshape(shape)


def relative_difference(a, b):
    difference = (a - b).abs().max() / b.abs().max()
    return difference.item() if torch.isfinite(a).all() else float("inf")


def make_windows(network, arguments):
    """(N, H, W, 3) for patchbench, and PyTorch's NCHW with the map of sigma where the network takes one."""
    generator = torch.Generator().manual_seed(2)
    samples = torch.rand(arguments.batch, arguments.edge, arguments.edge, 3, generator=generator)
    batch = samples.permute(0, 3, 1, 2)
    if network == "drunet":
        batch = torch.cat((batch, torch.full_like(batch[:, :1], SIGMA)), 1)
    return samples, batch.contiguous()


class Comparison:
    """One network; a file each for its weights and its windows."""

    def __init__(self, network, server, arguments, folder):
        self.network, self.server, self.arguments, self.folder = network, server, arguments, folder
        torch.save(make_network(network).state_dict(), folder / "weights.pth")
        self.samples, self.batch = make_windows(network, arguments)
        save_npy(folder / "windows.npy", self.samples)
        self.expected = self.plain("fp32").out.float().cpu()
        with torch.inference_mode():
            self.on_cpu = make_network(network)(self.batch[:1])  # one window: a CPU takes its time

    def plain(self, dtype):
        return Plain(make_network(self.network), self.batch, dtype, self.arguments.device)

    def run(self, dtype):
        plain = self.plain(dtype)
        out = self.folder / "out.npy"
        self.server.ask("load", self.network, self.folder / "weights.pth", dtype, self.folder / "windows.npy", SIGMA)
        self.server.ask("save", out)
        ours = load_npy(out, self.samples.shape).permute(0, 3, 1, 2)
        result = {
            "network": self.network,
            "dtype": dtype,
            "batch": self.arguments.batch,
            "window_px": self.arguments.edge,
            "error_patchbench": relative_difference(ours, self.expected),
            "error_pytorch": relative_difference(plain.out.float().cpu(), self.expected),
            "error_to_cpu": relative_difference(ours[:1], self.on_cpu),
            "tolerance": TOLERANCE[dtype],
        }
        result["equal"] = result["error_patchbench"] <= TOLERANCE[dtype]
        return result | self.timings(plain)

    def timings(self, plain):
        sides = {"patchbench": self.server.seconds, "pytorch": plain.seconds}
        round_s = ROUND_S
        if self.arguments.processor_time:
            sides = {"patchbench": self.server.processor_seconds, "pytorch": plain.processor_seconds}
            round_s = PROCESSOR_ROUND_S
        slowest = max(seconds(2) / 2 for seconds in sides.values())
        calls = max(1, round(round_s / slowest))
        samples = {name: [] for name in sides}
        for index in range(self.arguments.rounds):
            for name in sorted(sides, reverse=index % 2 == 1):
                samples[name].append(sides[name](calls) / calls)
        ratios = sorted(theirs / ours for ours, theirs in zip(samples["patchbench"], samples["pytorch"]))
        return {
            "calls_per_round": calls,
            "patchbench_s": samples["patchbench"],
            "pytorch_s": samples["pytorch"],
            "ratio": statistics.median(ratios),
            "ratio_min": ratios[0],
            "ratio_max": ratios[-1],
        }


def line(result):
    windows_per_s = [result["batch"] / statistics.median(result[key]) for key in ("patchbench_s", "pytorch_s")]
    return (
        f"{result['network']:<7} {result['dtype']:<5} windows/s: patchbench {windows_per_s[0]:.4g}, "
        f"PyTorch {windows_per_s[1]:.4g}; ratio {result['ratio']:.3f} [{result['ratio_min']:.3f}, "
        f"{result['ratio_max']:.3f}]; error {result['error_patchbench']:.1e} (PyTorch {result['error_pytorch']:.1e})"
        f"{'' if result['equal'] else '  OUTPUTS DIFFER'}"
    )


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", help="the program forward_server")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--dtypes", default="fp32,tf32,bf16,fp16")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--edge", type=int, default=320, help="pixels; a multiple of 8")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1, help="of both sides, on the CPU")
    parser.add_argument("--engine", choices=("torch", "native"), default="torch", help="patchbench's")
    parser.add_argument("--winograd-tile", type=int, choices=(2, 4), default=4, help="of the engine native")
    parser.add_argument("--avx2", action="store_true", help="both sides on the CPU without AVX-512")
    parser.add_argument("--processor-time", action="store_true", help="on a busy CPU: count that instead of the clock's")
    parser.add_argument("--out", type=pathlib.Path, help="JSON, written after every comparison")
    return parser.parse_args()


def compare_all(arguments, folder):
    """(results, failures)"""
    server = Server(arguments)
    results, failures = [], []
    for network in arguments.networks.split(","):
        comparison = Comparison(network, server, arguments, folder)
        for dtype in arguments.dtypes.split(","):
            try:
                results.append(comparison.run(dtype))
            except RuntimeError as error:  # torch's out of memory is one, too
                failures.append(f"{network} {dtype}: {error}")
                print(failures[-1], flush=True)
                continue
            print(line(results[-1]), flush=True)
            if arguments.out:
                part = arguments.out.with_suffix(".part")
                part.write_text(json.dumps(results, indent=1))
                os.replace(part, arguments.out)
    return results, failures


def main():
    arguments = parse_arguments()
    torch.backends.cudnn.benchmark = True
    if arguments.device == "cpu":
        torch.set_num_threads(arguments.threads)
    print(f"PyTorch {torch.__version__} in Python {sys.version.split()[0]}, {arguments.device}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        results, failures = compare_all(arguments, pathlib.Path(folder))
    sys.exit(1 if failures or not all(result["equal"] for result in results) else 0)


if __name__ == "__main__":
    main()
