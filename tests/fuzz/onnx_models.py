"""The smallest ONNX model of each network, byte by byte: no protobuf needed."""
import itertools
import struct

FLOAT, INT, STRING, INTS = 1, 2, 3, 7  # AttributeProto.type


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    """An integer, or text, bytes or a message, which have their length before them."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def attribute(name, value):
    head = field(1, name)
    if isinstance(value, float):
        return head + varint(2 << 3 | 5) + struct.pack('<f', value) + field(20, FLOAT)
    if isinstance(value, int):
        return head + field(3, value) + field(20, INT)
    if isinstance(value, str):
        return head + field(4, value) + field(20, STRING)
    return head + b''.join(field(8, item) for item in value) + field(20, INTS)


def tensor(name, shape, values):
    return b''.join(field(1, extent) for extent in shape) + field(2, 1) + field(8, name) + field(
        9, struct.pack(f'<{len(values)}f', *values))


def value_info(name, channels):
    shape = b''.join(field(1, extent) for extent in (field(2, 'n'), field(1, channels), field(2, 'h'), field(2, 'w')))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


class Model:
    """Each function appends a node and returns the name of its map."""

    def __init__(self, channels):
        self.channels, self.nodes, self.tensors, self.names = channels, [], [], map('m{}'.format, itertools.count())

    def node(self, kind, inputs, **attributes):
        output = next(self.names)
        self.nodes.append(b''.join(field(1, name) for name in inputs) + field(2, output) + field(4, kind) + b''.join(
            field(5, attribute(name, value)) for name, value in attributes.items()))
        return output

    def constant(self, shape, values):
        name = next(self.names)
        self.tensors.append(tensor(name, shape, values))
        return name

    def convolve(self, x, taken, made, kernel=3, stride=1, kind='Conv', bias=False):
        shape = (made, taken) if kind == 'Conv' else (taken, made)
        weights = [self.constant((*shape, kernel, kernel), [0.5] * (taken * made * kernel**2))]
        if bias:
            weights.append(self.constant((made,), [0.25] * made))
        return self.node(kind, [x, *weights], kernel_shape=(kernel, kernel), strides=(stride, stride),
                         pads=(int(kernel == 3),) * 4, dilations=(1, 1), group=1)

    def relu(self, x):
        return self.node('Relu', [x])

    def normed(self, x, channels):
        parts = [self.constant((channels,), [value] * channels) for value in (1.0, 0.0, 0.0, 1.0)]
        return self.relu(self.node('BatchNormalization', [x, *parts], epsilon=1e-5, momentum=0.9))

    def bytes(self, output, channels_out):
        graph = b''.join(field(1, node) for node in self.nodes) + field(2, 'g') + b''.join(
            field(5, item) for item in self.tensors)
        graph += field(11, value_info('x', self.channels)) + field(12, value_info(output, channels_out))
        metadata = field(14, field(1, 'sigma_train') + field(2, '0.25'))
        return field(1, 8) + field(2, 'made') + field(7, graph) + field(8, field(1, '') + field(2, 17)) + metadata


def dncnn():
    net = Model(1)
    x = net.relu(net.convolve('x', 1, 2, bias=True))
    x = net.normed(net.convolve(x, 2, 2), 2)
    return net.bytes(net.node('Sub', ['x', net.convolve(net.node('Dropout', [x]), 2, 1, bias=True)]), 1)


def unet():
    net = Model(1)

    def block(x, taken, made):
        for channels in (taken, made):
            x = net.normed(net.convolve(x, channels, made, bias=True), made)
        return x

    skip = block('x', 1, 1)
    low = block(net.node('MaxPool', [skip], kernel_shape=(2, 2), strides=(2, 2)), 1, 2)
    up = net.node('Resize', [low, '', net.constant((4,), (1, 1, 2, 2))], mode='nearest', nearest_mode='floor',
                  coordinate_transformation_mode='asymmetric')
    up = net.normed(net.convolve(up, 2, 1, bias=True), 1)
    x = block(net.node('Concat', [skip, up], axis=1), 2, 1)
    return net.bytes(net.node('Add', [net.convolve(x, 1, 1, kernel=1, bias=True), 'x']), 1)


def drunet():
    net = Model(2)

    def block(x, width):
        return net.node('Add', [x, net.convolve(net.relu(net.convolve(x, width, width)), width, width)])

    head = net.convolve('x', 2, 1)
    down = net.convolve(block(head, 1), 1, 2, kernel=2, stride=2)
    up = net.convolve(net.node('Add', [block(down, 2), down]), 2, 1, kernel=2, stride=2, kind='ConvTranspose')
    x = net.node('Identity', [block(up, 1)])
    return net.bytes(net.convolve(net.node('Add', [head, x]), 1, 1), 1)


def models():
    return {'dncnn.onnx': dncnn(), 'unet.onnx': unet(), 'drunet.onnx': drunet()}
