"""What a power failure would leave: files are flushed to the disk before they get their names, and every line of results.

`python3 sync_test.py <patchbench> <library tests/support/faulty_system.cpp> <mpirun and its options>`
"""
import os
from pathlib import Path

import watched

import program
from program import png

STUDY = """
name: flushed
weights: seed:1
device: cpu
bounds: off
patch: 32
halo: 8
batch: [1, 2]
threads: 1
forward_calls: 0
warmup.reps: 0
stop: {min_reps: 1, max_time_s: 0}
image: {height: 64, width: 64}
"""


class SyncTest(watched.WatchedTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / 'out'

    def run_watched(self, *arguments, **options):
        """As that, without the calls that only read."""
        result, calls = super().run_watched(*arguments, **options)
        return result, [call for call in calls if call.name not in ('open', 'read')]

    def assert_flushed_before_named(self, calls, new):
        """The temporary file behind `new`: after its last write every process flushed it, before it was renamed."""
        names = [i for i, call in enumerate(calls) if call.name == 'rename' and call.new == str(new)]
        self.assertEqual(len(names), 1, f'{new} gets its name once')
        part = calls[names[0]].path
        last = {call.process: call.name for call in calls[:names[0]] if call.path == part}
        self.assertEqual(set(last.values()), {'fsync'}, f'{part} is renamed to {new} before it is on the disk')
        self.assertFalse([call for call in calls[names[0]:] if call.path == part and call.name == 'write'])
        folder = [call for call in calls[names[0]:] if call.name == 'fsync' and call.path == str(Path(new).parent)]
        self.assertTrue(folder, f'the name {new} itself is flushed')

    def assert_every_line_flushed(self, calls, lines):
        """Written, flushed, written, flushed, ..."""
        of_results = [call.name for call in calls if call.path == str(self.out / 'results.jsonl')]
        self.assertEqual(of_results, ['write', 'fsync'] * lines)


class Study(SyncTest):
    def test_lines_and_files(self):
        study = self.write('study.yaml', STUDY)
        _, calls = self.run_watched('run', study, '--out', self.out, code=0)
        self.assert_every_line_flushed(calls, len(program.lines(self.out)))
        written = sorted(file for file in self.out.rglob('*') if file.is_file() and file.suffix != '.jsonl')
        self.assertGreaterEqual({file.suffix for file in written}, {'.csv', '.html', '.png'})
        for file in written:
            if file.stat().st_size > 0:  # the lock of the folder is empty
                self.assert_flushed_before_named(calls, file)

    def test_a_resumed_study(self):
        study = self.write('study.yaml', STUDY)
        self.run_watched('run', study, '--out', self.out)
        _, calls = self.run_watched('run', study, '--out', self.out, '--resume', code=0)
        self.assert_flushed_before_named(calls, self.out / 'results.jsonl')
        types = [line['type'] for line in program.lines(self.out)]
        self.assert_every_line_flushed(calls, len([each for each in types if each not in ('study', 'resume', 'point')]))
        self.assertEqual(types.count('point'), 2)

    def test_a_file_that_all_ranks_write(self):
        study = self.write('study.yaml', STUDY.replace('[1, 2]', '1') + 'output: file\n')
        _, calls = self.run_watched('run', study, '--out', self.out, ranks=2, code=0)
        image, = self.out.glob('000-*.tif')
        writers = {call.process for call in calls if call.name == 'write' and '000-' in call.path}
        self.assertEqual(len(writers), 2)
        self.assert_flushed_before_named(calls, image)


class DiskThatDoesNotFlush(SyncTest):
    def test_results(self):
        study = self.write('study.yaml', STUDY)
        result, _ = self.run_watched('run', study, '--out', self.out, FAULTY_SYNC='/results.jsonl')
        self.assert_refused(result, 1, 'results.jsonl', 'Input/output error', '--out')

    def test_an_image(self):
        photo, out = self.write('photo.png', png(40, 36)), self.folder / 'out.png'
        out.write_bytes(b'older')
        result, _ = self.run_watched('denoise', photo, out, '--halo', '8', '--patch', '32', '--batch', '1', '--sigma',
                                     '0.1', '--device', 'cpu', FAULTY_SYNC='.part', code=1)
        self.assertIn('out.png: Input/output error', result.stderr + result.stdout)
        self.assertEqual(out.read_bytes(), b'older')
        self.assertEqual([file for file in os.listdir(self.folder) if file.endswith('.part')], [])


if __name__ == '__main__':
    program.main()
