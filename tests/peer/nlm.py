"""nlm.py <nlm> <patchbench> <photos> [--table | --times]: the shipped weights against OpenCV's non-local means at its best
strength, on whole photographs, each on one core. At sigma 0.1 DnCNN is at least 2 dB better; DRUNet is better than both at
0.05 and 0.1, colour and gray. A test takes each photograph but the largest at one level, colour and gray. --table: PSNR of all
of them at four levels. --times: what they take at these levels, as multiples of non-local means: CPU time on one photograph,
in turns, the median of three rounds and their range.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ('retina.jpg', 'astronaut.png', 'coffee.png', 'chelsea.png')
TIMED = 'astronaut.png'
LARGEST = 'retina.jpg'        # non-local means takes a minute for it
LEVELS = (0.02, 0.05, 0.1, 0.2)
ROUNDS = 3
DNCNN_OVER_NLM_DB = 2.0       # colour, sigma 0.1
DRUNET_OVER_NLM_DB = 1.0
DRUNET_OVER_DNCNN_DB = 0.1


def checked(*command):
    result = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stdout + result.stderr)
    return result.stdout


def cpu_seconds(*command):
    """What a program took in all."""
    before = os.times()
    checked(*command)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def nlm(program, photo, sigma, kind, copy):
    """PSNR of the noisy photograph, PSNR and CPU seconds of non-local means, megapixels; saves the photograph as `copy`."""
    line = checked(program, photo, sigma, kind, copy)
    return tuple(map(float, re.fullmatch(r'noisy (\S+) nlm (\S+) seconds (\S+) mpx (\S+)\n', line).groups()))


def denoise(program, network, image, sigma, *more):
    return (program, 'denoise', image, image.with_name('out' + image.suffix), '--network', network, '--device', 'cpu',
            '--threads', '1', '--batch', '1', '--add-noise', sigma, *more)


def patchbench_db(program, network, copy, sigma):
    return float(re.search(r' PSNR \S+ -> (\S+) dB', checked(*denoise(program, network, copy, sigma))).group(1))


def compare(programs, photo, sigma, kind, folder):
    """Prints a row of the table. Returns whether the shipped weights reach what they must."""
    copy = folder / f'{photo.stem}.png'
    noisy, nlm_db, _, _ = nlm(programs[0], photo, sigma, kind, copy)
    drunet_db = patchbench_db(programs[1], 'drunet', copy, sigma)
    good = drunet_db >= nlm_db + DRUNET_OVER_NLM_DB or sigma not in (0.05, 0.1)
    dncnn_text = '-'
    if kind == 'colour':
        dncnn_db = patchbench_db(programs[1], 'dncnn', copy, sigma)
        dncnn_text = f'{dncnn_db:.2f}'
        good &= drunet_db >= dncnn_db + DRUNET_OVER_DNCNN_DB and (sigma != 0.1 or dncnn_db >= nlm_db + DNCNN_OVER_NLM_DB)
    print(f'| {kind} | {sigma} | {photo.stem} | {noisy:.2f} | {nlm_db:.2f} | {dncnn_text} | {drunet_db:.2f} '
          f'|{"" if good else " <- TOO LOW"}', flush=True)
    return good


def rows(table):
    """Kind, noise level and name of each row."""
    for kind in ('colour', 'gray'):
        for place, name in enumerate(NAMES):
            if not table and name == LARGEST:
                continue
            at = place if kind == 'colour' else place + 1
            for sigma in LEVELS if table else ((0.1, 0.05)[at % 2],):
                yield kind, sigma, name


def spread(multiples):
    return f'{statistics.median(multiples):.2f} ({min(multiples):.2f}-{max(multiples):.2f})' if multiples else '-'


def time_levels(programs, photo, kind, sigma, folder):
    """Prints a row of times. What a process takes for an image of 32 x 32 pixels, its start, is not counted."""
    channels = 3 if kind == 'colour' else 1
    tiny, copy = folder / 'tiny.raw', folder / f'{photo.stem}.png'
    tiny.write_bytes(bytes(i * 7 % 256 for i in range(32 * 32 * channels)))
    multiples, nlm_s_per_mpx = {'dncnn': [], 'drunet': []}, []
    for _ in range(ROUNDS):
        _, _, nlm_s, mpx = nlm(programs[0], photo, sigma, kind, copy)
        nlm_s_per_mpx.append(nlm_s / mpx)
        for network in ('dncnn', 'drunet') if kind == 'colour' else ('drunet',):
            start_s = cpu_seconds(*denoise(programs[1], network, tiny, sigma, '--raw', f'32x32x{channels}:u8'))
            all_s = cpu_seconds(*denoise(programs[1], network, copy, sigma))
            multiples[network].append((all_s - start_s) / nlm_s)
    print(f'| {kind} | {sigma} | {statistics.median(nlm_s_per_mpx):.2f} | {spread(multiples["dncnn"])} '
          f'| {spread(multiples["drunet"])} |', flush=True)


def main():
    programs, photos = sys.argv[1:3], Path(sys.argv[3]).resolve()
    if not (photos / NAMES[0]).exists():
        print(f'SKIPPED: no photographs in {photos}: run data/get_photos.sh')
        return 77
    with tempfile.TemporaryDirectory() as folder:
        if '--times' in sys.argv:
            print('| image | sigma | NLM s/Mpx | DnCNN / NLM | DRUNet / NLM |\n' + '|---' * 5 + '|')
            for kind in ('colour', 'gray'):
                for sigma in LEVELS:
                    time_levels(programs, photos / TIMED, kind, sigma, Path(folder))
            return 0
        print('| image | sigma | photograph | noisy | NLM dB | DnCNN dB | DRUNet dB |\n' + '|---' * 7 + '|')
        good = [compare(programs, photos / name, sigma, kind, Path(folder)) for kind, sigma, name in rows('--table' in sys.argv)]
    return 0 if all(good) else 1


if __name__ == '__main__':
    sys.exit(main())
