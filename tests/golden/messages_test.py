"""The messages of the program, word for word: messages.txt.

usage: messages_test.py PATCHBENCH RESULTS_JSONL [--update] [--only REGEX]
messages.txt is a transcript. A line that starts with '$' is a command for bash. What it prints follows: standard output
after '>', standard error after '!', and its exit code in brackets unless it is 0. Every other line is a comment. --update
runs the commands and rewrites what follows each: read the difference before it is committed.

Each command has a folder of its own with the files of `make_inputs`. Names of folders and of the host, versions and times
of day are replaced. All else must be the same on every machine: no message depends on cores, memory or weights that were
fetched, and no GPU is visible.
"""
import argparse
import concurrent.futures
import difflib
import json
import math
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'e2e'))
import program  # noqa: E402

PROGRAM, REPOSITORY = Path(program.PROGRAM), program.REPOSITORY
TRANSCRIPT = HERE / 'messages.txt'
NUM_AT_ONCE = 2
TIMEOUT_S = 100  # of one command

STUDY = """\
name: tiny
weights: seed:1
device: cpu
threads: 1
bounds: off
save_images: false
patch: 32
halo: 8
batch: 1
forward_calls: 0
warmup.reps: 0
stop: {min_reps: 2, max_time_s: 0}
image: {height: 64, width: 48}
"""


class Case:
    def __init__(self, command):
        self.command = command
        self.expected = []  # lines of the transcript


def read_transcript(text):
    """Comments (strings) and cases, in their order."""
    parts = []
    for line in text.splitlines():
        if line.startswith('$ '):
            parts.append(Case(line[2:]))
        elif parts and isinstance(parts[-1], Case) and re.match(r'[>!]( |$)|\[\d+\]$', line):
            parts[-1].expected.append(line)
        else:
            parts.append(line)
    return parts


def write_transcript(parts, printed):
    lines = []
    for part in parts:
        lines += [f'$ {part.command}', *printed[part]] if isinstance(part, Case) else [part]
    return ''.join(line + '\n' for line in lines)


def tiff(*extents):
    """A stack of gray 8-bit pages of these heights and widths, with a description."""
    content = b'II*\0' + struct.pack('<I', 8)
    text = b'ImageJ=1.54f\nimages=3\n\0'
    for number, (height, width) in enumerate(extents):
        begin = len(content)
        pixels = begin + 2 + 9 * 12 + 4
        entries = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1),
                   (270, 2, len(text), pixels + height * width), (273, 4, 1, pixels), (278, 4, 1, height), (279, 4, 1, height * width)]
        after = bytes((x * 3 + y * 5 + number * 20) % 256 for y in range(height) for x in range(width)) + text
        after += bytes(len(after) % 2)
        following = 0 if number + 1 == len(extents) else pixels + len(after)
        content += struct.pack('<H', 9) + b''.join(struct.pack('<HHII', *entry) for entry in entries) + struct.pack('<I', following) + after
    return content


def make_models(folder):
    """The model cards, and of the weights those that the repository holds: others may be there or not."""
    folder.mkdir()
    for card in (REPOSITORY / 'models').glob('*.yaml'):
        shutil.copy(card, folder)
    for weights in (REPOSITORY / 'models').glob('*.safetensors'):
        (folder / weights.name).symlink_to(weights)


def make_inputs(folder, results):
    """What the commands find in their folder."""
    (folder / 'tiny.yaml').write_text(STUDY)
    (folder / 'photo.png').write_bytes(program.png(48, 40, 3))
    (folder / 'gray.png').write_bytes(program.png(48, 40, 1))
    (folder / 'text.png').write_text('no image\n')
    (folder / 'raw').write_bytes(bytes(6000))
    (folder / 'wide.npy').write_bytes(program.npy([i % 1000 for i in range(40 * 48)], (40, 48), '<f4'))
    (folder / 'nan.npy').write_bytes(program.npy([0.5] * 100 + [math.nan] + [0.5] * (40 * 48 - 101), (40, 48), '<f4'))
    (folder / 'planes.npy').write_bytes(program.npy([0.5] * (5 * 40 * 48), (5, 40, 48), '<f4'))
    (folder / 'stack.tif').write_bytes(tiff((40, 48), (40, 48), (40, 48)))
    (folder / 'unequal.tif').write_bytes(tiff((40, 48), (48, 40)))
    (folder / 'text.safetensors').write_text('<html>404 Not Found</html>\n')
    make_models(folder / 'models')
    shutil.copy(results, folder / 'results.jsonl')
    lines = results.read_text().splitlines(keepends=True)
    point = next(i for i, line in enumerate(lines) if json.loads(line)['type'] == 'point')
    (folder / 'damaged.jsonl').write_text(''.join(lines[:point]) + lines[point].replace('"label"', '"lable"', 1))


def normalised(text, folder):
    for path, name in ((folder, 'FOLDER'), (folder.parent, 'ABOVE'), (PROGRAM.parent, 'BUILD'), (REPOSITORY, 'REPOSITORY')):
        text = text.replace(str(path), name)
    text = text.replace('@' + socket.gethostname(), '@HOST')
    text = re.sub(r'(?<![\w:])\d+:\d\d(:\d\d)?(?![\w:])', 'TIME', text)
    # What denoise says every half minute, on a busy machine.
    text = re.sub(r'(?m)^patchbench: [\w.]+: (reading|preparation|verification|writing)\n', '', text)
    return re.sub(r'patchbench \d+\.\d+\.\d+( \(git [^)]*\))?', 'patchbench VERSION', text)


def lines_printed(case, inputs):
    """What a command prints, as lines of the transcript."""
    with tempfile.TemporaryDirectory(prefix='patchbench-golden-') as temporary:
        folder = Path(temporary) / 'work'
        shutil.copytree(inputs, folder, symlinks=True)
        environment = {**os.environ, 'PATH': f'{PROGRAM.parent}:{os.environ["PATH"]}', 'OMP_NUM_THREADS': '1',
                       'PATCHBENCH_MODELS': str(folder / 'models'), 'CUDA_VISIBLE_DEVICES': '', 'LC_ALL': 'C', 'COLUMNS': '80',
                       'OMPI_MCA_pml': 'ob1', 'OMPI_MCA_btl': 'self,vader',  # no word on networks of the machine
                       'OMPI_MCA_orte_tmpdir_base': temporary}  # else who ends takes the folder from who starts
        result = subprocess.run(['bash', '-o', 'pipefail', '-c', case.command], cwd=folder, env=environment,
                                capture_output=True, text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)
        lines = [f'> {line}'.rstrip() for line in normalised(result.stdout, folder).splitlines()]
        lines += [f'! {line}'.rstrip() for line in normalised(result.stderr, folder).splitlines()]
        lines += [f'[{result.returncode}]'] * (result.returncode != 0)
        return lines


def run_all(cases, results):
    """Lines of each case."""
    with tempfile.TemporaryDirectory(prefix='patchbench-golden-') as temporary:
        make_inputs(Path(temporary), results)
        with concurrent.futures.ThreadPoolExecutor(NUM_AT_ONCE) as pool:
            return dict(zip(cases, pool.map(lambda case: lines_printed(case, temporary), cases)))


def main(arguments):
    before = TRANSCRIPT.read_text()
    parts = read_transcript(before)
    cases = [part for part in parts if isinstance(part, Case)]
    chosen = [case for case in cases if re.search(arguments.only, case.command)]
    printed = {**{case: case.expected for case in cases}, **run_all(chosen, arguments.results)}
    after = write_transcript(parts, printed)
    sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), after.splitlines(True), 'messages.txt', 'printed'))
    changed = sum(printed[case] != case.expected for case in chosen)
    print(f'{len(chosen)} commands, {changed} print something else than messages.txt')
    if arguments.update:
        TRANSCRIPT.write_text(after)
    elif before != after:
        print('if the change is meant, run this test with --update')
    return int(before != after and not arguments.update)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program', type=Path)
    parser.add_argument('results', type=Path)
    parser.add_argument('--update', action='store_true')
    parser.add_argument('--only', default='', help='commands that match')
    sys.exit(main(parser.parse_args()))
