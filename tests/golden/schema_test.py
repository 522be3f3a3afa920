"""Real runs against the schemas of what they write: schema_test.py PATCHBENCH MPIRUN..

results.jsonl with every status that can be brought about without a broken machine (index_limit and a wrong output are in
write_results.cpp), and the exports made of it. Skipped without jsonschema (tests/golden/setup.sh).
"""
import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import validate_results

jsonschema = validate_results.import_jsonschema()
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'e2e'))
import program  # noqa: E402
from program import run  # noqa: E402

COMMON = """
weights: seed:1
device: cpu
threads: 1
patch: 32
halo: 8
warmup.reps: 0
stop: {min_reps: 2, max_time_s: 0}
save_images: false
image: {height: 96, width: 64}
"""
# Measured, with a group of batches; out of memory; refused for its ranks; a search that ends at the cap.
STATUSES = COMMON + """
name: statuses
groups:
  - {batch: [1, 2]}
  - {memory_limit_mib: 3}
  - {ranks: 3}
  - {batch: largest, memory_limit_mib: 6}
"""
ENDLESS = COMMON + """
name: endless
groups:
  - {}
  - {stop.min_reps: 100000}
  - {patch: 16}
"""
# The second image does not fit on the disk.
FULL_DISK = COMMON.replace('save_images: false', 'save_images: true') + """
name: full
groups:
  - {}
  - {image: {height: 256, width: 256}, patch: 128}
"""
LIMIT_BYTES = 64 * 1024  # all lines of results.jsonl are shorter, the second image is longer

# Stricter than their sources: nothing else may be in them.
BMF = {  # https://bencher.dev/docs/reference/bencher-metric-format
    'type': 'object',
    'additionalProperties': {
        'type': 'object', 'minProperties': 1,
        'additionalProperties': {
            'type': 'object', 'required': ['value'], 'additionalProperties': False,
            'properties': {key: {'type': 'number'} for key in ('value', 'lower_value', 'upper_value')}}}}
GITHUB = {  # interface BenchmarkResult in src/extract.ts of benchmark-action/github-action-benchmark
    'type': 'array',
    'items': {
        'type': 'object', 'required': ['name', 'unit', 'value'], 'additionalProperties': False,
        'properties': {'value': {'type': 'number'},
                       **{key: {'type': 'string'} for key in ('name', 'unit', 'range', 'extra')}}}}
CHROME = {  # "Trace Event Format", its JSON object format
    'type': 'object', 'required': ['traceEvents'],
    'properties': {'traceEvents': {'type': 'array', 'minItems': 1, 'items': {
        'type': 'object', 'required': ['name', 'ph', 'pid', 'tid'],
        'properties': {'name': {'type': 'string'}, 'ph': {'enum': ['X', 'M']}, 'pid': {'type': 'integer'},
                       'tid': {'type': 'integer'}, 'ts': {'type': 'number'},
                       'dur': {'type': 'number', 'minimum': 0}},
        'if': {'properties': {'ph': {'const': 'X'}}}, 'then': {'required': ['ts', 'dur']}}}}}
SCHEMAS = {'chrome': CHROME, 'bmf': BMF, 'github': GITHUB, 'github-bigger': GITHUB, 'gbench': {'required': ['context', 'benchmarks']}}


def ignore_file_size_signal():
    """For a child: writing beyond its limit is an error, as on a full disk, and no signal."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


class SchemaTest(program.ProgramTest):
    def check(self, out):
        """The points of a study's folder, after its lines and all exports of them were validated."""
        file = out / 'results.jsonl'
        schema = json.loads(validate_results.SCHEMA.read_text())
        validator = jsonschema.Draft202012Validator(schema)
        self.assertEqual(validate_results.check_file(validator, file, probe_schema=True), [])
        for name, export_schema in SCHEMAS.items():
            jsonschema.validate(json.loads(run('report', out, '--export', f'{name}=-', code=0).stdout), export_schema)
        for option in ('--csv', '--markdown'):
            run('report', out, option, '-', code=0)
        self.assertEqual(program.lines(out)[-1]['type'], 'end')
        return program.points(out)

    def test_measured_out_of_memory_refused_and_searched(self):
        out = self.folder / 'out'
        run('run', self.write('study.yaml', STATUSES), '--out', out, ranks=2, code=5)
        points = self.check(out)
        self.assertEqual([point['status'] for point in points], ['ok', 'ok', 'oom', 'refused', 'ok'])
        self.assertIsNotNone(points[-1]['batch_search'])
        for point in points:
            self.assertEqual(point['telemetry'] is not None, point['status'] == 'ok')

    def begin(self, study, out, *options):
        """The program, once its first point is finished, in this session or in an earlier one."""
        process = self.start(program.command('run', study, '--out', out, *options), stdout=subprocess.DEVNULL,
                             preexec_fn=ignore_file_size_signal)
        for line in process.stderr:
            if '[1/' in line or 'resumed' in line:
                return process
        self.fail(f'ended with {process.wait()} before its first point')

    def test_interrupted_skipped_and_resumed(self):
        out = self.folder / 'out'
        study = self.write('study.yaml', ENDLESS)
        for options in ((), ('--resume',)):
            process = self.begin(study, out, *options)
            time.sleep(1)
            process.terminate()
            process.communicate(timeout=100)
            self.assertEqual(process.returncode, 5)
            statuses = [point['status'] for point in self.check(out)]
            if not options:  # a resumed session may still be about to start its first point
                self.assertEqual(statuses, ['ok', 'interrupted', 'skipped'])
        self.assertIn('"type":"resume"', (out / 'results.jsonl').read_text())

    def test_failed(self):
        out = self.folder / 'out'
        process = self.begin(self.write('study.yaml', FULL_DISK), out)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))
        _, errors = process.communicate(timeout=200)
        self.assertEqual(process.returncode, 1, errors)
        points = self.check(out)
        self.assertEqual([point['status'] for point in points], ['ok', 'failed'])
        self.assertIn('File too large', points[1]['reason'])


if __name__ == '__main__':
    program.main()
