"""Whole files of every kind for the fuzzers to damage, and their words: `python3 make_corpus.py FOLDER results.jsonl`.
Small, made here: no LibTorch, no downloads."""
import collections
import io
import json
import pickle
import re
import shutil
import struct
import sys
import types
import zipfile
from pathlib import Path

import onnx_models
import whole_images

REPOSITORY = Path(__file__).resolve().parents[2]

YAML = {
    'axes': 'network: [drunet, unet, dncnn]\nweights: seed:1\npatch: {from: 64, to: 256, factor: 2}\nhalo: [none, exact, 8]\n'
            'batch: [1, largest]\nimage: {height: 64, width: 96, noise_sigma: 0.1}\n',
    'groups': 'name: g\nwatchdog_s: 5\nstop: {min_reps: 2, rel_width: 0.01}\ngroups:\n  - {batch: [1, 2], dtype: [fp32, bf16]}\n'
              '  - zip: {patch: [64, 128], batch: [4, 1]}\n    exclude: [{patch: 64}]\n',
    'simulated': 'engine: timed\ntimed: {table: "1:0.01,4:0.03"}\nschedule: dynamic\nranks: [1, all]\n',
    'raw': 'image: {path: a.raw, raw: 64x96x3:u16}\npreset: fast\npresets: {fast: {batch: {from: 1, to: 3, step: 1}}}\n',
    'references': 'image: &size {height: 64, width: 64}\ngroups:\n  - {image: *size, batch: 2}\n',
}


def write(folder, name, content):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


# Checkpoints: what torch.save writes, with stand-ins for the names of torch that its pickles mention.

def stand_in(module, name, value):
    full = sys.modules.setdefault(module, types.ModuleType(module))
    value.__module__, value.__qualname__ = module, name
    setattr(full, name, value)
    return value


FloatStorage = stand_in('torch', 'FloatStorage', type('FloatStorage', (), {}))
HalfStorage = stand_in('torch', 'HalfStorage', type('HalfStorage', (), {}))
rebuild = stand_in('torch._utils', '_rebuild_tensor_v2', lambda *arguments: None)
rebuild.__name__ = '_rebuild_tensor_v2'


class Storage:
    def __init__(self, kind, key, content):
        self.kind, self.key, self.content = kind, key, content
        self.count = len(content) // (4 if kind is FloatStorage else 2)


class Tensor:
    def __init__(self, storage, offset, shape, stride):
        self.parts = (storage, offset, shape, stride, False, collections.OrderedDict())

    def __reduce__(self):
        return rebuild, self.parts


class Pickler(pickle.Pickler):
    legacy = False

    def persistent_id(self, value):
        if not isinstance(value, Storage):
            return None
        return ('storage', value.kind, value.key, 'cpu', value.count) + ((None,) if self.legacy else ())


def pickled(value, legacy=False):
    stream = io.BytesIO()
    pickler = Pickler(stream, 2)
    pickler.legacy = legacy
    pickler.dump(value)
    return stream.getvalue()


def zip_pth(value, storages):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, 'w') as file:
        parts = [('data.pkl', pickled(value)), *((f'data/{storage.key}', storage.content) for storage in storages),
                 ('version', '3\n')]
        for name, content in parts:
            file.writestr(zipfile.ZipInfo(f'archive/{name}'), content)  # without the time of day: the same bytes always
    return archive.getvalue()


def legacy_pth(value, storages):
    head = (0x1950a86a20f9469cfc6c, 1001, {'protocol_version': 1001, 'little_endian': True,
                                           'type_sizes': {'short': 2, 'int': 4, 'long': 4}})
    keys = pickle.dumps([storage.key for storage in storages], 2)
    stored = b''.join(struct.pack('<q', storage.count) + storage.content for storage in storages)
    return b''.join(pickle.dumps(part, 2) for part in head) + pickled(value, legacy=True) + keys + stored


def safetensors():
    header = json.dumps({'__metadata__': {'sigma_train': '0.25'},
                         'a': {'dtype': 'F32', 'shape': [2, 3], 'data_offsets': [0, 24]},
                         'b': {'dtype': 'BF16', 'shape': [4], 'data_offsets': [24, 32]}}).encode()
    return struct.pack('<Q', len(header)) + header + bytes(32)


def checkpoints(folder):
    storages = [Storage(FloatStorage, '0', struct.pack('<24f', *range(24))), Storage(HalfStorage, '1', bytes(8))]
    weights = collections.OrderedDict(
        [('first.weight', Tensor(storages[0], 0, (2, 3, 2, 2), (12, 4, 2, 1))),
         ('first.bias', Tensor(storages[0], 2, (3, 2), (2, 5))), ('half', Tensor(storages[1], 0, (4,), (1,)))])
    wrapped = {f'module._orig_mod.model.{key}': value for key, value in weights.items()}
    for name, value in (('plain', weights), ('lightning', {'state_dict': weights, 'epoch': 3, 'best': 31.5}),
                        ('averages', {'model': weights, 'ema': {'model': wrapped, 'updates': 3},
                                      'milestones': collections.Counter([10, 20])})):
        write(folder, f'{name}.zip.pth', zip_pth(value, storages))
        write(folder, f'{name}.legacy.pth', legacy_pth(value, storages))
    write(folder, 'plain.safetensors', safetensors())


def results(folder, whole):
    """The study with each of its other lines: mutation goes further in short files."""
    study, *lines = whole.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines):
        if len(line) < 10000:  # the summary of all points is kept as it is, unread
            write(folder, f'{number}.jsonl', study + line)


def write_words(folder):
    """What libFuzzer calls a dictionary: keys and values are hard to come by bit by bit."""
    for kind in [path for path in folder.iterdir() if path.is_dir()]:
        words = {word for file in kind.iterdir() for word in re.findall(rb'[A-Za-z_][\w.]{2,40}', file.read_bytes())}
        write(folder, f'{kind.name}.words', b''.join(b'"' + word + b'"\n' for word in sorted(words)))


def main():
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in YAML.items():
        write(folder / 'yaml', f'{name}.yaml', text)
    for study in (REPOSITORY / 'configs').rglob('*.yaml'):
        write(folder / 'yaml', study.name, study.read_bytes())
    checkpoints(folder / 'checkpoint')
    for name, content in onnx_models.models().items():
        write(folder / 'onnx', name, content)
    for name, content in whole_images.images().items():
        write(folder / 'image', name, content)
    results(folder / 'results', Path(sys.argv[2]))
    write_words(folder)


if __name__ == '__main__':
    main()
