"""patchbench on a terminal: what a person sees, with the bar, the lines and the tables in one place."""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
from pathlib import Path

import program
from bench_test import MANY
from program import png

STUDY = """
name: seen
engine: timed
timed.per_window_s: 0.001
device: cpu
patch: 32
halo: 8
batch: [1, 2]
stop: {min_reps: 2, max_time_s: 0}
image: {height: 64, width: 64}
"""


# 64 windows, one after the other, by the slower engine: several times the fifth of a second between two updates.
DENOISE = ('--network', 'dncnn', '--engine', 'torch', '--halo', '8', '--patch', '32', '--batch', '1', '--sigma', '0.1', '--device', 'cpu', '--threads', '1')


def drawn(text):
    """What was written to the line of the bar, in order."""
    return [part.replace('\033[K', '') for part in re.split(r'[\r\n]+', text) if part.endswith('\033[K') and len(part) > 3]


def lines_seen(text):
    """What is left on the screen: a carriage return goes back, and ESC [ K clears to the end of the line."""
    lines = []
    for line in text.replace('\r\n', '\n').split('\n'):
        seen = ''
        for part in line.split('\r'):
            before, cleared, after = part.partition('\033[K')
            seen = before + after if cleared else part + seen[len(part):]
        lines.append(seen)
    return lines


class Terminal(program.ProgramTest):
    def on_terminal(self, *arguments, ranks=0, code=0, columns=0, env=None):
        """All that a terminal got which is both standard output and standard error. 0 columns: it does not say. Names of
        files in the test's folder may be short: they have no place to break."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        received = []

        def read():
            try:
                while content := os.read(master, 1 << 16):
                    received.append(content)
            except OSError:  # the other end is closed
                pass
        reader = threading.Thread(target=read)
        reader.start()
        done = subprocess.run(program.command(*arguments, ranks=ranks), stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                              timeout=100, check=False, cwd=self.folder, env={**os.environ, **(env or {'TERM': 'xterm'})})
        os.close(slave)
        reader.join(20)
        os.close(master)
        if code is not None:
            self.assertEqual(done.returncode, code)
        return b''.join(received).decode()

    def test_36_points_take_fewer_than_120_lines_of_80_columns(self):
        """One table with a row a point, under one rank and under mpirun. How busy the machine is decides the exit code."""
        for ranks in (0, 2):
            text = self.on_terminal('run', self.write('many.yaml', MANY), '--out', f'out{ranks}', columns=80, code=None, ranks=ranks)
            lines = lines_seen(text)
            self.assertIn('Plan of many: 36 points', text)
            self.assertLess(len(lines), 80, text)
            prose = [line for line in lines if not line.startswith('RESULT: ')]  # which scripts read: it stays whole
            self.assertLessEqual(max(map(len, prose)), 80, max(prose, key=len))
            rows = [line for line in lines if re.match(r'dncnn-native-p\d+-h\d-b\d-fp32', line)]
            self.assertEqual(len(rows), 36, rows)
            self.assertEqual(sum(line.startswith('point ') for line in lines), 1, 'one heading')
            self.assertTrue(any('no room for PSNR' in line and '--verbose' in line for line in lines), text)
            self.assertEqual(text.count('weights: seed:1 | device: cpu'), 1, 'what is equal is said once')
            self.assertFalse(any('[36/36]' in line for line in lines), 'the bar says it')
            self.assert_nothing_left(text)

    def test_prose_is_broken_at_its_width(self):
        """Messages, notes, help and the line of an image; what scripts read stays whole."""
        self.write('photo.png', png(32, 32))
        for ranks, words in ((0, ['denoise', 'photo.png', 'out.png', *DENOISE]), (2, ['denoise', 'photo.png', 'out.png', *DENOISE]),
                             (0, ['bench', '--help']), (0, ['--help']), (0, ['bench', '--ptach', '64']),
                             (0, ['denoise', 'none.png', 'x.png']), (0, ['plan', self.write('s.yaml', STUDY).name])):
            lines = lines_seen(self.on_terminal(*words, columns=60, code=None, ranks=ranks))
            self.assertLessEqual(max(map(len, lines)), 60, (words, max(lines, key=len)))

    def test_the_bar_stands_in_a_line_of_its_own(self):
        text = self.on_terminal('run', self.write('study.yaml', STUDY), '--out', self.folder / 'out')
        self.assertIn('[##############################] 2/2', text.replace('\r', '\n'), 'there is a bar')
        self.assertIn('Plan of seen: 2 points', lines_seen(text))
        for line in text.replace('\r', '\n').split('\n'):
            if line.startswith('[') and '] ' in line[:40] and line[1:2] in '#.':
                self.assertRegex(line, r'^\[[#.]{30}\] \d/2  [\d:]+ elapsed[^\[]*(\x1b\[K)?$')
        self.assert_nothing_left(text)

    def assert_nothing_left(self, text):
        self.assertTrue(all('#' * 5 not in line and '.' * 20 not in line for line in lines_seen(text)), 'none is left over')

    def test_a_terminal_that_goes_away_ends_a_study_only_by_its_signal(self):
        """Where SIGHUP is ignored, as by nohup, the study goes on, though its last lines cannot be printed: exit code 1."""
        study = self.write('study.yaml', STUDY.replace('per_window_s: 0.001', 'per_window_s: 0.05').replace('min_reps: 2', 'min_reps: 5'))
        for handler, code, statuses in ((signal.SIG_IGN, 1, ['ok', 'ok']), (signal.SIG_DFL, 5, ['interrupted', 'skipped'])):
            out = self.folder / handler.name
            master, slave = pty.openpty()

            def take_terminal(handler=handler):
                os.setsid()
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
                signal.signal(signal.SIGHUP, handler)
            process = subprocess.Popen(program.command('run', study, '--out', out), stdin=slave, stdout=slave, stderr=slave,
                                       preexec_fn=take_terminal, env={**os.environ, 'TERM': 'xterm'})
            self.addCleanup(process.kill)
            os.close(slave)
            seen = b''
            while b'; pass ' not in seen:
                seen += os.read(master, 1 << 16)
            os.close(master)
            self.assertEqual(process.wait(60), code)
            self.assertEqual([point['status'] for point in program.points(out)], statuses)
            self.assertEqual(program.lines(out)[-1]['type'], 'end')
            self.assertTrue((out / 'report.html').exists())

    def test_the_bar_of_a_study_moves_within_a_point(self):
        study = STUDY.replace('per_window_s: 0.001', 'per_window_s: 0.05').replace('min_reps: 2', 'min_reps: 5')
        text = self.on_terminal('run', self.write('study.yaml', study), '--out', self.folder / 'out')
        first = [line for line in drawn(text) if '] 0/2 ' in line]
        self.assertTrue(any('#' in line and '; pass ' in line for line in first), first)
        self.assert_nothing_left(text)

    def assert_bar_moves(self, text, name):
        found = [re.match(re.escape(name) + r' \[([#.]{30})\] (\d+) %, [\d.]+ of 0\.06554 Mpx', line) for line in drawn(text)]
        percents = [int(match[2]) for match in found if match]
        self.assertGreater(len(set(percents)), 2, drawn(text))
        self.assertEqual(percents, sorted(percents))
        for match in filter(None, found):
            self.assertAlmostEqual(match[1].count('#') / 30, int(match[2]) / 100, delta=0.04)
        self.assertRegex(text, r'\d Mpx/s, \d+:\d\d left')
        self.assert_nothing_left(text)
        self.assertIn('RESULT: VALID', lines_seen(text))

    def test_denoise_has_a_bar_that_moves(self):
        photo = self.write('photo.png', png(256, 256))
        self.assert_bar_moves(self.on_terminal('denoise', photo, self.folder / 'out.png', *DENOISE, columns=160), 'photo.png')
        raw = self.write('photo.raw', bytes((x * 7 + y * 13) % 256 for y in range(256) for x in range(256)))
        text = self.on_terminal('denoise', raw, self.folder / 'out.raw', '--raw', '256x256x1:u8', '--output', 'file',
                                '--weights', 'seed:1', '--allow-untrained', *DENOISE, columns=160)
        self.assert_bar_moves(text, 'photo.raw')

    def test_the_bar_of_several_ranks_comes_through_mpirun(self):
        photo = self.write('photo.png', png(256, 256))
        self.assert_bar_moves(self.on_terminal('denoise', photo, self.folder / 'out.png', *DENOISE, ranks=2, columns=160), 'photo.png')

    def test_several_images_are_counted_and_have_a_time_in_all(self):
        for name in 'ab':
            (self.folder / 'in').mkdir(exist_ok=True)
            self.write(f'in/{name}.png', png(256, 256))
        text = self.on_terminal('denoise', self.folder / 'in', self.folder / 'out', *DENOISE, columns=160)
        for number, name in enumerate('ab'):
            self.assertTrue(any(line.startswith(f'{number + 1}/2 {name}.png [') for line in drawn(text)), drawn(text))
        self.assertRegex(text, r' left; in all [\d.]+ of about 0\.1311 Mpx, [\d.]+ Mpx/s, \d+:\d\d left')
        self.assert_nothing_left(text)

    def test_nothing_of_it_is_in_a_file(self):
        photo = self.write('photo.png', png(96, 96))
        for ranks in (0, 2):
            result = program.run('denoise', photo, self.folder / 'out.png', *DENOISE, ranks=ranks, code=0)
            self.assertNotRegex(result.stdout + result.stderr, r'[\r\x1b]|##| left')

    def test_a_dumb_terminal_gets_none_of_it(self):
        photo = self.write('photo.png', png(96, 96))
        for ranks in (0, 2):
            text = self.on_terminal('denoise', photo, self.folder / 'out.png', *DENOISE, ranks=ranks, env={'TERM': 'dumb'})
            self.assertIn('photo.png -> ', text)
            self.assertNotRegex(text, r'\x1b|##')

    def test_a_network_that_is_tried_shows_so(self):
        """For minutes, where it is large: here each window takes 0.05 s."""
        engines = Path(os.environ.get('PATCHBENCH_ENGINES', program.REPOSITORY / '.engines'))
        if not (engines / 'pytorch' / 'bin' / 'python').exists():
            self.skipTest('needs the engine pytorch: launch/engines.sh --only pytorch')
        self.write('slow.py', 'import time, torch\n\n\nclass Slow(torch.nn.Module):\n    def forward(self, image):\n'
                              '        time.sleep(0.05)\n        return image\n\n\ndef make_network():\n    return Slow()\n')
        text = self.on_terminal('networks', 'slow.py', '--trust-model', columns=100)
        tried = [re.fullmatch(r'slow\.py: trying windows: (\d+), of \d+ x \d+ px, \d+ s', line) for line in drawn(text)]
        numbers = [int(match[1]) for match in filter(None, tried)]
        self.assertGreater(len(numbers), 2, text)
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertFalse(any('trying windows:' in line for line in lines_seen(text)), 'none is left over')

    def test_an_error_stands_in_a_line_of_its_own(self):
        bad = self.write('bad.png', png(256, 256)[:2000])
        text = self.on_terminal('denoise', bad, self.folder / 'out.png', *DENOISE, code=2)
        self.assertTrue(any(line.startswith('patchbench: ') and 'bad.png' in line for line in lines_seen(text)), text)

    def test_the_closing_line_says_what_took_the_time(self):
        photo = self.write('photo.png', png(64, 64))
        parts = ['start-up', 'reading', 'preparation', 'network', 'verification', 'writing']
        for ranks, named in ((0, parts), (2, [*parts, 'other ranks'])):
            lines = program.run('denoise', photo, self.folder / 'out.png', *DENOISE, ranks=ranks).stdout.splitlines()
            self.assertEqual(lines[-1], 'RESULT: VALID')
            whole, told = re.fullmatch(r'([\d.]+) s in all: (.*)', lines[-2]).groups()
            seconds = dict(re.fullmatch(r'(.*) ([\d.]+) s', part).groups() for part in told.split(', '))
            self.assertEqual(list(seconds), named)
            self.assertAlmostEqual(sum(map(float, seconds.values())), float(whole), delta=0.006 * (len(named) + 1))
            self.assertGreater(float(seconds['start-up']), 0)
            self.assertGreater(float(seconds['network']), 0)
        searched = program.run('denoise', photo, self.folder / 'out.png', *DENOISE[:4], '--patch', '32', *DENOISE[8:], '--no-cache')
        self.assertRegex(searched.stdout, r', preparation [\d.]+ s, halo search [\d.]+ s, network ')

    def test_tables_fit_its_width(self):
        differing = STUDY.replace('timed.per_window_s', 'timed.base_s: 0.01\ntimed.per_window_s')
        study = self.write('study.yaml', differing)  # so does each figure: what is equal has no column
        arguments = ('run', study, '--out', self.folder / 'out')

        def rows(columns, ranks=0):
            text = self.on_terminal(*arguments, columns=columns, ranks=ranks)
            return [line for line in lines_seen(text) if line.startswith('simulated-') and line[-1] != '.']
        wide = rows(0)
        self.assertGreater(max(map(len, wide)), 60, wide)
        for ranks in (0, 2):
            narrow = rows(60, ranks)
            self.assertLessEqual(max(map(len, narrow)), 60, narrow)
            self.assertGreater(len(narrow), len(wide), 'what does not fit follows below')

    def test_settings_fit_its_width(self):
        lines = lines_seen(self.on_terminal('settings', columns=80))
        self.assertLessEqual(max(map(len, lines)), 80, max(lines, key=len))
        self.assertTrue(any(line.startswith('stop.rel_width ') for line in lines))
        for width, env in ((80, {'COLUMNS': ''}), (80, {'COLUMNS': '-5'}), (140, {'COLUMNS': '140'})):
            for words in (['settings'], ['denoise', '--help']):
                piped = program.run(*words, env={**os.environ, **env}).stdout.splitlines()
                prose = [line for line in piped if line.startswith(30 * ' ')]  # names of options are not broken
                self.assertTrue(width - 20 < max(map(len, prose)) <= width, (words, max(prose, key=len)))

    def test_an_error_that_quotes_much_is_cut(self):
        said = program.run('settings', 'x' * 6000, code=2).stderr
        self.assertLess(len(said), 4100)
        self.assertTrue(said.endswith(' ...\n'), said[-20:])


if __name__ == '__main__':
    program.main()
