"""Runs patchbench for the tests: `python3 some_test.py <patchbench> <mpirun and its options>`."""
import json
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib
from pathlib import Path

PROGRAM = str(Path(sys.argv[1]).resolve())
MPIRUN = sys.argv[2:]
REPOSITORY = Path(__file__).resolve().parents[2]
CODES = {'|u1': 'B', '<u2': 'H', '<u4': 'I', '<i2': 'h', '<f2': 'e', '<f4': 'f', '<f8': 'd'}  # of the types of .npy for struct


def command(*arguments, ranks=0, before=()):
    """Words that start the program, alone (ranks=0) or under mpirun; on each rank behind those of `before`."""
    launcher = [*MPIRUN, '-n', str(ranks)] if ranks else []
    return [*launcher, *before, PROGRAM, *map(str, arguments)]


def run(*arguments, ranks=0, before=(), code=None, cwd=None, env=None, timeout=200):
    """CompletedProcess of the program, started by `command`. Its exit code must be `code` (None: any)."""
    words = command(*arguments, ranks=ranks, before=before)
    return ended(subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout), code)


def ended(result, code):
    """`result`, whose exit code must be `code` (None: any)."""
    if code not in (None, result.returncode):
        words = shlex.join(map(str, result.args))
        raise AssertionError(f'exit code {result.returncode}, not {code}, of {words}: {result.stderr}{result.stdout}')
    return result


def wait_until(condition, what, within_s=60):
    """What `condition` returns once that is true. If it never is, the failure says that there was no `what`."""
    deadline = time.monotonic() + within_s
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f'no {what} within {within_s} s')
        time.sleep(0.05)
    return found


def lines(folder):
    """Of results.jsonl in the folder of a study."""
    return [json.loads(line) for line in (folder / 'results.jsonl').read_text().splitlines()]


def points(folder):
    """Those that are finished: none before results.jsonl is begun, and not one whose line is being written."""
    file = folder / 'results.jsonl'
    finished = file.read_text().split('\n')[:-1] if file.exists() else []
    return [line for line in map(json.loads, finished) if line['type'] == 'point']


def png(width, height, channels=3, value=lambda x, y, c: (x * 3 + y * 5 + c * 40) % 256):
    """Bytes of an 8-bit PNG: gray, RGB or RGBA."""
    colour = {1: 0, 3: 2, 4: 6}[channels]
    rows = b''.join(b'\0' + bytes(value(x, y, c) for x in range(width) for c in range(channels)) for y in range(height))

    def chunk(kind, content):
        return struct.pack('>I', len(content)) + kind + content + struct.pack('>I', zlib.crc32(kind + content))

    header = struct.pack('>IIBBBBB', width, height, 8, colour, 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')


def safetensors(tensors):
    """A file of tensors: {name: (shape, values in their order)}."""
    header, data = {}, b''
    for name, (shape, values) in tensors.items():
        packed = struct.pack(f'<{len(values)}f', *values)
        header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': (len(data), len(data) + len(packed))}
        data += packed
    text = json.dumps(header).encode()
    return struct.pack('<Q', len(text)) + text + data


def identity_network():
    """A DnCNN for colour images, as a file, that finds the image itself to be the noise: what it leaves is black."""
    tensors = {}
    for name, outs, ins in (('0', 8, 3), ('2', 8, 8), ('4', 3, 8)):
        kernel = [float(out == into and tap == 4) for out in range(outs) for into in range(ins) for tap in range(9)]
        tensors |= {f'model.{name}.weight': ((outs, ins, 3, 3), kernel), f'model.{name}.bias': ((outs,), [0.0] * outs)}
    return safetensors(tensors)


def npy(samples, shape, descr):
    """Bytes of a .npy file of these samples, or of their bytes: a header of 128 bytes, and they."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + '\n'
    content = samples if isinstance(samples, bytes) else struct.pack(f'<{len(samples)}{CODES[descr]}', *samples)
    return b'\x93NUMPY\1\0' + struct.pack('<H', len(header)) + header.encode() + content


class ProgramTest(unittest.TestCase):
    """Each test has an empty folder of its own."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix='patchbench-cli-')
        self.folder = Path(self._folder.name)

    def tearDown(self):
        self._folder.cleanup()

    def start(self, words, **options):
        """Popen of a command (`command`) in a session of its own, which ends with the test."""
        options = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **options}
        process = subprocess.Popen(words, text=True, start_new_session=True, **options)

        def end():
            with process:  # closes its pipes
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        self.addCleanup(end)
        return process

    def write(self, name, content):
        file = self.folder / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    def assert_valid(self, line):
        """The verdict in a line is VALID, or INVALID for nothing but other work on this machine."""
        busy = ('the repetitions get slower or faster with time', 'other processes had more than twenty times',
                'a rank had a core for less than', 'the upper end of the interval is more than three times')
        self.assertRegex(line, r'^RESULT: (IN)?VALID\b')
        reasons = re.findall(r'\d+ of \d+ \w+: (.*?)(?=; \d+ of |$)', line)
        self.assertEqual(line.startswith('RESULT: INVALID'), bool(reasons), line)
        self.assertTrue(all(reason.startswith(busy) for reason in reasons), line)

    def assert_refused(self, result, code, *words):
        """Exit code, every word in stderr, no stack trace, and no half-written file."""
        ended(result, code)
        for word in words:
            self.assertIn(word, result.stderr)
        for noise in ('terminate called', 'Exception raised from', 'Segmentation'):
            self.assertNotIn(noise, result.stderr)
        self.assertEqual([file for file in self.folder.rglob('*') if file.name.endswith('.part')], [])


def main():
    unittest.main(argv=sys.argv[:1], verbosity=2, failfast='FAIL_FAST' in os.environ)
