"""The digest of a network of Python code (engines/adapters/custom_torch.py): each tensor it computes with is in it.

Runs under the Python of the engine pytorch; skipped (exit code 77) where that is not installed."""
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PYTHON = pathlib.Path(os.environ.get('PATCHBENCH_ENGINES', ROOT / '.engines')) / 'pytorch' / 'bin' / 'python'
if not PYTHON.exists():
    print('skipped: launch/engines.sh --only pytorch')
    sys.exit(77)
if pathlib.Path(sys.prefix) != PYTHON.parents[1]:
    os.execv(PYTHON, [str(PYTHON), '-B', '-W', 'ignore', *sys.argv])

sys.path.insert(0, str(ROOT / 'engines' / 'adapters'))
import custom_torch  # noqa: E402
import torch  # noqa: E402


class Network(torch.nn.Module):
    """Tensors of every kind, all zeros."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(1, 2, 3)
        torch.nn.init.zeros_(self.layer.weight)
        torch.nn.init.zeros_(self.layer.bias)
        self.register_buffer('kept', torch.zeros(2))
        self.register_buffer('passing', torch.zeros(2), persistent=False)
        self.held = torch.zeros(2)
        self.half = torch.zeros(3, dtype=torch.bfloat16)
        self.flag = torch.tensor(False)
        self.sparse = torch.zeros(3, 3).to_sparse()
        self.complex = torch.zeros(2, dtype=torch.complex64).conj()
        self.negative = torch._neg_view(torch.zeros(3))
        self.quantized = torch.quantize_per_tensor(torch.zeros(3), 0.1, 0, torch.qint8)
        self.lazy = torch.nn.LazyLinear(3)
        self.shape_only = torch.zeros(3, device='meta')
        self.empty = torch.zeros(0)


def changed(name):
    """The network with ones for the tensor of this name."""
    network = Network()
    owner, _, key = name.rpartition('.')
    module = network.get_submodule(owner)
    value = getattr(module, key)
    if name == 'quantized':
        ones = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
    else:
        ones = torch.ones(value.shape, dtype=value.dtype)
    if name == 'sparse':
        ones = ones.to_sparse()
    setattr(module, key, torch.nn.Parameter(ones) if isinstance(value, torch.nn.Parameter) else ones)
    return network


class Digest(unittest.TestCase):
    def test_each_tensor_is_in_it(self):
        same = custom_torch.digest_of(Network())
        self.assertEqual(custom_torch.digest_of(Network()), same)
        self.assertRegex(same, '^[0-9a-f]{64}$')
        names = ('layer.weight', 'layer.bias', 'kept', 'passing', 'held', 'half', 'flag', 'sparse', 'complex', 'negative', 'quantized')
        digests = {custom_torch.digest_of(changed(name)) for name in names}
        self.assertEqual(len(digests - {same}), len(names))

    def test_a_tensor_under_another_name_is_another(self):
        network = Network()
        network.other = network.held
        del network.held
        self.assertNotEqual(custom_torch.digest_of(network), custom_torch.digest_of(Network()))

    def test_scripts_have_one_and_functions_have_none(self):
        scripts = [torch.jit.script(torch.nn.Conv2d(1, 1, 3)) for _ in range(2)]
        self.assertNotEqual(*map(custom_torch.digest_of, scripts))
        self.assertEqual(custom_torch.digest_of(lambda image: image), '')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
