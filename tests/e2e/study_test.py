"""patchbench run, plan, check, networks, --version: what they print, leave behind, and exit with."""
import csv
import os
import re
import sys
from pathlib import Path

import program
from program import run

STUDY = """
name: tiny
weights: seed:1
device: cpu
bounds: off
patch: 32
halo: 8
batch: [1, 2]
stop.min_reps: 2
stop.max_time_s: 0
image: {height: 64, width: 48}
"""


class Study(program.ProgramTest):
    def test_an_image_of_the_study_is_never_replaced(self):
        folder = self.folder / 'out'
        image = folder / '000-dncnn-p32-h8-b1-fp32.png'
        (folder / 'previews').mkdir(parents=True)
        run('run', self.write('first.yaml', STUDY), '--out', self.folder / 'first', code=0)
        made = next((self.folder / 'first').glob('000-*.png'))
        for name in (made.name, f'previews/{made.stem}-noisy.png'):
            image = folder / name
            image.write_bytes(made.read_bytes())
            study = self.write('again.yaml', STUDY.replace('{height: 64, width: 48}', f'{{path: {image}, noise_sigma: 0.1}}'))
            result = run('run', study, '--out', folder, code=2)
            self.assertIn('inputs are never modified', result.stderr)
            self.assertEqual(image.read_bytes(), made.read_bytes())
            image.unlink()

    def test_a_limit_on_the_size_of_files_fails_with_a_sentence(self):
        study = self.write('limited.yaml', STUDY + 'save_images: false\n')
        result = run('run', study, '--out', self.folder / 'out', before=['bash', '-c', 'ulimit -f 4; exec "$0" "$@"'], code=1)
        self.assertIn('results.jsonl: File too large', result.stderr)

    def test_the_weights_of_an_export_are_not_replaced(self):
        weights = self.folder / 'w.onnx'
        run('networks', '--export', weights, '--network', 'dncnn', code=0)
        before = weights.read_bytes()
        for file in (weights, self.folder / '..' / self.folder.name / 'w.onnx'):
            refused = run('networks', '--export', file, '--network', 'dncnn', '--weights', weights)
            self.assert_refused(refused, 2, 'w.onnx', 'input')
        self.assertEqual(weights.read_bytes(), before)

    def test_an_export_is_of_the_network_of_its_weights(self):
        weights = program.REPOSITORY / 'models/drunet_small_gray.safetensors'
        self.assertIn('drunet for 1 image', run('networks', '--export', self.folder / 'a.onnx', '--weights', weights, code=0).stdout)
        other = run('networks', '--export', self.folder / 'b.onnx', '--network', 'dncnn', '--weights', weights)
        self.assert_refused(other, 2, 'drunet', 'dncnn')
        self.assert_refused(run('networks', '--export', self.folder / 'a.txt'), 2, 'a.txt', '.onnx')
        self.assertEqual(sorted(file.name for file in self.folder.iterdir()), ['a.onnx'])

    def test_runs_on_one_and_three_ranks_and_leaves_its_results(self):
        study = self.write('tiny.yaml', STUDY)
        for ranks in (0, 3):
            out = self.folder / f'out{ranks}'
            result = run('run', study, '--out', out, ranks=ranks, code=0)
            self.assert_valid(result.stdout.strip().splitlines()[-1])
            foms = [line for line in result.stdout.splitlines() if line.startswith('FOM ')]
            self.assertTrue(foms)
            for line in foms:
                self.assertRegex(line, r'^FOM \S+ \S+ \S+$')
            lines = program.lines(out)
            types = [line['type'] for line in lines if line['type'] != 'study_summary']  # said where there is something to say
            self.assertEqual(types, ['study', 'point', 'point', 'end'])
            for line in lines[1:3]:
                self.assertEqual(line['status'], 'ok')
                self.assertEqual(line['verification']['outcome'], 'passed')
            with open(out / 'results.csv', newline='') as file:
                self.assertEqual(len(list(csv.DictReader(file))), 2)
            self.assertEqual(len(list(out.glob('*.png'))), 2)

    def test_threads_of_libtorch_spin_briefly_unless_the_user_chooses(self):
        study = self.write('tiny.yaml', STUDY)
        for variables, expected in (({}, '1000'), ({'GOMP_SPINCOUNT': '7'}, '7'), ({'OMP_WAIT_POLICY': 'active'}, None)):
            bare = {name: value for name, value in os.environ.items() if name not in ('GOMP_SPINCOUNT', 'OMP_WAIT_POLICY')}
            result = run('run', study, '--set', 'batch=1', '--out', self.folder / 'out',
                         env=bare | {'OMP_DISPLAY_ENV': 'verbose'} | variables, code=0)
            found = re.search(r"GOMP_SPINCOUNT = '(\d+)'", result.stderr)
            if found is None:
                self.skipTest('LibTorch has another OpenMP than that of GNU')
            if expected:
                self.assertEqual(found[1], expected, variables)
            else:
                self.assertGreater(int(found[1]), 10**6, variables)

    def test_images_do_not_depend_on_the_ranks(self):
        study = self.write('tiny.yaml', STUDY)
        images = []
        for ranks in (1, 2):
            out = self.folder / f'out{ranks}'
            run('run', study, '--out', out, ranks=ranks, code=0)
            images.append([file.read_bytes() for file in sorted(out.glob('*.png'))])
        self.assertEqual(images[0], images[1])
        self.assertEqual(images[0][0], images[0][1], 'nor on the batch')

    def test_all_ranks_stop_on_the_repetition_that_the_root_chooses(self):
        study = self.write('tiny.yaml', STUDY)
        wide = ('stop.rel_width=10', 'stop.max_time_s=3600')  # any interval will do: the first look decides
        for settings, expected in ((wide, (20, 'interval')), ((*wide, 'stop.max_reps=7'), (7, 'max_reps')),
                                   (('stop.max_time_s=0',), (2, 'max_time'))):
            overrides = [word for setting in (*settings, 'batch=1') for word in ('--set', setting)]
            result = run('run', study, '--out', self.folder / 'out', *overrides, ranks=2)
            self.assertIn(result.returncode, (0, 4), result.stderr + result.stdout)
            point, = program.points(self.folder / 'out')
            self.assertEqual((len(point['samples']['wall_s']), point['summary']['stop_reason']), expected)
            self.assertEqual([len(rank['wall_s']) for rank in point['samples']['ranks']], [expected[0]] * 2)
            self.assertEqual(point['verification']['outcome'], 'passed')

    def test_variables_of_other_ranks_are_said_and_kept(self):
        study = self.write('study.yaml', STUDY.replace('[1, 2]', '1'))
        script = ('export NCCL_ALGO=Ring; if [ "$OMPI_COMM_WORLD_RANK" != 1 ]; then export MALLOC_ARENA_MAX=2; unset NCCL_ALGO; fi; '
                  'export CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_RANK; exec "$0" "$@"')
        result = run('run', study, '--out', self.folder / 'out', ranks=3, before=['sh', '-c', script], code=0)
        self.assertIn("NCCL_ALGO of rank 1 is Ring, unlike rank 0's", result.stderr)
        self.assertIn("MALLOC_ARENA_MAX of rank 1 is not set, unlike rank 0's", result.stderr)
        self.assertNotIn('CUDA_VISIBLE_DEVICES of', result.stderr)
        variables = program.lines(self.folder / 'out')[0]['environment']['variables']
        self.assertEqual(variables['NCCL_ALGO of rank 1'], 'Ring')
        self.assertEqual((variables['MALLOC_ARENA_MAX'], variables['MALLOC_ARENA_MAX of rank 1']), ('2', 'not set'))

    def test_plan_and_dry_run_need_no_launch(self):
        study = self.write('tiny.yaml', STUDY)
        for arguments in (('plan', study, '--ranks', 3), ('run', study, '--dry-run', '--out', self.folder / 'none')):
            result = run(*arguments, code=0)
            self.assertIn('dncnn', result.stdout)
        self.assertFalse((self.folder / 'none').exists())
        launched = run('run', study, '--dry-run', ranks=2, code=0).stdout
        self.assertEqual(launched.count('Plan of'), 1)
        self.assertIn(launched, run('plan', study, '--ranks', 2, code=0).stdout)

    def test_a_plan_says_that_weights_are_missing(self):
        study = self.write('one.yaml', 'patch: 16\nimage: {height: 32, width: 32}\n')
        planned = run('plan', study, '--set', 'weights=none.pth', code=0)
        self.assertRegex(planned.stdout, r'planned as the published network; `run` would\s+end:[^`]*none\.pth')
        self.assertNotIn('would end', run('plan', study, '--set', 'weights=seed:1').stdout)

    def test_out_of_memory_is_a_status_and_the_next_point_runs(self):
        study = self.write('tiny.yaml', STUDY + 'groups: [{memory_limit_mib: 3}, {memory_limit_mib: 0}]\n')
        result = run('run', study, '--out', self.folder / 'out', ranks=2, code=5)
        self.assertEqual([point['status'] for point in program.points(self.folder / 'out')], ['oom', 'oom', 'ok', 'ok'])
        self.assertRegex(result.stdout, 'RESULT: .*2 of 4 points')

    def test_images_of_a_jpeg_are_saved_without_losses(self):
        for name in ('a.jpg', 'b.JPEG'):
            study = self.write('photo.yaml', f'{STUDY.replace("batch: [1, 2]", "batch: 1")}'
                                             .replace('image: {height: 64, width: 48}', f'image: {{path: {name}}}'))
            self.write(name, program.png(48, 40))  # what it is, is read from its bytes
            out = self.folder / name.replace('.', '-')
            run('run', study, '--out', out, cwd=self.folder, code=0)
            self.assertEqual([file.suffix for file in out.iterdir() if file.name.startswith('000-')], ['.png'])

    def test_set_overrides(self):
        study = self.write('tiny.yaml', STUDY)
        result = run('plan', study, '--set', 'batch=4', '--set', 'network=unet', code=0)
        self.assertIn('unet', result.stdout)
        self.assertNotIn('dncnn', result.stdout)

    def test_a_list_that_the_shell_took_apart_is_named(self):
        result = run('plan', self.write('tiny.yaml', STUDY), '--set', 'batch=[1,', '4]')
        self.assert_refused(result, 2, 'batch=[1,', "--set 'batch=[1, 4]'")

    def test_the_quickstart_can_be_planned(self):
        run('plan', 'configs/quickstart.yaml', '--set', 'image.path=', cwd=program.REPOSITORY, code=0)


class Configs(program.ProgramTest):
    STUDIES = ('shape_sweep', 'batch_sweep', 'batch_fit', 'max_batch', 'precision', 'device_compare',
               'engines', 'scaling_strong', 'scaling_weak', 'beyond_memory')

    def smoke(self, name, *arguments, ranks=0, code=None):
        """The lines of results.jsonl of a study's smoke preset, after it ended VALID."""
        out = self.folder / name
        result = run('run', f'configs/{name}.yaml', '--set', 'preset=smoke', '--set', 'threads=1', '--out', out,
                     *arguments, ranks=ranks, code=code, cwd=program.REPOSITORY)
        self.assert_valid((result.stdout.strip() or result.stderr).splitlines()[-1])
        return result, program.lines(out)

    def test_every_preset_can_be_planned(self):
        for name in self.STUDIES:
            for preset in ('smoke', 'quick', 'paper'):
                run('plan', f'configs/{name}.yaml', '--set', f'preset={preset}', cwd=program.REPOSITORY, code=0)

    def test_odd_shapes_are_refused_and_the_study_goes_on(self):
        self.smoke('shape_sweep', '--set', 'device=cpu', code=0)
        points = program.points(self.folder / 'shape_sweep')
        self.assertEqual({line['status'] for line in points}, {'ok', 'refused'})
        for line in points:
            if line['status'] == 'refused':
                self.assertRegex(line['reason'], 'multiples of 8|mpirun -n 2')
        peaks = {(line['point']['image']['width'], line['point']['odd_shape']): line['summary']['pixels_per_forward']
                 for line in points if line['point']['network'] == 'drunet' and line['status'] == 'ok'}
        self.assertGreater(peaks[136, 'split'], peaks[132, 'split'], 'quadrants of the odd width are smaller')

    def test_two_ranks_run_the_tiles(self):
        _, lines = self.smoke('shape_sweep', '--set', 'device=cpu', '--set', 'network=drunet', ranks=2)
        tiles = [line for line in lines if line.get('point', {}).get('workload') == 'tiles']
        self.assertEqual([(line['status'], line['point']['settled']['num_ranks']) for line in tiles], [('ok', 2)])

    def test_the_largest_batch_is_found_and_nothing_fits_is_said(self):
        result, lines = self.smoke('max_batch', '--set', 'device=cpu', code=5)  # a point on which nothing fits is out of memory
        self.assertIn('nothing fits', result.stdout, 'in the table, where a batch would be')
        searches = {line['point']['patch']: line['batch_search'] for line in lines if line.get('batch_search')}
        self.assertEqual(searches[128]['largest_batch'], 0)
        self.assertEqual(searches[16]['limited_by'], 'windows')
        self.assertEqual(searches[32]['limited_by'], 'memory')
        largest = {each['label']: each for each in lines[-2]['largest_batches']}
        self.assertEqual(len(largest), 3)
        for line in lines:
            if line.get('batch_search') and line['status'] == 'ok':
                self.assertEqual(line['point']['settled']['batch'], line['batch_search']['largest_batch'])

    def test_points_say_together_what_they_are_for(self):
        _, lines = self.smoke('batch_fit', '--set', 'device=cpu')
        times = lines[-2]['batch_times']
        self.assertEqual([each['scope'] for each in times], ['forward', 'pipeline'])
        self.assertEqual([sample['batch'] for sample in times[1]['samples']], [1, 2, 4, 8, 16, 32, 64])
        self.assertEqual(times[1]['falling']['batches'], [1, 2, 4, 8, 16, 32, 64])
        _, lines = self.smoke('precision', '--set', 'device=cpu', code=0)
        variants = lines[-2]['variants']
        self.assertEqual([(group['by'], group['base']['variant']) for group in variants], [('dtype', 'fp32')])
        self.assertEqual([point['variant'] for point in variants[0]['points']], ['bf16'])
        self.assertTrue(variants[0]['points'][0]['every_window'])
        self.assertGreater(variants[0]['points'][0]['max_difference'], 1e-5, 'bf16 is not fp32')

    def test_engines_have_the_latency_of_a_call_and_what_they_start_with(self):
        _, lines = self.smoke('engines', code=0)
        points = [line for line in lines if line['type'] == 'point']
        self.assertEqual([point['point']['engine'] for point in points], ['torch', 'native'])
        for point in points:
            calls, figures = point['samples']['ranks'][0]['forward_call_s'], point['summary']
            self.assertEqual(len(calls), 10, '5 after each pass')
            self.assertLessEqual(min(calls), figures['call_low_s'])
            self.assertLessEqual(figures['call_low_s'], figures['call_s'])
            self.assertLessEqual(figures['call_s'], figures['call_p90_s'])
            self.assertLessEqual(figures['call_p90_s'], max(calls))
            for key in ('load_s', 'prepare_s', 'first_pass_s'):
                self.assertGreater(point['samples'][key], 0, key)
                self.assertEqual(point['samples'][key], figures[key])
            self.assertEqual(figures['engine_peak_mib'], figures['host_peak_mib'], 'the rank itself runs the network')
        group, = lines[-2]['variants']
        self.assertEqual((group['by'], group['base']['variant'], group['points'][0]['variant']),
                         ('engine', 'torch', 'native'))


class Refusals(program.ProgramTest):
    def test_unknown_key_names_its_place_and_a_suggestion(self):
        study = self.write('bad.yaml', 'patch: 64\npathc: 32\n')
        for ranks in (0, 2):
            result = run('run', study, ranks=ranks)
            self.assert_refused(result, 2, 'bad.yaml:2:1', "'pathc'", "'patch'")
            self.assertEqual(result.stderr.count('bad.yaml:2:1'), 1, 'said once')

    def test_an_option_without_the_value_that_it_announces_takes_no_other(self):
        result = run('denoise', 'a.png', 'b.png', '--nodata=', '--sigma', '0.1')
        self.assert_refused(result, 2, "'--nodata='")
        study = self.write('tiny.yaml', STUDY)
        for words, name in ((('run', study, '--out', ''), '--out'), (('report', ''), 'results'), (('run', ''), 'study'),
                            (('report', study, '--csv', ''), '--csv'), (('networks', '--export', ''), '--export')):
            self.assert_refused(run(*words), 2, name, 'is empty: give a value, or leave it out')

    def test_mistyped_commands_and_options_get_a_suggestion(self):
        study = self.write('tiny.yaml', STUDY)
        for words, suggestion in ((('rnu', study), ("'rnu'", "'run'")), (('Plan', study), ("'Plan'", "'plan'")),
                                  (('denois', 'a.png', 'b.png'), ("'denois'", "'denoise'")),
                                  (('run', study, '--dryrun'), ("'--dryrun'", "'--dry-run'")),
                                  (('denoise', 'a', 'b', '--sgima=0.1'), ("'--sgima'", "'--sigma'")),
                                  (('run', study, '--set', 'batch=1', 'patch=64'), ('patch=64', '--set a=1 --set b=2'))):
            self.assert_refused(run(*words), 2, *suggestion)
        result = run('run', study, '--qqqqqqqqqqqq')
        self.assert_refused(result, 2, '--qqqqqqqqqqqq')
        self.assertNotIn("'", result.stderr, 'nothing is suggested')
        twice = run('rnu', study, ranks=2)
        self.assertEqual(twice.stderr.count("'run'"), 1, 'said once')

    def test_help_shows_what_works(self):
        for command, option in (('run', '--set KEY=VALUE'), ('plan', '--set KEY=VALUE'), ('report', '--export FORMAT=FILE')):
            text = run(command, '--help').stdout
            self.assertIn(option, text)
            self.assertNotRegex(text, rf'{option.split()[0]} .*\.\.\.')
        study = self.write('tiny.yaml', STUDY)
        run('plan', '--set', 'batch=4', '--set', 'patch=16', study, code=0)

    def test_unnamed_studies_have_their_own_folders_and_paths_beside_them(self):
        (self.folder / 'studies').mkdir()
        self.write('studies/photo.png', program.png(48, 48))
        text = STUDY.replace('name: tiny\n', '').replace('batch: [1, 2]', 'batch: 1')
        first = self.write('studies/first.yaml', text.replace('image: {height: 64, width: 48}', 'image.path: photo.png'))
        second = self.write('studies/second.yaml', text)
        for study in (first, second):
            run('run', study.relative_to(self.folder), cwd=self.folder, code=0)
        for name in ('first', 'second'):
            self.assertTrue((self.folder / f'results/{name}/report.html').exists())
        point, = program.points(self.folder / 'results/first')
        self.assertEqual(point['point']['image']['path'], 'studies/photo.png')
        refused = run('plan', first, '--set', 'image.path=photo.png', cwd=self.folder)
        self.assert_refused(refused, 2, 'photo.png')

    def test_a_study_is_not_overwritten_by_its_results(self):
        for name in ('results.csv', 'results.jsonl', 'report.html'):
            study = self.write(name, STUDY)
            self.assert_refused(run('run', study, '--out', self.folder), 2, name)
            self.assertEqual(study.read_text(), STUDY)
            study.unlink()

    def test_illegal_patch_and_halo_name_the_nearest_legal_ones(self):
        study = self.write('bad.yaml', 'network: drunet\nweights: seed:1\nhalo: 8\npatch: 250\nimage: {height: 64, width: 64}\n')
        self.assert_refused(run('plan', study), 2, '250', '248', '256')

    def test_missing_things_are_named(self):
        self.assert_refused(run('run', self.folder / 'none.yaml'), 2, 'none.yaml')
        study = self.write('a.yaml', 'image.path: none.png\n')
        self.assert_refused(run('run', study, cwd=self.folder), 2, 'none.png')
        study = self.write('b.yaml', 'weights: none.pth\nimage: {height: 64, width: 64}\n')
        self.assert_refused(run('run', study, cwd=self.folder, ranks=2), 2, 'none.pth')
        study = self.write('late.yaml', 'weights: [seed:1, none.pth]\nimage: {height: 64, width: 64}\n')
        self.assert_refused(run('run', study, '--out', self.folder / 'late'), 2, 'none.pth')
        self.assertFalse((self.folder / 'late').exists(), 'before anything is measured')

    def test_cuda_without_a_gpu_says_why(self):
        if 'cuda:0' in run('check').stdout:
            self.skipTest('there is a GPU here')
        study = self.write('a.yaml', 'device: cuda\nweights: seed:1\nimage: {height: 64, width: 64}\n')
        self.assert_refused(run('run', study, cwd=self.folder), 2, 'CUDA')
        both = self.write('both.yaml', study.read_text().replace('cuda', '[cuda, cpu]') + 'network: dncnn\nstop.max_reps: 2\n')
        run('run', both, '--out', self.folder / 'both', code=0)
        self.assertEqual([point['status'] for point in program.points(self.folder / 'both')], ['refused', 'ok'])

    def test_command_line(self):
        run('--help', code=0)
        run('run', code=2)
        run('denoisse', code=2)
        for words in (('run', 'a.yaml', '--max-time', 'nan'), ('plan', 'a.yaml', '--tflops', 'nan'), ('check', '--timeout', '0'),
                      ('plan', 'a.yaml', '--ranks', '2000000000')):
            self.assertIn(f"{words[-2]}: '{words[-1]}'", run(*words, code=2).stderr)
        run(code=2)


class Information(program.ProgramTest):
    def test_version_networks_check(self):
        result = run('--version', code=0)
        for library in ('libtorch', 'nccl', 'mpi', 'onednn'):
            self.assertIn(library, result.stdout)
        for ranks in (0, 2):
            result = run('run', '--explain', ranks=ranks, code=0)
            self.assertEqual(result.stdout.count('| `pipeline_s` | s |'), 1, 'said once')
        result = run('networks', code=0)
        for fact in ('32640960', '2117568', '8564163', '668227'):
            self.assertIn(fact, result.stdout)
        for ranks in (0, 2):
            result = run('check', '--device', 'cpu', ranks=ranks, code=0)
            self.assertRegex(result.stdout.splitlines()[-1], r'^CHECK: (OK|\d+ findings?, 0 wrong)$')
            self.assertRegex(result.stdout, r'difference .*\d')
            self.assertEqual(len(re.findall(r'^ +\d+ .* cpu ', result.stdout, re.M)), max(1, ranks), 'a line each')

    def test_limits_of_the_process_are_found_by_check(self):
        result = run('check', '--device', 'cpu', before=['bash', '-c', 'ulimit -f 20480; exec "$0" "$@"'])
        self.assertIn('sizes of files are limited to 20480 KiB (ulimit -f)', result.stdout)

    def test_work_of_others_is_found_by_check(self):
        said = r'advice: \S+: .*other processes used \d+\.\d cores'
        busy = self.start([sys.executable, '-c', 'while True: pass'])
        for ranks in (0, 2):
            self.assertRegex(run('check', '--device', 'cpu', ranks=ranks, code=0).stdout, said)
        self.assertIsNone(busy.poll())
        kernel = self.folder / 'proc'  # whose counters stand still: nothing ran but the ranks
        kernel.mkdir()
        (kernel / 'stat').write_text(Path('/proc/stat').read_text())
        quiet = run('check', '--device', 'cpu', env={**os.environ, 'PATCHBENCH_PROC': str(kernel)}, code=0)
        self.assertNotRegex(quiet.stdout, 'other processes')

    def test_a_device_that_computes_nonsense_is_found_by_check(self):
        result = run('check', '--device', 'cpu', ranks=2, env={**os.environ, 'PATCHBENCH_FAULT': 'weights:change:1'}, code=3)
        for rank in (0, 1):
            self.assertRegex(result.stdout, fr'WRONG: rank {rank}@\S+: .* \d\.\d+e-0\d')
        self.assertRegex(result.stdout, r'CHECK: \d+ findings, 2 wrong')


if __name__ == '__main__':
    program.main()
