"""ReFrame test: a study runs, ends VALID, and every FOM line is a performance variable.

    reframe -c launch/contrib/reframe_patchbench.py -S program=build/patchbench -S study=configs/batch_sweep.yaml \
        -S num_tasks=4 -r --performance-report

Paths are relative to the folder in which reframe is started. The partition's launcher must start MPI ranks (mpirun,
srun, ..). Put `reference` values into a subclass to be told of regressions.
"""
import os

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_before, sanity_function, variable


@rfm.simple_test
class PatchbenchTest(rfm.RunOnlyRegressionTest):
    descr = 'patch-based image denoising: patches/s and peak memory of a study'
    valid_systems = ['*']
    valid_prog_environs = ['*']
    program = variable(str, value='patchbench')
    study = variable(str, value='study.yaml')
    settings = variable(typ.List[str], value=[])  # -S settings=preset=quick,device=cuda
    num_tasks = 1

    @run_before('run')
    def set_command(self):
        self.executable = os.path.abspath(self.program) if os.sep in self.program else self.program
        self.executable_opts = ['run', os.path.abspath(self.study), '--out', 'results', '--verbose']
        for setting in self.settings:
            self.executable_opts += ['--set', setting]
        self.keep_files = ['results/results.jsonl', 'results/results.csv', 'results/report.html']

    @sanity_function
    def is_valid(self):
        return sn.assert_found(r'^RESULT: VALID\b', self.stdout)

    @run_before('performance')
    def read_figures(self):
        output = os.path.join(self.stagedir, sn.evaluate(self.stdout))
        figures = sn.extractall(r'^FOM (\S+) (\S+) (\S+)$', output, (1, 2, 3), (str, float, str))
        for name, value, unit in sn.evaluate(figures):
            self.perf_variables[name] = sn.make_performance_function(sn.defer(value), unit)
