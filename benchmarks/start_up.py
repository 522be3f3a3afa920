#!/usr/bin/env python3
"""What a short command costs: processor seconds of patchbench in turns with another build of it, e.g. that of an earlier commit.

usage: benchmarks/start_up.py build/patchbench [--beside OTHER/patchbench] [--rounds N]
Prints the median of each command, and with --beside the ratio of each round as median [smallest, largest].
"""

import argparse
import os
import pathlib
import resource
import statistics
import struct
import subprocess
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[1]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
EDGE = 320  # 0.1 megapixel


def commands(folder):
    image = folder / "noisy.bmp"
    pixels = 3 * EDGE * EDGE
    header = struct.pack("<2sIHHI IiiHHIIiiII", b"BM", 54 + pixels, 0, 0, 54, 40, EDGE, EDGE, 1, 24, 0, pixels, 0, 0, 0, 0)
    image.write_bytes(header + os.urandom(pixels))
    denoise = ["denoise", image, folder / "denoised.bmp", "--sigma", "0.2", "--threads", "1"]
    return {"--help": ["--help"], "plan": ["plan", PROJECT / "configs/quickstart.yaml"],
            "denoise, 0.1 megapixel, --verify none": denoise + ["--verify", "none"], "denoise, 0.1 megapixel": denoise}


def processor_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run([str(word) for word in command], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {result.stderr}{result.stdout}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patchbench")
    parser.add_argument("--beside", metavar="OTHER")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    programs = [program for program in (arguments.patchbench, arguments.beside) if program]
    with tempfile.TemporaryDirectory() as folder:
        for name, options in commands(pathlib.Path(folder)).items():
            seconds = {program: [] for program in programs}
            for index in range(arguments.rounds):
                for program in programs if index % 2 else reversed(programs):
                    seconds[program].append(processor_seconds([program, *options]))
            line = f"{name:40} {statistics.median(seconds[programs[0]]):.2f} s"
            if arguments.beside:
                ratios = [own / other for own, other in zip(*seconds.values())]
                line += (f", beside {statistics.median(seconds[programs[1]]):.2f} s: "
                         f"{statistics.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]")
            print(line, flush=True)


if __name__ == "__main__":
    main()
