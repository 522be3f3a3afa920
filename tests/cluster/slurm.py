"""A Slurm of one node (this machine), with its own key, configuration, ports and folder; only inside
hosts.run_isolated(), so that its daemons and jobs end with the test, however that ends.
"""
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import hosts

PROGRAMS = ('slurmctld', 'slurmd', 'srun', 'sbatch', 'scontrol', 'munged')
ADDRESS = '10.77.0.1'
CONFIGURATION = """
ClusterName=patchbench
SlurmctldHost={host}({address})
SlurmUser=root
AuthInfo=socket={folder}/munge/socket
SlurmctldPort=26817
SlurmdPort=26818
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
TmpFS={folder}/tmp
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=pmix
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
NodeName={host} NodeAddr={address} CPUs={cpus} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES State=UP
"""


def skip_unless_possible():
    """Outside the namespaces: whoever has a Slurm keeps it, and what is missing is named."""
    running = {file.read_text().strip() for file in Path('/proc').glob('[0-9]*/comm') if file.exists()}
    if running & {'slurmctld', 'slurmd'} or Path('/etc/slurm/slurm.conf').exists() or 'SLURM_JOB_ID' in os.environ:
        hosts.skip('this machine has a Slurm of its own')
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        hosts.skip(f'{", ".join(missing)} missing (tests/cluster/setup.sh installs Slurm, as root)')


class Slurm:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix='patchbench-slurm-'))
        self.folder.chmod(0o755)  # munge runs as a user of its own
        self.daemons = []
        kept = {name: value for name, value in os.environ.items() if not name.startswith(('OMPI_', 'SLURM_'))}
        self.configuration = self.folder / 'slurm.conf'
        self.env = {**kept, 'SLURM_CONF': str(self.configuration)}
        try:
            self.bring_up(socket.gethostname().split('.')[0])
        except BaseException:
            self.close()
            raise

    def bring_up(self, host):
        self.name_host(host)
        for name in ('state', 'spool', 'tmp'):
            (self.folder / name).mkdir()
        self.configuration.write_text(
            CONFIGURATION.format(host=host, address=ADDRESS, folder=self.folder, cpus=os.cpu_count()))
        self.start_munge()
        self.start('slurmctld', '-D')
        self.start('slurmd', '-D')
        self.wait('the node', lambda: 'State=IDLE' in self.show('node', host), 60)

    def name_host(self, host):
        """The host has an address beside the loopback's: without one Slurm resolves no name at all (AI_ADDRCONFIG)."""
        hosts.command('ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth1')
        hosts.command('ip', 'addr', 'add', f'{ADDRESS}/24', 'dev', 'eth0')
        for device in ('lo', 'eth0', 'eth1'):
            hosts.command('ip', 'link', 'set', device, 'up')
        table = self.folder / 'hosts'
        table.write_text(f'127.0.0.1 localhost\n{ADDRESS} {host}\n')
        hosts.command('mount', '--bind', str(table), '/etc/hosts')

    def start_munge(self):
        folder = self.folder / 'munge'
        folder.mkdir()
        (folder / 'key').write_bytes(os.urandom(128))
        (folder / 'key').chmod(0o400)
        for path in (folder, folder / 'key'):
            shutil.chown(path, 'munge', 'munge')
        files = {'key': 'key', 'socket': 'socket', 'pid': 'pid', 'log': 'log', 'seed': 'seed'}
        options = [f'--{name}-file={folder / file}' for name, file in files.items() if name != 'socket']
        self.start('munged', '--foreground', f'--socket={folder / "socket"}', *options, user='munge')
        self.wait('munged', (folder / 'socket').exists, 20)

    def start(self, *words, user=None):
        with open(self.folder / f'{words[0]}.out', 'w') as log:
            self.daemons.append(subprocess.Popen(words, env=self.env, stdout=log, stderr=log, user=user, group=user))

    def logs(self):
        files = [file for pattern in ('*.out', '*.log', 'munge/log') for file in sorted(self.folder.glob(pattern))]
        return '\n'.join(f'--- {file.name}\n{file.read_text()[-2000:]}' for file in files)

    def wait(self, what, done, seconds):
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                raise TimeoutError(f'{what}: not there after {seconds} s\n{self.logs()}')
            time.sleep(0.5)

    def command(self, *words, **options):
        return subprocess.run(list(map(str, words)), env=self.env, capture_output=True, text=True, timeout=60, **options)

    def show(self, kind, name):
        return self.command('scontrol', 'show', kind, name).stdout

    def submit(self, folder, *words):
        """Number of the job that `sbatch words` makes when it is called in `folder`."""
        result = self.command('sbatch', '--parsable', *words, cwd=folder)
        if result.returncode != 0:
            raise RuntimeError(f'sbatch: {result.stderr}{self.logs()}')
        return result.stdout.strip()

    def result(self, job, seconds):
        """(state, exit code) of a job, once it has ended."""
        def fields():
            return dict(word.split('=', 1) for word in self.show('job', job).split() if '=' in word)
        ended = {'COMPLETED', 'FAILED', 'TIMEOUT', 'CANCELLED', 'NODE_FAIL'}
        self.wait(f'the end of job {job}', lambda: fields().get('JobState') in ended, seconds)
        return fields()['JobState'], fields()['ExitCode']

    def close(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
