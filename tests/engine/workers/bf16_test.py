"""What adapters say of bf16 (engines/adapters/bf16.py) and do on a GPU (gpu.py), where this machine cannot show it:
processors without bf16, an OpenVINO that computes in another type than it was asked for, an ONNX Runtime that has a GPU;
and what the worker tells all frameworks of threads. Needs no framework."""
import importlib
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / 'engines'))
for absent in ('numpy', 'openvino', 'onnxruntime'):
    sys.modules.setdefault(absent, types.ModuleType(absent))

import worker  # noqa: E402
from adapters import bf16, gpu  # noqa: E402


class Value:
    """As rt_info of OpenVINO holds it."""

    def __init__(self, text):
        self.text = text

    def astype(self, _):
        return self.text


class Layer:
    def __init__(self, kind, precision, kernel):
        self.info = {'layerType': Value(kind), 'runtimePrecision': Value(precision), 'primitiveType': Value(kernel)}

    def get_rt_info(self):
        return self.info


class Compiled:
    def __init__(self, hint, layers):
        self.hint, self.layers = hint, layers

    def get_property(self, name):
        assert name == 'INFERENCE_PRECISION_HINT'
        return types.SimpleNamespace(get_type_name=lambda: self.hint)

    def get_runtime_model(self):
        return types.SimpleNamespace(get_ops=lambda: self.layers)


class ThreadsTest(unittest.TestCase):
    def test_they_spin_briefly_unless_the_user_chooses(self):
        for given, expected in (({}, '1000'), ({'GOMP_SPINCOUNT': '7'}, '7'), ({'OMP_WAIT_POLICY': 'active'}, None)):
            with self.subTest(given), mock.patch.dict(os.environ, given, clear=True):
                worker.limit_threads(2)
                self.assertEqual(os.environ.get('GOMP_SPINCOUNT'), expected)
                self.assertEqual(os.environ['OMP_NUM_THREADS'], '2')


class Bf16Test(unittest.TestCase):
    def processor(self, line):
        with tempfile.NamedTemporaryFile('w') as file:
            file.write(f'processor : 0\n{line}\n')
            file.flush()
            return bf16.processor_text(file.name)

    def test_the_processor_is_named(self):
        for line, found in (('flags : fpu avx2 avx512_bf16 sse', 'with avx512_bf16'), ('Features : fp bf16', 'with bf16'),
                            ('flags : avx512_bf16 amx_bf16', 'with amx_bf16'),
                            ('flags : fpu avx2 avx512f', 'without bf16 instructions'), ('', 'without bf16 instructions')):
            self.assertEqual(self.processor(line), 'on a processor ' + found)

    def test_convolutions_of_xla_are_counted_by_their_type(self):
        compiled = ('%a = bf16[1,8,8,4]{3,2,1,0} convolution(%x, %w), window={size=3x3}\n'
                    'ROOT %b = f32[1,8,8,4]{3,2,1,0} convolution(%a, %w)\n'
                    '%c = bf16[1,8,8,4]{3,2,1,0} convert(%b)\n')
        self.assertEqual(bf16.xla_text(compiled), 'XLA computes 1 of 2 convolutions in bf16, the others in f32')

    def test_openvino_that_ignores_the_hint_is_said(self):
        adapter = importlib.import_module('adapters.openvino_adapter')
        layers = [Layer('Convolution', 'f32', 'brgconv_avx2_f32'), Layer('Reorder', 'bf16', 'reorder')]
        self.assertRegex(adapter.arithmetic_of(Compiled('f32', layers)),
                         r'^OpenVINO computes in f32 .*: 0 of 1 convolutions in bf16, the others in f32 '
                         r'\(brgconv_avx2_f32\)$')
        layers[0] = Layer('Convolution', 'bf16', 'brgconv_avx512_bf16')
        self.assertRegex(adapter.arithmetic_of(Compiled('bf16', layers)),
                         r'^OpenVINO computes in bf16 .*: 1 of 1 convolutions in bf16 \(brgconv_avx512_bf16\)$')


class Windows:
    """What gpu.py asks of an array of NumPy."""

    def __init__(self, *shape):
        self.shape = shape
        self.nbytes = 4
        self.__array_interface__ = {'data': (4096, False)}


class GpuTest(unittest.TestCase):
    def test_the_device_is_a_number(self):
        self.assertEqual(gpu.index_of({'device': 'cuda:3'}), 3)
        self.assertIsNone(gpu.index_of({'device': 'cpu'}))
        self.assertIsNone(gpu.index_of({}))

    def test_a_call_goes_there_and_back_and_its_copies_are_timed(self):
        adapter, done = {}, []
        step = lambda name, gives: lambda *given: done.append((name, *given)) or gives
        windows, out, there, result = Windows(1, 4), Windows(1, 3), object(), Windows(1, 3)
        call = gpu.call_by_steps(adapter, step('to', there), step('compute', result), step('back', None))
        call(windows, out)
        self.assertEqual(done, [('to', windows), ('compute', there), ('back', result, out)])
        self.assertTrue(all(nanoseconds > 0 for nanoseconds in adapter['COPY_NS']))

    def test_another_shape_is_refused_before_it_is_copied(self):
        back = lambda *_: self.fail('was copied')
        call = gpu.call_by_steps({}, lambda x: x, lambda x: Windows(1, 2), back)
        with self.assertRaisesRegex(ValueError, r'\(1, 2\) instead of \(1, 3\)'):
            call(Windows(1, 4), Windows(1, 3))

    def test_onnxruntime_chooses_providers_or_says_which_it_lacks(self):
        adapter = importlib.import_module('adapters.onnxruntime_adapter')
        has = ['CUDAExecutionProvider', 'CPUExecutionProvider']
        adapter.onnxruntime.get_available_providers = lambda: has
        options = {'device': 'cuda:2', 'dtype': 'fp32'}
        self.assertEqual(adapter.providers_of({'device': 'cpu'})[0][0], 'CPUExecutionProvider')
        self.assertEqual(adapter.providers_of(options), [('CUDAExecutionProvider', {'device_id': 2, 'use_tf32': 0})])
        self.assertEqual(adapter.providers_of(options | {'dtype': 'tf32'})[0][1]['use_tf32'], 1)
        with self.assertRaisesRegex(RuntimeError, 'cuda:2 .*no TensorrtExecutionProvider.*--gpu --only onnxruntime'):
            adapter.providers_of(options | {'tensorrt': ''})
        has.insert(0, 'TensorrtExecutionProvider')
        self.assertEqual([name for name, _ in adapter.providers_of(options | {'tensorrt': ''})], has[:2])


if __name__ == '__main__':
    unittest.main()
