"""Small images of every kind that the readers know, as bytes."""
import base64
import struct
import types
import zlib

JPEG = base64.b64decode(  # 8 x 8, gray, with an orientation in its EXIF block
    '/9j/4AAQSkZJRgABAQAAAQABAAD/4QAiRXhpZgAATU0AKgAAAAgAAQESAAMAAAABAAYAAAAAAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8U'
    'HRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/wAALCAAIAAgBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAB//EABYQAAMAAAAAAAAA'
    'AAAAAAAAAAAFQv/aAAgBAQAAPwAeSSf/2Q==')


WEBP = {name: base64.b64decode(text) for name, text in {  # 9 x 7
    'lossy': 'UklGRlIAAABXRUJQVlA4IEYAAADwAQCdASoJAAcAAsBMJbACdLoAAwg/+PAA/vXxcE+SgRDb4P/Lpz5AXN2MY+1f/gK26CndaIaXVKx3/vjR7BnNNl+S'
             'iwAA',
    'lossy_alpha': 'UklGRrAAAABXRUJQVlA4WAoAAAAYAAAACAAABgAAQUxQSB4AAAABuTJE9D+gGJIkZv21VuJc4isTREzABGSoVfmCChJWUDggSgAAAPABAJ0BKgkA'
                   'BwACwEwlsAJ0ugADCD/60AD+9fFwT5KBENvg/8unPkBc3YxsmaSp3LAUNgLdmlwp+/tKx3/vjR7BnNNXPGSdWwAARVhJRhoAAABNTQAqAAAA'
                   'CAABARIAAwAAAAEABgAAAAAAAA==',
    'lossless': 'UklGRkQAAABXRUJQVlA4TDgAAAAvCIABELkyRPQ/dhHR/4CCtm0YMyl/oLsIpoMsGDS3L4YI0okw26j+WpM4l/tMAEgZkJcvaAWLDw==',
    'profile': 'UklGRoAAAABXRUJQVlA4WAoAAAAoAAAACAAABgAASUNDUAkAAABhIHByb2ZpbGUAVlA4TC0AAAAvCIABALkyRPQ/dhHR/4CCtm0YMyl/oLsIpoMsGDS3'
               'L4YI0ikmACoDKV/QgnEARVhJRhoAAABNTQAqAAAACAABARIAAwAAAAEABgAAAAAAAA==',
}.items()}


def bmp(bits, height=7, compression=0, between=b''):
    """9 pixels wide; `between` the shortest header and the rows lie masks or a palette."""
    row = bytes(range(bits // 8 * 9))
    rows = row.ljust(-(-len(row) // 4) * 4, b'\0') * abs(height)
    head = struct.pack('<2sIII', b'BM', 54 + len(between) + len(rows), 0, 54 + len(between))
    return head + struct.pack('<IiiHHIIiiII', 40, 9, height, 1, bits, compression, len(rows), 3000, 3000, len(between) // 4 % 256 if bits == 8 else 0,
                              0) + between + rows


def bmp_v5():
    """Alpha and a profile, behind the longest header."""
    rows, profile = bytes(range(9 * 4)) * 7, b'a profile'
    head = struct.pack('<2sIII', b'BM', 138 + len(rows) + len(profile), 0, 138)
    info = struct.pack('<IiiHHIIiiII', 124, 9, 7, 1, 32, 3, len(rows), 3000, 3000, 0, 0)
    masks = struct.pack('<IIIII', 0xFF0000, 0xFF00, 0xFF, 0xFF000000, 0x4D424544)
    return head + info + masks + bytes(48) + struct.pack('<IIII', 4, 124 + len(rows), len(profile), 0) + rows + profile


def npy(kind, shape, sample_bytes):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + '\n'
    count = sample_bytes
    for extent in shape:
        count *= extent
    return b'\x93NUMPY\1\0' + struct.pack('<H', len(header)) + header.encode() + bytes(i % 61 for i in range(count))


WIDTH, HEIGHT, BITS, COMPRESSION, PHOTOMETRIC, OFFSETS, ORIENTATION, SAMPLES = 256, 257, 258, 259, 262, 273, 274, 277
ROWS, LENGTHS, X_RESOLUTION, Y_RESOLUTION, PLANAR, RESOLUTION_UNIT, PREDICTOR = 278, 279, 282, 283, 284, 296, 317
COLOUR_MAP, TILE_WIDTH, TILE_LENGTH, TILE_OFFSETS, TILE_LENGTHS, EXTRA_SAMPLES = 320, 322, 323, 324, 325, 338
SAMPLE_FORMAT, ICC_PROFILE = 339, 34675
SHORT, LONG, RATIONAL, UNDEFINED, LONG8 = 3, 4, 5, 7, 16
FORMATS = {SHORT: 'H', LONG: 'I', RATIONAL: 'II', UNDEFINED: 'B', LONG8: 'Q'}


def tiff(width=40, height=36, samples=1, bits=8, tile=0, big=False, order='<', compress=None, tags=types.MappingProxyType({})):
    """Strips of 8 rows, or tiles; `tags` beside the usual ones."""
    planar = tags.get(PLANAR) == (SHORT, [2])
    block = (tile or 8) * (tile or width) * (1 if planar else samples) * (bits // 8)
    content = bytes(i % 61 for i in range(block))
    content = compress(content) if compress else content
    count = -(-width // (tile or width)) * -(-height // (tile or 8)) * (samples if planar else 1)
    tags = {WIDTH: (LONG, [width]), HEIGHT: (LONG, [height]), BITS: (SHORT, [bits] * samples), COMPRESSION: (SHORT, [1]),
            PHOTOMETRIC: (SHORT, [2 if samples > 2 else 1]), SAMPLES: (SHORT, [samples]), **tags}
    tags.update({TILE_WIDTH: (LONG, [tile]), TILE_LENGTH: (LONG, [tile])} if tile else {ROWS: (LONG, [8])})
    offsets = TILE_OFFSETS if tile else OFFSETS
    tags[offsets] = (LONG8 if big else LONG, [0] * count)
    tags[TILE_LENGTHS if tile else LENGTHS] = (LONG, [len(content)] * count)
    first_block = len(directory(tags, big, order))
    tags[offsets] = (tags[offsets][0], [first_block + i * len(content) for i in range(count)])
    return directory(tags, big, order) + content * count


def directory(tags, big, order):
    """Header, one directory, then the values that do not fit into it."""
    word, inline = ('Q', 8) if big else ('I', 4)
    mark = b'II' if order == '<' else b'MM'
    head = mark + (struct.pack(order + 'HHHQ', 43, 8, 0, 16) if big else struct.pack(order + 'HI', 42, 8))
    values_at = len(head) + (8 if big else 2) + len(tags) * (20 if big else 12) + (8 if big else 4)
    table, values = struct.pack(order + ('Q' if big else 'H'), len(tags)), b''
    for tag, (kind, content) in sorted(tags.items()):
        count = len(content) // len(FORMATS[kind])
        packed = struct.pack(order + FORMATS[kind] * count, *content)
        table += struct.pack(order + 'HH' + word, tag, kind, count)
        table += packed.ljust(inline, b'\0') if len(packed) <= inline else struct.pack(order + word, values_at + len(values))
        values += packed if len(packed) > inline else b''
    return head + table + struct.pack(order + word, 0) + values


TIFFS = {
    'strips': {}, 'rgb16': {'samples': 3, 'bits': 16}, 'tiles': {'tile': 16}, 'big_tiff': {'big': True, 'tile': 16},
    'big_endian': {'order': '>', 'bits': 16},
    'deflate': {'samples': 3, 'compress': zlib.compress, 'tags': {COMPRESSION: (SHORT, [8]), PREDICTOR: (SHORT, [2])}},
    'pack_bits': {'compress': lambda content: b''.join(bytes((0, byte)) for byte in content),
                  'tags': {COMPRESSION: (SHORT, [32773])}},
    'float': {'bits': 32, 'tags': {SAMPLE_FORMAT: (SHORT, [3])}, 'width': 12, 'height': 9},
    'planes': {'samples': 3, 'tags': {PLANAR: (SHORT, [2])}},
    'alpha_planes': {'samples': 4, 'tile': 16, 'tags': {PLANAR: (SHORT, [2]), EXTRA_SAMPLES: (SHORT, [1])}},
    'alpha': {'samples': 2, 'bits': 16, 'tags': {EXTRA_SAMPLES: (SHORT, [2])}},
    'white_is_zero': {'tags': {PHOTOMETRIC: (SHORT, [0]), ORIENTATION: (SHORT, [6])}},
    'palette': {'tags': {PHOTOMETRIC: (SHORT, [3]), COLOUR_MAP: (SHORT, [i * 85 for i in range(768)])}},
    'metadata': {'tags': {ICC_PROFILE: (UNDEFINED, list(range(40))), X_RESOLUTION: (RATIONAL, [300, 1]),
                          Y_RESOLUTION: (RATIONAL, [300, 1]), RESOLUTION_UNIT: (SHORT, [2])}},
}


def png(colour, rows, bits=8, chunks=()):
    def chunk(kind, content):
        return struct.pack('>I', len(content)) + kind + content + struct.pack('>I', zlib.crc32(kind + content))
    header = struct.pack('>IIBBBBB', 12, len(rows), bits, colour, 0, 0, 0)
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + b''.join(chunk(*each) for each in chunks) +
            chunk(b'IDAT', zlib.compress(b''.join(b'\1' + row for row in rows))) + chunk(b'IEND', b''))


def png_rows(bytes_a_pixel):
    return [bytes((x * 7 + y) % 256 for x in range(12 * bytes_a_pixel)) for y in range(9)]


def images():
    """Content by file name."""
    palette = (b'PLTE', bytes(range(255)) * 3), (b'tRNS', bytes(range(100)))
    tags = (b'pHYs', struct.pack('>IIB', 3000, 3000, 1)), (b'eXIf', directory({ORIENTATION: (SHORT, [6])}, False, '>'))
    return {
        'u8.npy': npy('|u1', (20, 30), 1), 'f4.npy': npy('<f4', (9, 8, 3), 4), 'u16.npy': npy('>u2', (9, 8, 4), 2),
        'gray.png': png(0, png_rows(1)), 'rgb.png': png(2, png_rows(3)), 'rgba.png': png(6, png_rows(4)),
        'palette.png': png(3, png_rows(1), chunks=palette), 'alpha16.png': png(4, png_rows(4), bits=16, chunks=tags),
        'gray.jpg': JPEG, **{f'{name}.webp': content for name, content in WEBP.items()},
        'rgb.bmp': bmp(24), 'top_down.bmp': bmp(32, height=-7), 'palette.bmp': bmp(8, between=bytes(range(240))),
        'gray.bmp': bmp(8, between=b''.join(bytes((i, i, i, 0)) for i in range(256))),
        'masks.bmp': bmp(32, compression=3, between=struct.pack('<III', 0xFF, 0xFF00, 0xFF0000)), 'v5.bmp': bmp_v5(),
        **{f'{name}.tif': tiff(**options) for name, options in TIFFS.items()},
    }
