"""ncnn (https://github.com/Tencent/ncnn) on the CPU, as an adapter of docs/engines.md: `engine: python:<this file>`, or
beside_frameworks.py. The environment needs the packages ncnn and numpy.

The ONNX file that patchbench writes becomes ncnn's two files: a text with a line for each layer
(https://github.com/Tencent/ncnn/wiki/param-and-model-file-structure) and the float32 weights behind one another. A ReLU
that alone reads a convolution is put into it, as ncnnoptimize does. ncnn takes one window at a time.
"""

import pathlib
import tempfile

import ncnn
import numpy

from onnx_graph import read_graph

PACKAGES = ("ncnn",)
LAYOUT = "NCHW"
DTYPES = ("fp32",)
COPIES = "the output once"
FLOAT32 = bytes(4)  # the mark before the weights of a layer: they are not compressed


class Layers:
    """The layers of a graph in ncnn's text, and their weights."""

    def __init__(self, graph):
        self.graph = graph
        self.readers = {}
        for node in graph.nodes:
            for name in self.maps_of(node):
                self.readers.setdefault(name, []).append(node)
        self.lines, self.weights, self.maps = [], [], {graph.input: []}
        self.add("Input", [], graph.input)
        fused = set()
        for node in graph.nodes:
            if id(node) in fused:
                continue
            relu = self.relu_behind(node)
            fused.add(id(relu))
            self.add_node(node, relu)

    def maps_of(self, node):
        return [name for name in node.inputs if name and name not in self.graph.tensors]

    def relu_behind(self, node):
        readers = self.readers.get(node.outputs[0], [])
        is_alone = node.operation in ("Conv", "ConvTranspose") and len(readers) == 1
        return readers[0] if is_alone and readers[0].operation == "Relu" else None

    def add(self, kind, operands, output, settings=""):
        """A map may be read once only: where several layers read one, a layer of its own copies it."""
        names = [self.maps[operand].pop(0) for operand in operands]
        self.lines.append(f"{kind} {output} {len(names)} 1 {' '.join([*names, output])} {settings}")
        copies = len(self.readers.get(output, []))
        self.maps[output] = [output] if copies < 2 else [f"{output}_copy{i}" for i in range(copies)]
        if copies > 1:
            self.lines.append(f"Split {output}_split 1 {copies} {output} {' '.join(self.maps[output])}")

    def add_node(self, node, relu):
        output = (relu or node).outputs[0]
        operands = self.maps_of(node)
        if node.operation in ("Conv", "ConvTranspose"):
            return self.add_convolution(node, output, relu is not None)
        kind, settings = {
            "Relu": ("ReLU", ""),
            "Add": ("BinaryOp", "0=0"),
            "Sub": ("BinaryOp", "0=1"),
            "Concat": ("Concat", "0=0"),
            "MaxPool": ("Pooling", "0=0 1=2 2=2 5=1"),
            "Resize": ("Interp", "0=1 1=2.0 2=2.0"),
        }[node.operation]
        self.add(kind, operands, output, settings)

    def add_convolution(self, node, output, has_relu):
        weight, *bias = (self.graph.tensors[name] for name in node.inputs[1:] if name)
        is_transposed = node.operation == "ConvTranspose"
        if is_transposed:
            weight = weight.transpose(1, 0, 2, 3)
        self.weights += [FLOAT32, numpy.ascontiguousarray(weight).tobytes(), *(each.tobytes() for each in bias)]
        settings = {0: weight.shape[0], 1: weight.shape[2], 3: node.attributes["strides"][0],
                    4: node.attributes["pads"][0], 5: len(bias), 6: weight.size, 9: int(has_relu)}
        text = " ".join(f"{key}={value}" for key, value in settings.items())
        self.add("Deconvolution" if is_transposed else "Convolution", self.maps_of(node), output, text)

    def save(self, text_file, weights_file):
        num_maps = sum(int(line.split()[3]) for line in self.lines)
        text_file.write_text("\n".join(["7767517", f"{len(self.lines)} {num_maps}", *self.lines]) + "\n")
        weights_file.write_bytes(b"".join(self.weights))


def load(model, options):
    graph = read_graph(model)
    network = ncnn.Net()
    network.opt.num_threads = options["threads"]
    network.opt.use_vulkan_compute = False
    for name in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(network.opt, name, False)
    with tempfile.TemporaryDirectory() as folder:
        text_file, weights_file = pathlib.Path(folder) / "network.param", pathlib.Path(folder) / "network.bin"
        Layers(graph).save(text_file, weights_file)
        if network.load_param(str(text_file)) != 0 or network.load_model(str(weights_file)) != 0:
            raise RuntimeError("ncnn cannot load the network")

    def call(windows, out):
        for window, result in zip(windows, out):
            extractor = network.create_extractor()
            extractor.input(graph.input, ncnn.Mat(window))
            status, map_out = extractor.extract(graph.output)
            if status != 0:
                raise MemoryError("ncnn: out of memory") if status == -100 else RuntimeError(f"ncnn: status {status}")
            result[...] = numpy.array(map_out)

    return call
