"""patchbench denoise with weights that say, or do not say, what noise level they were trained for."""
import hashlib
import json
import os
import re
import struct
import unittest.mock

import program
from program import png, run

SHIPPED = program.REPOSITORY / 'models/dncnn_color_sigma0.1.safetensors'
FAST = ('--halo', '8', '--patch', '32', '--batch', '2', '--device', 'cpu', '--verify', '1')


def with_metadata(metadata):
    """The shipped tensors under another header."""
    content = SHIPPED.read_bytes()
    length = struct.unpack('<Q', content[:8])[0]
    header = json.loads(content[8:8 + length])
    del header['__metadata__']
    if metadata is not None:
        header['__metadata__'] = metadata
    text = json.dumps(header).encode()
    return struct.pack('<Q', len(text)) + text + content[8 + length:]


class TrainedSigma(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.photo = self.write('photo.png', png(40, 36, value=lambda x, y, c: (x * 7 + y * 13 + (x * y * 31 + c * 57) % 97) % 256))

    def denoise(self, *more):
        out = self.folder / 'out.png'
        result = run('denoise', self.photo, out, *FAST, *more, code=0)
        return out.read_bytes(), result.stdout

    def test_the_same_tensors_give_the_same_bytes_where_it_is_stated(self):
        keyed = self.write('keyed.safetensors', with_metadata({'sigma_train': '0.1'}))
        bare = self.write('bare.safetensors', with_metadata(None))
        other = self.write('other.safetensors', with_metadata({'sigma_train': '0.3'}))
        outputs = {}
        for sigma in ('0.05', '0.2'):
            expected, line = self.denoise('--sigma', sigma, '--weights', SHIPPED)
            self.assertIn(f'sigma {sigma},', line)
            for more in ((keyed,), (bare, '--trained-sigma', '0.1'), (bare, '--trained-sigma', '25.5/255'),
                         (other, '--trained-sigma', '0.1'), (keyed, '--trained-sigma', 'auto')):
                got, line = self.denoise('--sigma', sigma, '--weights', *more)
                self.assertEqual(got, expected, more)
                self.assertIn(f'sigma {sigma},', line)
            outputs[sigma] = expected
        self.assertNotEqual(outputs['0.05'], outputs['0.2'])

    def test_a_file_that_the_card_knows_needs_no_metadata(self):
        bare = self.write('bare.safetensors', with_metadata(None))
        (self.folder / 'models').mkdir()
        self.write('models/dncnn.yaml', f"""
weights:
  - name: bare
    file: bare.safetensors
    channels: 3
    layout: deepinv
    sigma_train: 0.1
    sha256: {hashlib.sha256(bare.read_bytes()).hexdigest()}
""")
        expected = self.denoise('--sigma', '0.05', '--weights', SHIPPED)[0]
        with unittest.mock.patch.dict(os.environ, PATCHBENCH_MODELS=str(self.folder / 'models')):
            got, line = self.denoise('--sigma', '0.05', '--weights', bare)
        self.assertIn('sigma 0.05,', line)
        self.assertEqual(got, expected)

    def test_a_sigma_without_effect_is_not_named(self):
        bare = self.write('bare.safetensors', with_metadata(None))
        for sigma in ('0.05', '0.2'):
            line = self.denoise('--sigma', sigma, '--weights', bare)[1]
            self.assertNotIn(f'sigma {sigma}', line)
            for word in ('note: ', str(bare), '--trained-sigma', 'sigma_train'):
                self.assertIn(word, line)

    def test_another_sigma_than_the_weights_say_is_named(self):
        line = self.denoise('--sigma', '0.05', '--weights', SHIPPED, '--trained-sigma', '0.2')[1]
        self.assertRegex(line, rf'note: trained_sigma = 0\.2 .*{re.escape(str(SHIPPED))} .*0\.1\b')
        line = self.denoise('--sigma', '0.05', '--weights', SHIPPED, '--trained-sigma', '0.1')[1]
        self.assertNotIn('trained_sigma', line)

    def test_a_level_beyond_the_training_is_named(self):
        for sigma, is_beyond in ((0.2, False), (0.3, True)):
            line = self.denoise('--network', 'drunet', '--weights', 'default', '--sigma', sigma)[1]
            self.assertEqual('was trained for noise up to 0.2, not 0.3' in line, is_beyond, line)

    def test_a_level_far_below_the_training_is_named(self):
        """At a fifth of it PSNR still rises."""
        for sigma, named in (('0.019', True), ('0.02', False), ('0.5', False)):
            said = self.denoise('--sigma', sigma, '--weights', SHIPPED)[1]
            self.assertEqual(f'trained for noise of 0.1, far above {sigma}: details are smoothed away' in said, named, said)

    def test_another_level_than_that_of_the_image_is_named_beside_it(self):
        said = self.denoise('--sigma', '0.001', '--weights', SHIPPED)[1]
        self.assertIn('note: the noise seems to be about', said)
        self.assertIn('; note: the weights were trained for noise of 0.1, far above 0.001', said)

    def test_a_unet_is_told_no_sigma(self):
        line = self.denoise('--network', 'unet', '--weights', 'seed:1', '--allow-untrained', '--sigma', '0.05')[1]
        self.assertNotIn('sigma 0.05', line)

    def test_a_study_records_none_where_it_had_no_effect(self):
        bare = self.write('bare.safetensors', with_metadata(None))
        study = self.write('study.yaml', f"""
image: {{height: 40, width: 36}}
weights: {bare}
device: cpu
patch: 32
halo: 8
trained_sigma: [auto, 0.1]
stop: {{min_reps: 1, max_time_s: 0}}
bounds: off
""")
        result = run('run', study, '--out', self.folder / 'results')
        self.assertRegex(result.stdout, rf'sigma .*{re.escape(str(bare))}.*trained_sigma', result.stderr)
        points = program.points(self.folder / 'results')
        self.assertEqual([point['point']['settled']['sigma'] for point in points], [None, 0.1])

    def test_what_is_no_noise_level_is_refused_by_name(self):
        for text in ('25', '0', '1e-300', '-0.1', 'nan', 'inf', '', '0.1 ', '0.1\n0.2', '1e-1x'):
            wrong = self.write('wrong.safetensors', with_metadata({'sigma_train': text}))
            result = run('denoise', self.photo, self.folder / 'out.png', *FAST, '--sigma', '0.1', '--weights', wrong)
            self.assert_refused(result, 2, 'wrong.safetensors', "'sigma_train'")
        wrong = self.write('wrong.safetensors', with_metadata({'sigma_train': 0.1}))
        result = run('denoise', self.photo, self.folder / 'out.png', *FAST, '--sigma', '0.1', '--weights', wrong)
        self.assert_refused(result, 2, 'wrong.safetensors', 'sigma_train')
        wrong = self.write('wrong.safetensors', with_metadata({'sigma_train': '0.1', 'sigma': '0.2'}))
        result = run('denoise', self.photo, self.folder / 'out.png', *FAST, '--sigma', '0.1', '--weights', wrong)
        self.assert_refused(result, 2, 'wrong.safetensors', "'sigma'", "'sigma_train'")
        for text in ('25', '0', '-0.5', '', '1/0', 'none'):
            result = run('denoise', self.photo, self.folder / 'out.png', *FAST, '--sigma', '0.1', '--trained-sigma', text)
            self.assert_refused(result, 2, '--trained-sigma')


if __name__ == '__main__':
    program.main()
