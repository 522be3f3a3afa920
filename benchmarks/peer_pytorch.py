"""The same windows through patchbench's engine and through plain PyTorch in Python, in turns, on the CPU.

    tests/peer/setup.sh; tests/peer/run.sh benchmarks/peer_pytorch.py build/tests/run_network [--network drunet] ..

Same weights, element type (fp32), memory format (channels_last) and number of threads. Prints seconds of both and
PyTorch / patchbench (above 1: patchbench is faster) as median and quartiles of the rounds.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "peer"))
import networks  # noqa: E402: found through the line above


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the built run_network")
    parser.add_argument("--network", choices=networks.MAKERS, default="dncnn")
    parser.add_argument("--window", type=int, default=128, help="edge of a window in pixels")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=11)
    return parser.parse_args()


def start_ours(options, model, windows, folder):
    torch.save(model.state_dict(), folder / "weights.pth")
    numpy.save(folder / "in.npy", windows.permute(0, 2, 3, 1).contiguous().numpy())
    command = [options.program, "--network", options.network, "--threads", options.threads, "--on-request"]
    files = ["--weights", folder / "weights.pth", "--in", folder / "in.npy"]
    return subprocess.Popen(list(map(str, command + files)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def time_ours(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def time_theirs(model, windows):
    start = time.perf_counter()
    model(windows, 0.1)
    return time.perf_counter() - start


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


@torch.inference_mode()
def main():
    options = arguments()
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    model = networks.MAKERS[options.network](3).to(memory_format=torch.channels_last)
    windows = torch.rand(options.batch, 3, options.window, options.window).to(memory_format=torch.channels_last)
    with tempfile.TemporaryDirectory() as folder:
        process = start_ours(options, model, windows, pathlib.Path(folder))
        ours, theirs = [], []
        for index in range(-2, options.rounds):  # negative: warm-up
            pair = time_ours(process), time_theirs(model, windows)
            if index >= 0:
                ours.append(pair[0])
                theirs.append(pair[1])
        process.stdin.close()
        process.wait()
    print(f"{options.network}, {options.batch} windows of {options.window}, fp32, {options.threads} threads, "
          f"{options.rounds} rounds: median (quartiles)")
    print(f"patchbench           {quartiles(ours)} s")
    print(f"PyTorch in Python    {quartiles(theirs)} s")
    print(f"PyTorch / patchbench {quartiles([b / a for a, b in zip(ours, theirs)])}")


if __name__ == "__main__":
    main()
