#!/usr/bin/env python3
"""Networks between this program and others, as ONNX: ONNX Runtime computes what was exported here, and what PyTorch
exported is read here. Both must give what `denoise` gives."""

import os
import subprocess
from pathlib import Path

from readers import HERE  # first: it makes the packages below known

import numpy as np
import onnx
import onnxruntime
import program
from program import run

SIGMA = 0.1
ALLOWED = 5e-5  # of the largest value: fp32 through up to 80 layers, summed in another order
TORCH_PYTHON = HERE.parents[1] / '.venv/bin/python'

# Written with PyTorch's modules and nothing of this project: a DnCNN with batch norm in its own names, and a UNet of two
# scales. Saves the model, and what PyTorch computes for the image.
EXPORTER = '''
import sys, numpy, torch
from torch import nn

def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1),
                         nn.BatchNorm2d(o), nn.ReLU())

class Dncnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1),
                                  nn.BatchNorm2d(12), nn.ReLU(), nn.Dropout(), nn.Conv2d(12, 3, 3, padding=1))
    def forward(self, x):
        return x - self.body(x)

class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.joined = block(3, 8), block(8, 12), block(16, 8)
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(12, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.last = nn.Conv2d(8, 3, 1)
    def forward(self, x):
        skip = self.first(x)
        low = self.second(nn.functional.max_pool2d(skip, 2))
        return x + self.last(self.joined(torch.cat([skip, self.up(low)], 1)))

network, folder = sys.argv[1:]
torch.manual_seed(3)
model = {'dncnn': Dncnn, 'unet': Unet}[network]()
for module in model.modules():
    if isinstance(module, nn.BatchNorm2d):
        nn.init.uniform_(module.weight, 0.5, 1.5); nn.init.uniform_(module.bias, -0.2, 0.2)
        nn.init.uniform_(module.running_mean, -0.2, 0.2); nn.init.uniform_(module.running_var, 0.5, 1.5)
model.eval()
image = torch.from_numpy(numpy.load(folder + '/in.npy')).permute(2, 0, 1)[None]
torch.onnx.export(model, torch.zeros(1, 3, 16, 16), folder + '/model.onnx', dynamo=False, opset_version=17,
                  dynamic_axes={'x': {0: 'n', 2: 'h', 3: 'w'}}, input_names=['x'])
with torch.no_grad():
    numpy.save(folder + '/expected.npy', model(image)[0].permute(1, 2, 0).contiguous().numpy())
'''


class OnnxTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.image = np.random.default_rng(5).uniform(0, 1, (48, 64, 3)).astype(np.float32)
        np.save(self.folder / 'in.npy', self.image)

    def denoise(self, network, weights):
        """The whole image as one window."""
        run('denoise', self.folder / 'in.npy', self.folder / 'out.npy', '--network', network, '--weights', weights,
            '--allow-untrained', '--patch', '64', '--batch', '1', '--device', 'cpu', '--sigma', SIGMA, code=0)
        return np.load(self.folder / 'out.npy')

    def expect_alike(self, ours, theirs):
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLess(np.abs(ours - theirs).max(), ALLOWED * np.abs(theirs).max())
        self.assertGreater(np.abs(theirs - self.image).max(), 1e-3)  # the network does something

    def compute(self, model, network):
        """By ONNX Runtime, as the second of two images of one batch."""
        image = np.moveaxis(self.image, -1, 0)
        if network == 'drunet':
            image = np.concatenate([image, np.full_like(image[:1], SIGMA)])
        session = onnxruntime.InferenceSession(model, providers=['CPUExecutionProvider'])
        (output,) = session.run(None, {session.get_inputs()[0].name: np.stack([np.zeros_like(image), image])})
        return np.moveaxis(output[1], 0, -1)

    def test_onnx_runtime_computes_what_denoise_does(self):
        for network in ('dncnn', 'unet', 'drunet'):
            with self.subTest(network):
                model = self.folder / f'{network}.onnx'
                exported = run('networks', '--export', model, '--network', network, '--weights', 'seed:7', code=0)
                self.assertIn(str(model), exported.stdout)
                onnx.checker.check_model(str(model), full_check=True)
                self.expect_alike(self.denoise(network, 'seed:7'), self.compute(model, network))

    def test_what_was_exported_is_read_again_to_the_same_bytes(self):
        model = self.folder / 'model.onnx'
        run('networks', '--export', model, code=0)
        self.assertEqual(self.denoise('dncnn', model).tobytes(), self.denoise('dncnn', 'default').tobytes())

    def test_denoise_computes_what_pytorch_exported(self):
        if not TORCH_PYTHON.exists() or subprocess.run([TORCH_PYTHON, '-c', 'import torch'], capture_output=True).returncode:
            self.skipTest(f'no torch in {TORCH_PYTHON}')  # LibTorch is another one, of PATCHBENCH_TORCH
        site = next(Path(HERE, '.venv/lib').glob('python3*/site-packages'))  # of onnx, which PyTorch's exporter needs
        for network in ('dncnn', 'unet'):
            with self.subTest(network):
                subprocess.run([TORCH_PYTHON, '-c', EXPORTER, network, self.folder], check=True, capture_output=True, text=True,
                               timeout=300, env=dict(os.environ, PYTHONPATH=str(site)))
                self.expect_alike(self.denoise(network, self.folder / 'model.onnx'), np.load(self.folder / 'expected.npy'))


if __name__ == '__main__':
    program.main()
