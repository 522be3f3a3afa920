"""Reads the ONNX files that patchbench writes and computes their graphs with the operations of a framework.

Only what such a file holds is read: float32 tensors as raw data, attributes that are integers or texts. The encoding is
that of protocol buffers (https://protobuf.dev/programming-guides/encoding), the numbers of the fields are those of
onnx.proto3 (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3). A reader of its own spares the package onnx,
whose protobuf need not be the one of the framework.
"""

import mmap

import numpy

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def fields(data):
    """(number, value) of each field of a message; a value is an integer or a part of `data`."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = read_varint(data, at)
            yield number, signed(value)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            at += 8 if kind == EIGHT_BYTES else 4
        elif kind == BYTES:
            length, at = read_varint(data, at)
            yield number, data[at:at + length]
            at += length
        else:
            raise ValueError(f"ONNX: a field of unknown encoding {kind}")


def integers(value):
    """Repeated integers come one by one or packed."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        one, at = read_varint(value, at)
        found.append(signed(one))
    return found


def text(value):
    return bytes(value).decode()


def read_tensor(data):
    """(name, array) of a TensorProto: 1 dims, 2 data_type, 8 name, 9 raw_data."""
    dims, name, raw, kind = [], "", b"", 0
    for number, value in fields(data):
        if number == 1:
            dims += integers(value)
        elif number == 2:
            kind = value
        elif number == 8:
            name = text(value)
        elif number == 9:
            raw = value
    if kind != 1:
        raise ValueError(f"ONNX: the tensor {name} is not float32")
    return name, numpy.frombuffer(raw, "<f4").reshape(dims).copy()


def read_attribute(data):
    """(name, value) of an AttributeProto: 1 name, 3 i, 4 s, 8 ints."""
    name, value, several = "", None, []
    for number, each in fields(data):
        if number == 1:
            name = text(each)
        elif number == 3:
            value = each
        elif number == 4:
            value = text(each)
        elif number == 8:
            several += integers(each)
    return name, several or value


class Node:
    """A NodeProto: 1 input, 2 output, 4 op_type, 5 attribute."""

    def __init__(self, data):
        self.inputs, self.outputs, self.operation, self.attributes = [], [], "", {}
        for number, value in fields(data):
            if number == 1:
                self.inputs.append(text(value))
            elif number == 2:
                self.outputs.append(text(value))
            elif number == 4:
                self.operation = text(value)
            elif number == 5:
                name, attribute = read_attribute(value)
                self.attributes[name] = attribute
        self.last_uses = []  # maps that no later node needs


class Graph:
    """A GraphProto: 1 node, 5 initializer, 11 input, 12 output. One input, one output."""

    def __init__(self, data):
        self.nodes, self.tensors, inputs, outputs = [], {}, [], []
        for number, value in fields(data):
            if number == 1:
                self.nodes.append(Node(value))
            elif number == 5:
                name, array = read_tensor(value)
                self.tensors[name] = array
            elif number in (11, 12):
                name = next(text(each) for field, each in fields(value) if field == 1)
                (inputs if number == 11 else outputs).append(name)
        (self.input,), (self.output,) = inputs, outputs
        self._find_last_uses()

    def _find_last_uses(self):
        seen = {self.output}
        for node in reversed(self.nodes):
            for name in node.inputs:
                if name and name not in seen and name not in self.tensors:
                    seen.add(name)
                    node.last_uses.append(name)

    def turned_tensors(self, turns):
        """The tensors; the weights of an operation in `turns` are changed by the function that it has there."""
        tensors = dict(self.tensors)
        for node in self.nodes:
            if node.operation in turns:
                tensors[node.inputs[1]] = turns[node.operation](self.tensors[node.inputs[1]])
        return tensors

    def run(self, operations, weights, x):
        """The output for `x`. `operations` compute by the names of ONNX: of maps and weights, attributes by keyword.
        `weights` are the tensors as the framework wants them. A map is dropped after its last use."""
        maps = {self.input: x}
        for node in self.nodes:
            operands = [weights[name] if name in weights else maps[name] for name in node.inputs if name]
            maps[node.outputs[0]] = operations[node.operation](*operands, **node.attributes)
            for name in node.last_uses:
                del maps[name]
        return maps[self.output]


def read_graph(file):
    """The graph of an ONNX file: field 7 of a ModelProto."""
    with open(file, "rb") as model, mmap.mmap(model.fileno(), 0, access=mmap.ACCESS_READ) as data:
        view = memoryview(data)
        part = next(value for number, value in fields(view) if number == 7)
        graph = Graph(part)
        del part
        view.release()
        return graph
