#!/usr/bin/env python3
"""What the verification of `denoise` takes beside the network, by default and for tiles with an exact halo.

usage: benchmarks/verify_share.py build/patchbench [--beside OTHER/patchbench] [--networks dncnn,drunet]
           [--ways default,exact] [--height 1184] [--width 1712] [--seed-weights] [--rounds N]
The seconds of both stages are those of the closing line of one process, so that a busy machine slows down both. Prints
their medians, and the share of each round as median [smallest, largest]; with --beside those of another build, in turns.
--seed-weights: untrained weights of the full networks in place of the default ones, of which DRUNet is a small relative.
"""

import argparse
import os
import pathlib
import re
import statistics
import struct
import subprocess
import tempfile

ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
WAYS = {"default": [], "torch": ["--engine", "torch"], "exact": ["--patch", "256", "--halo", "exact"],
        "halo-8": ["--patch", "256", "--halo", "8"]}
STAGES = re.compile(r"network ([0-9.]+) s, verification ([0-9.]+) s")


def write_image(file, height, width):
    row = (3 * width + 3) // 4 * 4
    header = struct.pack("<2sIHHI IiiHHIIiiII", b"BM", 54 + row * height, 0, 0, 54, 40, width, height, 1, 24, 0, row * height,
                         0, 0, 0, 0)
    file.write_bytes(header + os.urandom(row * height))


def stages(program, options):
    """Seconds of network and verification."""
    command = [program, "denoise", "--no-cache", *options]
    result = subprocess.run([str(word) for word in command], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    found = STAGES.search(result.stdout)
    if result.returncode != 0 or not found:
        raise SystemExit(f"{' '.join(map(str, command))}: {result.stderr}{result.stdout}")
    return float(found[1]), float(found[2])


def text_of(runs):
    shares = [100 * verification / network for network, verification in runs]
    network_s, verification_s = (statistics.median(column) for column in zip(*runs))
    return (f"network {network_s:.2f} s, verification {verification_s:.2f} s: "
            f"{statistics.median(shares):.1f} % [{min(shares):.1f}, {max(shares):.1f}]")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patchbench")
    parser.add_argument("--beside", metavar="OTHER")
    parser.add_argument("--networks", default="dncnn,drunet")
    parser.add_argument("--ways", default="default,exact", help="joined by commas: " + ", ".join(WAYS))
    parser.add_argument("--height", type=int, default=1184)
    parser.add_argument("--width", type=int, default=1712)
    parser.add_argument("--seed-weights", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    programs = [program for program in (arguments.patchbench, arguments.beside) if program]
    ways = {name: WAYS[name] for name in arguments.ways.split(",")}
    with tempfile.TemporaryDirectory() as folder:
        image = pathlib.Path(folder) / "noisy.bmp"
        write_image(image, arguments.height, arguments.width)
        weights = ["--weights", "seed:1", "--allow-untrained"] if arguments.seed_weights else []
        for network in arguments.networks.split(","):
            for way, options in ways.items():
                runs = {program: [] for program in programs}
                for index in range(arguments.rounds):
                    for program in programs if index % 2 else reversed(programs):
                        runs[program].append(stages(program, [image, image.with_name("denoised.bmp"), "--sigma", "0.2",
                                                              "--network", network, *weights, *options]))
                for program in programs:
                    print(f"{network}, {way}: {program}: {text_of(runs[program])}", flush=True)


if __name__ == "__main__":
    main()
