"""golden.py RUN_NETWORK FILE [--update]: the outputs that tests/engine/golden_outputs_test.cpp expects, against deepinv

FILE holds a line for each network and number of channels: mean, root mean square and samples of its output. Here the
same seeded weights go through deepinv's network in double precision: the file must say the same. --update writes it.
Then every block and every skip of deepinv's network is left out in turn: each must change the figures by far more than
the test allows.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch

import compare
import networks

SEED, HEIGHT, WIDTH, NUM_SAMPLES = 7, 32, 40, 16  # as in golden_outputs_test.cpp
ALLOWED = 2e-5  # there, of the largest sample
AGREES = 1e-6


def random_values(count, seed):
    """tests/support/denoise_batch.hpp"""
    mask = 2**64 - 1
    state = (seed * 0x9E3779B97F4A7C15 + 1) & mask
    values = []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) & mask
        values.append((state >> 40) / 2**24)
    return values


def read_safetensors(file):
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, values = json.loads(content[8:8 + length]), content[8 + length:]
    header.pop("__metadata__", None)
    tensors = {}
    for key, entry in header.items():
        begin, end = entry["data_offsets"]
        array = numpy.frombuffer(values[begin:end], "<f4").reshape(entry["shape"])
        tensors[key] = torch.from_numpy(array.copy())
    return tensors


def seeded_model(program, network, channels):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "weights.safetensors"
        subprocess.run([program, "--network", network, "--weights", f"seed:{SEED}", "--channels", str(channels),
                        "--save", file], check=True)
        state = read_safetensors(file)
    model = networks.MAKERS[network](channels)
    missing, surplus = model.load_state_dict(state, strict=False)
    if surplus or any(not key.endswith("num_batches_tracked") for key in missing):
        sys.exit(f"FAILED: {network}: the seeded weights lack {missing} and have {surplus} besides")
    return model.double().eval()


def figures(output):
    values = output[0].flatten()  # channels, rows, columns
    places = [i * (len(values) - 1) // (NUM_SAMPLES - 1) for i in range(NUM_SAMPLES)]
    return [values.mean().item(), values.square().mean().sqrt().item(), *(values[i].item() for i in places)]


def difference(ours, theirs):
    return max(abs(a - b) for a, b in zip(ours, theirs)) / max(map(abs, theirs[2:]))


def left_out(network, model, image):
    """(what is left out, figures without it)"""
    for name in compare.modules_without(model):
        if not isinstance(model.get_submodule(name).block, torch.nn.BatchNorm2d):  # folded, so it changes nothing
            yield name, figures(model(image, compare.SIGMA))
    if network in compare.SKIPS:
        for skip in range(compare.NUM_SKIPS[network]):
            yield f"skip {skip}", figures(compare.SKIPS[network](model, skip, image))
    else:
        yield "the residual", figures(model(image, compare.SIGMA) - image)
    if network in compare.TAKE_SIGMA:
        yield "sigma / 255", figures(model(image, compare.SIGMA / 255))


def check_that_all_show(network, model, image, exact):
    least, what = min((difference(without, exact), what) for what, without in left_out(network, model, image))
    print(f"  left out one by one; the least that showed: {what} ({least:.1e}, allowed {ALLOWED:.0e})")
    if not least >= 50 * ALLOWED:
        sys.exit(f"FAILED: {network}: without {what} the figures change by {least:.1e} only: the test cannot see it")


@torch.inference_mode()
def main(program, file, *options):
    torch.set_num_threads(1)
    lines = []
    for network in networks.MAKERS:
        for channels in (3, 1):
            model = seeded_model(program, network, channels)
            pixels = torch.tensor(random_values(HEIGHT * WIDTH * channels, SEED), dtype=torch.float64)
            image = pixels.reshape(1, HEIGHT, WIDTH, channels).permute(0, 3, 1, 2).contiguous()
            exact = figures(model(image, float(numpy.float32(compare.SIGMA))))
            lines.append(" ".join([network, str(channels), *(f"{value:.9g}" for value in exact)]))
            print(f"{network}, {channels} channels: mean {exact[0]:.6g}, root mean square {exact[1]:.6g}")
            if channels == 3:
                check_that_all_show(network, model.float(), image.float(), exact)
    if "--update" in options:
        pathlib.Path(file).write_text("\n".join(lines) + "\n")
    for mine, theirs in zip(pathlib.Path(file).read_text().splitlines(), lines, strict=True):
        ours, exact = mine.split(), theirs.split()
        worst = difference([*map(float, ours[2:])], [*map(float, exact[2:])])
        if ours[:2] != exact[:2] or not worst <= AGREES:
            sys.exit(f"FAILED: {file} says\n{mine}\ndeepinv\n{theirs}\n({worst:.1e})")
    print(f"{file} agrees with deepinv to {AGREES:.0e}")


if __name__ == "__main__":
    main(*sys.argv[1:])
