"""nlm.py <nlm> <patchbench> <photos> [--whole]: the trained DnCNN against OpenCV's non-local means at its best strength, on
photographs with noise of sigma 0.1: at least 2 dB better on each. By default centres of 256 pixels; --whole for all of them.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ('retina.jpg', 'astronaut.png', 'coffee.png', 'chelsea.png')
MARGIN_DB = 2.0


def nlm_psnr(nlm, photo, edge):
    line = subprocess.run([nlm, photo, str(edge)], check=True, capture_output=True, text=True).stdout
    return tuple(map(float, re.fullmatch(r'noisy (\S+) nlm (\S+)\n', line).groups()))


def dncnn_psnr(program, photo, edge, folder):
    study = folder / 'photo.yaml'
    crop = f'crop_height: {edge}, crop_width: {edge}, ' if edge else ''
    study.write_text(f'image: {{path: "{photo}", {crop}noise_sigma: 0.1}}\ndevice: cpu\npatch: 256\nbatch: 1\n'
                     'warmup.reps: 0\nstop.min_reps: 1\nforward_calls: 0\nverify.probes: 1\nverify.whole_max_mpx: 0\n')
    result = subprocess.run([program, 'run', study, '--out', folder / 'out'], check=True, capture_output=True, text=True)
    return float(re.search(r'^FOM \S+\.psnr_denoised_db (\S+) dB$', result.stdout, re.M).group(1))


def main():
    nlm, program, photos = sys.argv[1:4]
    whole = '--whole' in sys.argv
    if not (Path(photos) / NAMES[0]).exists():
        print(f'SKIPPED: no photographs in {photos}: run data/get_photos.sh')
        return 77
    failed = False
    print('| photograph | noisy | OpenCV NLM (best) | patchbench DnCNN | gain |\n|---|---|---|---|---|')
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            photo = Path(photos).resolve() / name
            noisy, best = nlm_psnr(nlm, photo, 0 if whole else 256)
            ours = dncnn_psnr(program, photo, 0 if whole else 256, Path(folder))
            failed |= ours < best + MARGIN_DB
            print(f'| {name} | {noisy:.2f} | {best:.2f} | {ours:.2f} | {ours - best:+.2f} dB |', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
