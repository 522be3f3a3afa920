"""nlm.py <nlm> <patchbench> <photos>: the trained DnCNN against OpenCV's non-local means at its best strength, on whole
photographs with noise of sigma 0.1: at least 2 dB better on each.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ('retina.jpg', 'astronaut.png', 'coffee.png', 'chelsea.png')
MARGIN_DB = 2.0


def nlm_psnr(nlm, photo):
    line = subprocess.run([nlm, photo], check=True, capture_output=True, text=True).stdout
    return tuple(map(float, re.fullmatch(r'noisy (\S+) nlm (\S+)\n', line).groups()))


def dncnn_psnr(program, photo, folder):
    result = subprocess.run([program, 'denoise', photo, folder / photo.name, '--device', 'cpu', '--add-noise', '0.1',
                             '--halo', 'exact', '--batch', '1', '--verify', '1'], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stdout + result.stderr)
    return float(re.search(r'PSNR \S+ -> (\S+) dB', result.stdout).group(1))


def main():
    nlm, program, photos = sys.argv[1:4]
    if not (Path(photos) / NAMES[0]).exists():
        print(f'SKIPPED: no photographs in {photos}: run data/get_photos.sh')
        return 77
    failed = False
    print('| photograph | noisy | OpenCV NLM (best) | patchbench DnCNN | gain |\n|---|---|---|---|---|')
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            photo = Path(photos).resolve() / name
            noisy, best = nlm_psnr(nlm, photo)
            ours = dncnn_psnr(program, photo, Path(folder))
            failed |= ours < best + MARGIN_DB
            print(f'| {name} | {noisy:.2f} | {best:.2f} | {ours:.2f} | {ours - best:+.2f} dB |', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
