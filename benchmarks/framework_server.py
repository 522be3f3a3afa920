#!/usr/bin/env python3
"""Runs forward calls of another framework when it is told to, as forward_server.cpp does of patchbench's engines: for
beside_frameworks.py. Networks are loaded by the adapters of docs/engines.md.

usage: framework_server.py ENGINE [--threads N] [--dtype fp32|bf16]      (ENGINE: of engines/adapters, or python:FILE)

Commands, one a line on stdin, each answered by one line on stdout (`error <what>` when it failed):
  load MODEL.onnx WINDOWS.npy   -> ready    windows (N, C, H, W), float32
  time CALLS                    -> seconds of that many forward calls
  save OUT.npy                  -> saved
"""

import argparse
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "engines"))
import worker  # noqa: E402


class Server:
    def __init__(self, engine, threads, dtype):
        worker.limit_threads(threads)
        self.adapter = worker.load_adapter(engine)
        self.options = {"threads": threads, "layout": "NCHW", "dtype": dtype, "device": "cpu"}
        self.call = self.windows = self.out = None

    def load(self, model, windows):
        import numpy

        self.call = self.adapter.load(model, self.options)
        self.windows = numpy.load(windows)
        n, _, height, width = self.windows.shape
        self.out = numpy.zeros((n, 3, height, width), numpy.float32)
        self.time(1)
        return "ready"

    def time(self, calls):
        seconds = 0
        for _ in range(int(calls)):
            seconds += worker.call_engine(self.adapter, self.call, self.windows, self.out)[0] / 1e9
        return f"{seconds:.9g}"

    def save(self, file):
        import numpy

        numpy.save(file, self.out)
        return "saved"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32")
    arguments = parser.parse_args()
    server = Server(arguments.engine, arguments.threads, arguments.dtype)
    commands = {"load": server.load, "time": server.time, "save": server.save}
    for line in sys.stdin:
        command, *words = line.split()
        try:
            print(commands[command](*words), flush=True)
        except Exception as error:
            print(f"error {worker.describe(error)}", flush=True)


if __name__ == "__main__":
    main()
