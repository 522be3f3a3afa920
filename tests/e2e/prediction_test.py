"""The peak that `plan` predicts, beside the one that the engine's allocator counts: within 10 % for every kind of point."""
import program
from program import run

STUDY = """
name: predicted
weights: seed:1
device: cpu
bounds: off
save_images: false
verify.mode: off
warmup.reps: 0
forward_calls: 0
stop: {min_reps: 1, max_time_s: 0}
network: [drunet, unet, dncnn]
groups:
  - {dtype: [fp32, bf16], image: {height: 64, width: 64}, patch: 32, halo: 8, batch: [1, 3]}
  - {image: {height: 64, width: 64}, patch: 16, halo: none, batch: 3, last_batch: ragged}
  - {image: {height: 64, width: 64, channels: 1}, patch: 64, halo: none, batch: 1}
  - {image: {height: 128, width: 128}, patch: 128, halo: none, batch: 1, layout: contiguous, threads: [1, 2]}
  - {workload: whole, image: {height: 128, width: [128, 132]}, odd_shape: [split, pad]}
"""


class Prediction(program.ProgramTest):
    def test_every_peak_is_within_ten_percent_of_what_was_predicted(self):
        run('run', self.write('study.yaml', STUDY), '--out', self.folder / 'out', code=0)
        points = [point for point in program.points(self.folder / 'out') if point['status'] == 'ok']
        self.assertEqual(len(points), 36)
        for point in points:
            summary = point['summary']
            self.assertAlmostEqual(summary['allocated_peak_mib'] / summary['predicted_peak_mib'], 1, delta=0.1,
                                   msg=f'{point["index"]}: {point["label"]}, layout {point["point"]["layout"]}')

    def test_plan_says_how_it_predicts(self):
        result = run('plan', self.write('study.yaml', STUDY), code=0)
        self.assertIn('drunet, engine torch, fp32, channels_last, 3 channels: 124.5 MiB + 28 B x pixels', result.stdout)
        self.assertIn('drunet, engine torch, bf16, 1 window of 48 x 48 cropped to what the core needs: 62.3 MiB of weights + ', result.stdout)

    def test_plan_needs_no_gpu_to_plan_for_gpus(self):
        study = self.write('study.yaml', 'weights: seed:1\nimage: {height: 96, width: 96}\npatch: 64\nhalo: 8\n')
        for options in (('--set', 'device=cuda'), ('--gpu-memory', '0.0078')):
            result = run('plan', study, '--ranks', '2', *options, code=0)
            self.assertRegex(result.stdout, r'(?m)^\d+ .* cuda +2 ')
        self.assertRegex(result.stdout, r'a rank is predicted to take \d+ MiB, and its GPU has 8 for it\n')
        self.assertIn('cpu', run('plan', study, '--ranks', '2').stdout)

    def test_plan_says_what_other_nodes_send(self):
        """Half of 24 windows of 100 x 100 pixels with 3 channels in fp32: 1.44 MB."""
        study = self.write('study.yaml', 'weights: seed:1\nnetwork: dncnn\nimage: {height: 400, width: 600}\npatch: 100\nhalo: 8\n')
        nodes = ('--ranks', '4', '--ranks-per-node', '2')
        sent = 'other nodes send 1.373 MiB of the output to rank 0 in each pass'
        self.assertRegex(run('plan', study, *nodes, code=0).stdout, f'(?m){sent}$')
        at = run('plan', study, *nodes, '--bandwidth', '1', '--latency', '1', code=0).stdout
        self.assertIn(f'{sent}: 0.00144 s at 1 GB/s, beside the predicted time', at)


if __name__ == '__main__':
    program.main()
