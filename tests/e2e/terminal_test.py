"""patchbench run on a terminal: what a person sees, with the bar and the tables in one place."""
import os
import pty
import subprocess
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
    def on_terminal(self, *arguments):
        """All that a terminal got which is both standard output and standard error."""
        master, slave = pty.openpty()
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


if __name__ == '__main__':
    program.main()
