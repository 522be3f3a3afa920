"""Ramble application: a study under mpirun; the figures of each point are figures of merit in the context `point`.

Put this file into <repository>/applications/patchbench/application.py of a Ramble repository (`ramble repo create`,
`ramble repo add`), and name program, study and settings as variables of the experiment.
"""
from ramble.appkit import *

FIGURES = {  # as `patchbench run --explain` lists them
    'patches_per_s': 'patches/s',
    'useful_mpx_per_s': 'Mpx/s',
    'pipeline_s': 's',
    'efficiency': 'ratio',
    'allocated_peak_mib': 'MiB',
    'seam_error': 'ratio',
    'psnr_denoised_db': 'dB',
}


class Patchbench(ExecutableApplication):
    """Patch-based image denoising on many GPUs: patches/s, peak memory, and a check that the pixels are right"""

    name = 'patchbench'

    tags('benchmark', 'image', 'gpu')

    executable('run', '{program} run {study} --out {experiment_run_dir}/results --verbose {settings}', use_mpi=True)
    workload('study', executables=['run'])
    workload_variable('program', default='patchbench', description='the program', workloads=['study'])
    workload_variable('study', default='study.yaml', description='study file', workloads=['study'])
    workload_variable('settings', default='', description='such as --set preset=quick', workloads=['study'])

    figure_of_merit_context('point', regex=r'FOM (?P<point>\S+)\.[a-z0-9_]+ ', output_format='{point}')
    for key, unit in FIGURES.items():
        figure_of_merit(key, fom_regex=rf'FOM \S+\.{key} (?P<value>\S+) \S+', group_name='value', units=unit,
                        log_file='{log_file}', contexts=['point'])
    figure_of_merit('verdict', fom_regex=r'RESULT: (?P<verdict>[A-Z]+)', group_name='verdict', units='',
                    log_file='{log_file}')
    success_criteria('valid', mode='string', match=r'RESULT: VALID\b', file='{log_file}')
    archive_pattern('results/results.*')
