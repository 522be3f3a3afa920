"""patchbench run on a terminal: what a person sees, with the bar and the tables in one place."""
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading

import program
from program import PROGRAM

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


def lines_seen(text):
    """What is left on the screen: a carriage return goes back, and ESC [ K clears to the end of the line."""
    lines = []
    for line in text.replace('\r\n', '\n').split('\n'):
        seen = ''
        for part in line.split('\r'):
            cleared = part.startswith('\033[K')
            part = part.replace('\033[K', '')
            seen = part if cleared else part + seen[len(part):]
        lines.append(seen)
    return lines


class Terminal(program.ProgramTest):
    def on_terminal(self, *arguments, columns=0):
        """All that a terminal got which is both standard output and standard error. 0 columns: it does not say."""
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
        done = subprocess.run([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                              timeout=100, check=False)
        os.close(slave)
        reader.join(20)
        os.close(master)
        self.assertEqual(done.returncode, 0)
        return b''.join(received).decode()

    def test_the_bar_stands_in_a_line_of_its_own(self):
        text = self.on_terminal('run', self.write('study.yaml', STUDY), '--out', self.folder / 'out')
        self.assertIn('[##############################] 2/2', text.replace('\r', '\n'), 'there is a bar')
        self.assertIn('Plan of seen: 2 points', lines_seen(text))
        for line in text.replace('\r', '\n').split('\n'):
            if line.startswith('[') and '] ' in line[:40] and line[1:2] in '#.':
                self.assertRegex(line, r'^\[[#.]{30}\] \d/2  [\d:]+ elapsed[^\[]*(\x1b\[K)?$')
        self.assertTrue(all('#' * 5 not in line and '.' * 20 not in line for line in lines_seen(text)), 'none is left over')

    def test_tables_fit_its_width(self):
        study = self.write('study.yaml', STUDY)
        arguments = ('run', study, '--out', self.folder / 'out')

        def rows(columns):
            text = self.on_terminal(*arguments, columns=columns)
            return [line for line in lines_seen(text) if line.startswith('simulated-') and line[-1] != '.']
        wide, narrow = rows(0), rows(60)
        self.assertGreater(max(map(len, wide)), 60, wide)
        self.assertLessEqual(max(map(len, narrow)), 60, narrow)
        self.assertGreater(len(narrow), len(wide), 'what does not fit follows below')

    def test_settings_fit_its_width(self):
        lines = lines_seen(self.on_terminal('settings', columns=80))
        self.assertLessEqual(max(map(len, lines)), 80, max(lines, key=len))
        self.assertTrue(any(line.startswith('stop.rel_width ') for line in lines))
        self.assertGreater(max(map(len, lines_seen(self.on_terminal('settings')))), 150)


if __name__ == '__main__':
    program.main()
