"""nlm.py <nlm> <patchbench> <photos> [--table]: the shipped weights against OpenCV's non-local means at its best strength, on
whole photographs, each on one core. At sigma 0.1 DnCNN is at least 2 dB better; DRUNet is better than both at 0.05 and 0.1,
colour and gray. A test takes each photograph at one level, colour and gray. --table: all of them at four levels, and the
times of the fastest of three runs.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ('retina.jpg', 'astronaut.png', 'coffee.png', 'chelsea.png')
DNCNN_OVER_NLM_DB = 2.0       # colour, sigma 0.1
DRUNET_OVER_NLM_DB = 1.0
DRUNET_OVER_DNCNN_DB = 0.1


def checked(*command):
    result = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stdout + result.stderr)
    return result.stdout


def nlm(program, photo, sigma, kind, copy):
    """PSNR of the noisy photograph, PSNR and seconds of non-local means; saves the photograph as `copy`."""
    line = checked(program, photo, sigma, kind, copy)
    return tuple(map(float, re.fullmatch(r'noisy (\S+) nlm (\S+) seconds (\S+)\n', line).groups()))


def patchbench(program, network, copy, sigma, runs):
    """PSNR, and seconds of the fastest run."""
    results = []
    for _ in range(runs):
        line = checked(program, 'denoise', copy, copy.with_name('out.png'), '--network', network, '--device', 'cpu',
                       '--threads', '1', '--batch', '1', '--add-noise', sigma)
        results.append(tuple(map(float, re.search(r': (\S+) s, .* PSNR \S+ -> (\S+) dB', line).groups())))
    return results[0][1], min(seconds for seconds, _ in results)


def compare(programs, photo, sigma, kind, runs, folder):
    """Prints a row of the table. Returns whether the shipped weights reach what they must."""
    copy = folder / f'{photo.stem}.png'
    noisy, nlm_db, nlm_s = nlm(programs[0], photo, sigma, kind, copy)
    drunet_db, drunet_s = patchbench(programs[1], 'drunet', copy, sigma, runs)
    good = drunet_db >= nlm_db + DRUNET_OVER_NLM_DB or sigma not in (0.05, 0.1)
    dncnn_text = '- | -'
    if kind == 'colour':
        dncnn_db, dncnn_s = patchbench(programs[1], 'dncnn', copy, sigma, runs)
        dncnn_text = f'{dncnn_db:.2f} | {dncnn_s:.2f}'
        good &= drunet_db >= dncnn_db + DRUNET_OVER_DNCNN_DB and (sigma != 0.1 or dncnn_db >= nlm_db + DNCNN_OVER_NLM_DB)
    print(f'| {kind} | {sigma} | {photo.stem} | {noisy:.2f} | {nlm_db:.2f} | {nlm_s:.2f} | {dncnn_text} | {drunet_db:.2f} '
          f'| {drunet_s:.2f} |{"" if good else " <- TOO LOW"}', flush=True)
    return good


def rows(table):
    """Kind, noise level and name of each row."""
    for kind in ('colour', 'gray'):
        for place, name in enumerate(NAMES):
            at = place if kind == 'colour' else place + 1
            for sigma in (0.02, 0.05, 0.1, 0.2) if table else ((0.1, 0.05)[at % 2],):
                yield kind, sigma, name


def main():
    programs, photos, table = sys.argv[1:3], Path(sys.argv[3]).resolve(), '--table' in sys.argv
    if not (photos / NAMES[0]).exists():
        print(f'SKIPPED: no photographs in {photos}: run data/get_photos.sh')
        return 77
    print('| image | sigma | photograph | noisy | NLM dB | s | DnCNN dB | s | DRUNet dB | s |\n' + '|---' * 10 + '|')
    with tempfile.TemporaryDirectory() as folder:
        good = [compare(programs, photos / name, sigma, kind, 3 if table else 1, Path(folder))
                for kind, sigma, name in rows(table)]
    return 0 if all(good) else 1


if __name__ == '__main__':
    sys.exit(main())
