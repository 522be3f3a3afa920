"""Ramble's language, as far as launch/contrib/application.py speaks it: each directive is recorded, with its arguments
checked against those of Ramble (lib/ramble/ramble/language/{application,shared}_language.py). Ramble itself is on no
package registry."""
import importlib.util
import sys
import types


class Recorder:
    def __init__(self):
        self.calls = []

    def directive(self, name, *parameters):
        def call(*positional, **named):
            known = dict(zip(parameters, positional, strict=False))
            if len(positional) > len(parameters) or known.keys() & named.keys() or named.keys() - set(parameters):
                raise TypeError(f'{name} does not take {positional} {named}')
            self.calls.append((name, {**known, **named}))
        return call

    def of(self, name):
        return [arguments for called, arguments in self.calls if called == name]


def load_application(file):
    """(class, Recorder) of an application.py."""
    recorder = Recorder()
    kit = types.ModuleType('ramble.appkit')
    kit.ExecutableApplication = type('ExecutableApplication', (), {})
    kit.tags = kit.maintainers = lambda *words: None
    for name, *parameters in (
            ('executable', 'name', 'template', 'use_mpi', 'redirect', 'output_capture'),
            ('workload', 'name', 'executables', 'executable', 'input', 'inputs', 'tags'),
            ('workload_variable', 'name', 'default', 'description', 'values', 'workload', 'workloads', 'expandable'),
            ('figure_of_merit_context', 'name', 'regex', 'output_format'),
            ('figure_of_merit', 'name', 'fom_regex', 'group_name', 'log_file', 'units', 'contexts'),
            ('success_criteria', 'name', 'mode', 'match', 'file'),
            ('archive_pattern', 'pattern')):
        setattr(kit, name, recorder.directive(name, *parameters))
    sys.modules['ramble'] = types.ModuleType('ramble')
    sys.modules['ramble.appkit'] = kit
    spec = importlib.util.spec_from_file_location('application', file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Patchbench, recorder
