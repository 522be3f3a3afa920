"""The tested pages, made from small studies: two run here, the others are made up."""
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Pages:
    def __init__(self, program, write_fake_results, folder, mpirun):
        self._program, self._write_made_up, self._folder, self._mpirun = program, write_fake_results, folder, mpirun

    def _run(self, *command):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=200, check=False,
                              cwd=self._folder, env={**os.environ, 'OMP_NUM_THREADS': '1'})
        if done.returncode != 0:
            raise RuntimeError(f'{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}')

    def _results(self, name):
        """Runs a study in a folder of its name and returns its results.jsonl."""
        file = self._folder / name / 'results.jsonl'
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def _beside(self, name, *results):
        page = self._folder / f'{name}.html'
        self._run(self._program, 'report', *results, '--html', page)
        return page

    def make(self):
        """Returns the path of each page by name."""
        results = {name: self._results(name) for name in ('tiny', 'scaling', 'engines', 'gpu', 'shapes')}
        real_ranks = {'tiny': 2, 'scaling': 4, 'engines': 1}
        for name, file in results.items():
            study = HERE / f'{name}.yaml'
            if name in real_ranks:
                self._run(*self._mpirun, '-n', real_ranks[name], self._program, 'run', study, '--out', file.parent)
            else:
                self._run(self._write_made_up, study, file)
                self._run(self._program, 'report', file)
        slower, namesake = self._results('slower'), self._results('other/gpu')
        for file in (slower, namesake):
            self._run(self._write_made_up, HERE / 'gpu.yaml', file, 1.2)
        return {**{name: file.parent / 'report.html' for name, file in results.items()},
                'both': self._beside('both', results['gpu'], results['tiny']),
                'launches': self._beside('launches', results['gpu'], slower),
                'namesakes': self._beside('namesakes', results['gpu'], namesake)}
