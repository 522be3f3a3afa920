"""Several hosts on one machine: network namespaces joined by a bridge, each with a host name of its own.

`run_isolated()` starts the calling script again in mount, process and network namespaces of its own, as root, so that
whatever it makes vanishes with it, however it ends. `Hosts` then makes the hosts; `mpirun` goes from one to the others.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'e2e'))
import program  # noqa: E402

SKIPPED = 77
ISOLATED = 'PATCHBENCH_TEST_ISOLATED'
PRIVATE = '/run/lock'  # a folder that every Linux has and where no project lies
# Killed with this process, and everything in it is killed with that.
UNSHARE = ['setpriv', '--pdeathsig', 'KILL',
           'unshare', '--mount', '--pid', '--fork', '--mount-proc', '--net', '--kill-child']
JOINS_WITHIN_S = 30
# Ends with 0 where the host in its first argument refuses a connection.
REACH = """
import errno, socket, sys
with socket.socket() as probe:
    probe.settimeout(2)
    sys.exit(probe.connect_ex((sys.argv[1], 9)) != errno.ECONNREFUSED)
"""


def skip(reason):
    print(f'skipped: {reason}')
    sys.exit(SKIPPED)


def run_isolated():
    """Returns in the namespaces only; outside it ends with the exit code of the script inside. Temporary files then lie
    in memory that vanishes, too."""
    if os.environ.get(ISOLATED):
        command('mount', '-t', 'tmpfs', '-o', 'mode=755', 'tmpfs', PRIVATE)
        os.environ['TMPDIR'] = tempfile.tempdir = PRIVATE
        return
    if os.geteuid() != 0:
        skip('network namespaces need root')
    for tool in ('setpriv', 'unshare', 'ip'):
        if not shutil.which(tool):
            skip(f'{tool} is missing (apt packages util-linux, iproute2)')
    probe = subprocess.run([*UNSHARE, 'true'], capture_output=True, text=True)
    if probe.returncode != 0:
        skip(f'this machine gives no namespaces: {probe.stderr.strip()}')
    inside = subprocess.run([*UNSHARE, sys.executable, *sys.argv], env={**os.environ, ISOLATED: '1'})
    sys.exit(inside.returncode)


def command(*words):
    subprocess.run(words, check=True)


class Hosts:
    """`names`, joined by a bridge; only inside run_isolated(), or its mounts would outlive a test that is killed."""

    def __init__(self, names):
        if not os.environ.get(ISOLATED):
            raise RuntimeError('call run_isolated() first')
        self.names = names
        self.folder = Path(tempfile.mkdtemp(prefix='patchbench-hosts-'))
        Path('/run/netns').mkdir(exist_ok=True)
        command('mount', '-t', 'tmpfs', 'tmpfs', '/run/netns')
        command('ip', 'link', 'set', 'lo', 'up')
        command('ip', 'link', 'add', 'bridge0', 'type', 'bridge')
        command('ip', 'link', 'set', 'bridge0', 'up')
        for number, name in enumerate(names, start=1):
            self._add(name, number)
        self._name_addresses()
        for name in names:
            self._wait_for(name)
        self.agent = self.folder / 'agent.sh'
        self.agent.write_text('#!/bin/sh\nhost=$1\nshift\n'
                              'exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"\n')
        self.agent.chmod(0o755)

    def _add(self, name, number):
        command('ip', 'netns', 'add', name)
        command('ip', 'link', 'add', f'port{number}', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
        command('ip', 'link', 'set', f'port{number}', 'master', 'bridge0', 'up')
        command('ip', '-n', name, 'addr', 'add', f'10.77.0.{number}/24', 'dev', 'eth0')
        for device in ('lo', 'eth0'):
            command('ip', '-n', name, 'link', 'set', device, 'up')

    def _name_addresses(self):
        table = self.folder / 'hosts'
        lines = [f'10.77.0.{number} {name}\n' for number, name in enumerate(self.names, start=1)]
        table.write_text('127.0.0.1 localhost\n' + ''.join(lines))
        command('mount', '--bind', str(table), '/etc/hosts')

    def start(self, ranks_a_host, mpirun, *words):
        """Popen of `words` on `ranks_a_host` ranks of every host, started from the first."""
        slots = ','.join(f'{name}:{ranks_a_host}' for name in self.names)
        settings = {'plm_rsh_agent': self.agent, 'oob_tcp_if_include': 'eth0', 'btl_tcp_if_include': 'eth0'}
        options = [word for key, value in settings.items() for word in ('--mca', key, str(value))]
        count = ['-n', str(ranks_a_host * len(self.names))]
        start = [self.agent, self.names[0], 'exec', *mpirun, *options, '--host', slots, *count, *map(str, words)]
        return subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def mpirun(self, ranks_a_host, mpirun, *words, code=None, timeout=120):
        """CompletedProcess, as start()."""
        process = self.start(ranks_a_host, mpirun, *words)
        try:
            output, errors = process.communicate(timeout=timeout)
        finally:
            process.kill()
        return program.ended(subprocess.CompletedProcess(process.args, process.returncode, output, errors), code)

    def cut(self, name):
        """Takes the network of host `name` away."""
        self._link(name, 'down')

    def join(self, name):
        """Gives it back, and returns when `name` and every other host reach each other: the kernel takes up to a second
        for that, in which a launch would fail."""
        self._link(name, 'up')
        self._wait_for(name)

    def _link(self, name, state):
        command('ip', 'link', 'set', f'port{self.names.index(name) + 1}', state)

    def _wait_for(self, name):
        for other in self.names:
            if other != name:
                self._reach(name, other)
                self._reach(other, name)

    def _reach(self, start, end):
        """Returns once `end` refuses a connection from `start` to a port that nobody listens on."""
        probe = ['ip', 'netns', 'exec', start, sys.executable, '-c', REACH, end]
        program.wait_until(lambda: subprocess.run(probe).returncode == 0, f'way from {start} to {end}', JOINS_WITHIN_S)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)
