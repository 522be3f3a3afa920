"""Whole files of every kind for the fuzzers to damage, and their words: `python3 make_corpus.py FOLDER results.jsonl`.
Small, made here: no LibTorch, no downloads."""
import base64
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
import zlib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

YAML = {
    'axes': 'network: [drunet, unet, dncnn]\nweights: seed:1\npatch: {from: 64, to: 256, factor: 2}\nhalo: [none, exact, 8]\n'
            'batch: [1, largest]\nimage: {height: 64, width: 96, noise_sigma: 0.1}\n',
    'groups': 'name: g\nwatchdog_s: 5\nstop: {min_reps: 2, rel_width: 0.01}\ngroups:\n  - {batch: [1, 2], dtype: [fp32, bf16]}\n'
              '  - zip: {patch: [64, 128], batch: [4, 1]}\n    exclude: [{patch: 64}]\n',
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


def checkpoints(folder):
    storages = [Storage(FloatStorage, '0', struct.pack('<24f', *range(24))), Storage(HalfStorage, '1', bytes(8))]
    weights = collections.OrderedDict(
        [('first.weight', Tensor(storages[0], 0, (2, 3, 2, 2), (12, 4, 2, 1))),
         ('first.bias', Tensor(storages[0], 2, (3, 2), (2, 5))), ('half', Tensor(storages[1], 0, (4,), (1,)))])
    for name, value in (('plain', weights), ('lightning', {'state_dict': weights, 'epoch': 3, 'best': 31.5})):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, 'w') as file:
            file.writestr('archive/data.pkl', pickled(value))
            for storage in storages:
                file.writestr(f'archive/data/{storage.key}', storage.content)
            file.writestr('archive/version', '3\n')
        write(folder, f'{name}.zip.pth', archive.getvalue())
        head = b''.join(pickle.dumps(part, 2) for part in (0x1950a86a20f9469cfc6c, 1001, {
            'protocol_version': 1001, 'little_endian': True, 'type_sizes': {'short': 2, 'int': 4, 'long': 4}}))
        stored = b''.join(struct.pack('<q', storage.count) + storage.content for storage in storages)
        keys = pickle.dumps([storage.key for storage in storages], 2)
        write(folder, f'{name}.legacy.pth', head + pickled(value, legacy=True) + keys + stored)
    header = json.dumps({'__metadata__': {'sigma_train': '0.25'},
                         'a': {'dtype': 'F32', 'shape': [2, 3], 'data_offsets': [0, 24]},
                         'b': {'dtype': 'BF16', 'shape': [4], 'data_offsets': [24, 32]}}).encode()
    write(folder, 'plain.safetensors', struct.pack('<Q', len(header)) + header + bytes(32))


# Images

JPEG = base64.b64decode(  # 8 x 8, gray, with an orientation in its EXIF block
    '/9j/4AAQSkZJRgABAQAAAQABAAD/4QAiRXhpZgAATU0AKgAAAAgAAQESAAMAAAABAAYAAAAAAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8U'
    'HRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/wAALCAAIAAgBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAB//EABYQAAMAAAAAAAAA'
    'AAAAAAAAAAAFQv/aAAgBAQAAPwAeSSf/2Q==')


def npy(kind, shape, sample_bytes):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + '\n'
    count = sample_bytes
    for extent in shape:
        count *= extent
    return b'\x93NUMPY\1\0' + struct.pack('<H', len(header)) + header.encode() + bytes(i % 61 for i in range(count))


def tiff(width, height, channels=1, bits=8, order='<', big=False, tile=0, deflate=False):
    """Strips of 8 rows, or tiles. Directory first, then its long values, then the blocks."""
    bytes_a_sample = bits // 8
    block_rows, block_width = (tile, tile) if tile else (8, width)
    across, down = -(-width // block_width), -(-height // block_rows)
    block = bytes(i % 251 for i in range(block_rows * block_width * channels * bytes_a_sample))
    block = zlib.compress(block) if deflate else block
    blocks = across * down
    offset_kind, offset_format = (16, 'Q') if big else (4, 'I')
    entries = [(256, 4, [width]), (257, 4, [height]), (258, 3, [bits] * channels), (259, 3, [8 if deflate else 1]),
               (262, 3, [2 if channels == 3 else 1]), (277, 3, [channels]), (284, 3, [1])]
    places, lengths = ((324, 325) if tile else (273, 279))
    entries += [(322, 4, [tile]), (323, 4, [tile])] if tile else [(278, 4, [block_rows])]
    entries += [(places, offset_kind, None), (lengths, 4, [len(block)] * blocks)]
    entries.sort()
    formats = {3: 'H', 4: 'I', 16: 'Q'}
    word, inline = ('Q', 8) if big else ('I', 4)
    head = (b'II' if order == '<' else b'MM') + (struct.pack(order + 'HHHQ', 43, 8, 0, 16) if big else
                                                 struct.pack(order + 'HI', 42, 8))
    table_bytes = (8 if big else 2) + len(entries) * (20 if big else 12) + (8 if big else 4)
    extra_at = len(head) + table_bytes
    sizes = [(blocks if values is None else len(values)) * struct.calcsize(formats[kind]) for _, kind, values in entries]
    first_block = extra_at + sum(size for size in sizes if size > inline)
    table, extra = struct.pack(order + ('Q' if big else 'H'), len(entries)), b''
    for (tag, kind, values), size in zip(entries, sizes):
        if values is None:
            values = [first_block + i * len(block) for i in range(blocks)]
        packed = struct.pack(f'{order}{len(values)}{formats[kind]}', *values)
        table += struct.pack(order + 'HH' + word, tag, kind, len(values))
        table += packed.ljust(inline, b'\0') if size <= inline else struct.pack(order + word, extra_at + len(extra))
        extra += b'' if size <= inline else packed
    return head + table + struct.pack(order + word, 0) + extra + block * blocks


def png(colour, channels):
    def chunk(kind, content):
        return struct.pack('>I', len(content)) + kind + content + struct.pack('>I', zlib.crc32(kind + content))
    rows = b''.join(b'\1' + bytes((x * 7 + y) % 256 for x in range(12 * channels)) for y in range(9))
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 12, 9, 8, colour, 0, 0, 0)) +
            chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))


def images(folder):
    for name, arguments in (('u8', ('|u1', (20, 30), 1)), ('f4', ('<f4', (9, 8, 3), 4)), ('u16', ('>u2', (9, 8, 4), 2))):
        write(folder, f'{name}.npy', npy(*arguments))
    for name, options in (('strips', {}), ('rgb16', {'channels': 3, 'bits': 16}), ('tiles', {'tile': 16}),
                          ('big_endian', {'order': '>', 'bits': 16}), ('big_tiff', {'big': True, 'tile': 16}),
                          ('deflate', {'deflate': True, 'channels': 3})):
        write(folder, f'{name}.tif', tiff(40, 36, **options))
    for colour, channels in ((0, 1), (2, 3), (6, 4)):
        write(folder, f'{channels}.png', png(colour, channels))
    write(folder, 'gray.jpg', JPEG)


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
    for study in (REPOSITORY / 'configs').glob('*.yaml'):
        write(folder / 'yaml', study.name, study.read_bytes())
    checkpoints(folder / 'checkpoint')
    images(folder / 'image')
    results(folder / 'results', Path(sys.argv[2]))
    write_words(folder)


if __name__ == '__main__':
    main()
