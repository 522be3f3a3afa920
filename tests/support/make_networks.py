"""Writes small networks as ONNX files, exported by PyTorch, and as code for PyTorch: make_networks.py FOLDER. They
are no denoisers; what matters is what they need of a tiling. Run by the Python of the engine pytorch."""
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional

try:
    import onnx  # noqa: F401
except ImportError:  # torch imports it only to look for functions of onnxscript, which there are none of
    from torch.onnx._internal.torchscript_exporter import onnx_proto_utils

    onnx_proto_utils._add_onnxscript_fn = lambda model_bytes, custom_opsets: model_bytes


def dynamic(smallest, step=1):
    """Axes of a batch of windows that torch.export takes from that extent on, multiples of `step`."""
    height, width = (torch.export.Dim(name, min=smallest // step) for name in ('h', 'w'))
    return {0: torch.export.Dim('n'), 2: step * height if step > 1 else height, 3: step * width if step > 1 else width}


def convolution(channels_in, channels_out, dilation=1, kernel=3):
    """Weights whose effect is seen at the far end of the receptive field."""
    layer = nn.Conv2d(channels_in, channels_out, kernel, padding=dilation * (kernel // 2), dilation=dilation)
    nn.init.uniform_(layer.weight, 0.02, 0.1)
    nn.init.uniform_(layer.bias, -0.1, 0.1)
    return layer


class Chain(nn.Module):
    """x - f(x) with a chain of convolutions. It resembles DnCNN, but dilates."""

    def __init__(self, channels=3, dilations=(1, 2, 3), channels_in=None):
        super().__init__()
        self.first = convolution(channels_in or channels, 8, dilations[0])
        self.middle = nn.ModuleList(convolution(8, 8, dilation) for dilation in dilations[1:-1])
        self.last = convolution(8, channels, dilations[-1])
        self.channels = channels

    def forward(self, x):
        y = functional.leaky_relu(self.first(x), 0.2)
        for layer in self.middle:
            y = functional.leaky_relu(layer(y), 0.2)
        return x[:, :self.channels] - 0.1 * self.last(y)


class GlobalPooling(nn.Module):
    """Squeeze and excitation over the whole window, as in NAFNet and RCAN."""

    def __init__(self):
        super().__init__()
        self.before, self.after = convolution(3, 8), convolution(8, 3)

    def forward(self, x):
        y = self.before(x)
        return x - 0.1 * self.after(y * functional.adaptive_avg_pool2d(y, 1))


class ClosedGate(nn.Module):
    """Its gate opens for windows that are brighter on average than those that are tried."""

    def __init__(self):
        super().__init__()
        self.before, self.after = convolution(3, 8), convolution(8, 3)

    def forward(self, x):
        gate = (x.mean((1, 2, 3), keepdim=True) - 0.8).clamp(min=0)
        return x - 0.1 * self.after(self.before(x)) * (1 + 10 * gate)


class WindowAttention(nn.Module):
    """Attention within windows of 8 x 8 pixels, which start at the window's origin (SwinIR without its shift)."""

    EDGE = 8

    def __init__(self):
        super().__init__()
        self.embed, self.attend, self.restore = convolution(3, 8), nn.Linear(8, 24), convolution(8, 3)

    def forward(self, x):
        n, _, height, width = x.shape
        e, rows, columns = self.EDGE, height // self.EDGE, width // self.EDGE
        y = self.embed(x)
        y = y.reshape(n, 8, rows, e, columns, e).permute(0, 2, 4, 3, 5, 1).reshape(n * rows * columns, e * e, 8)
        query, key, value = self.attend(y).chunk(3, -1)
        y = torch.softmax(query @ key.transpose(1, 2), -1) @ value
        y = y.reshape(n, rows, columns, e, e, 8).permute(0, 5, 1, 3, 2, 4).reshape(n, 8, height, width)
        return x - 0.1 * self.restore(y)


class PaddedAttention(WindowAttention):
    """Takes any extents: it extends its input by reflection at both ends to whole windows of attention."""

    def forward(self, x):
        height, width = x.shape[-2:]
        top, left = -height % self.EDGE // 2, -width % self.EDGE // 2
        padded = functional.pad(x, (left, -width % self.EDGE - left, top, -height % self.EDGE - top), 'reflect')
        return super().forward(padded)[..., top:top + height, left:left + width]


class MixedWindows(Chain):
    """Adds how far a window is from the mean of all windows of its call."""

    def forward(self, x):
        return super().forward(x) + 0.1 * (x - x.mean(0))


class Shifted(nn.Module):
    """Moves the image by 3 pixels downwards and to the right."""

    def forward(self, x):
        return functional.pad(x, (3, 0, 3, 0))[:, :, :-3, :-3] * 0.9 + 0.05


class EvenOnly(nn.Module):
    """Half the extent inside: an odd size cannot be added to the input."""

    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 8, 2, 2), nn.ConvTranspose2d(8, 3, 2, 2)

    def forward(self, x):
        return x - 0.1 * self.up(torch.tanh(self.down(x)))


CUSTOM = {'dilated': (Chain, 1), 'pooling': (GlobalPooling, 1), 'attention': (WindowAttention, 8),
           'shifted': (Shifted, 1), 'even': (EvenOnly, 2)}  # the class, and the step of extents that it takes
AS_CODE = {'padded': PaddedAttention, 'mixed': MixedWindows}  # those that are written as Python only


class Stages(nn.Sequential):
    """Two stages of stride 2, one after the other: a block of the output sees 4 px to its left, and none to its right."""

    def __init__(self):
        def stage(channels_in):
            return nn.Conv2d(channels_in, 16, 3, 2, 1), nn.Upsample(scale_factor=2, mode='nearest')

        super().__init__(*stage(3), *stage(16), nn.Conv2d(16, 3, 1))


class Ours(nn.Module):
    """Nothing but operations that patchbench has, in a graph that is none of its networks."""

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.layers = nn.Sequential(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                                        nn.Dropout(0.1), nn.Conv2d(width, width, 3, padding=1))

        def forward(self, x):
            return x + self.layers(x)

    def __init__(self, channels=3, channels_in=None):
        super().__init__()
        self.head = nn.Conv2d(channels_in or channels, 32, 3, padding=1)
        self.body = nn.Sequential(*map(self.Block, (32, 32)))
        self.down, self.wide = nn.Conv2d(32, 48, 3, 2, 1), nn.Conv2d(32, 48, 1)
        self.pool, self.low, self.lowest = nn.MaxPool2d(2), self.Block(48), nn.Conv2d(48, 32, 2, 2)
        self.doubled, self.up = nn.Upsample(scale_factor=2, mode='nearest'), nn.ConvTranspose2d(48 + 32, 32, 2, 2)
        self.tail = nn.Conv2d(32 + 32, channels, 3, padding=1)
        self.ends_with_noise = channels_in is None
        for norm in filter(lambda layer: isinstance(layer, nn.BatchNorm2d), self.modules()):
            for values, low, high in ((norm.weight, 0.5, 1.5), (norm.bias, -0.2, 0.2), (norm.running_mean, -0.2, 0.2),
                                      (norm.running_var, 0.5, 1.5)):
                nn.init.uniform_(values, low, high)

    def forward(self, x):
        y = self.body(torch.relu(self.head(x)))
        z = torch.relu(self.low(self.down(y) + self.wide(self.pool(y))))
        z = torch.cat((z, self.doubled(self.lowest(z))), 1)
        y = self.tail(torch.cat((y, self.up(z)), 1))
        return x - y if self.ends_with_noise else y


class LevelInput(nn.Module):
    """The noise level is a second input, one number a window."""

    def __init__(self):
        super().__init__()
        self.chain = Chain(1, (1, 1))

    def forward(self, x, sigma):
        return x + sigma.reshape(-1, 1, 1, 1) * self.chain(x)


class Crashes(nn.Module):
    """Reads far outside of its window."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten._reshape_alias(x, x.shape, [1 << 40, 1 << 40, 1 << 38, 1 << 37]) + x


class Raises(nn.Module):
    """Scripted, not traced: what it raises is in the file."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.size(0) > 0:
            raise RuntimeError('no network today')
        return x


class Broken(nn.Module):
    def __init__(self, output):
        super().__init__()
        self.output, self.layer = output, nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x):
        return self.output(self.layer(torch.tanh(x)))


def export(folder, name, network, channels=3, dynamic=(0, 2, 3), sigma=None, outputs=1, one_level=False):
    torch.manual_seed(1)
    inputs = [torch.rand(1, channels, 32, 32)] + ([] if sigma is None else [sigma])
    names = ['image', 'sigma'][:len(inputs)]
    axes = {'image': {axis: f'axis{axis}' for axis in dynamic}}
    axes |= {'denoised': axes['image']} if dynamic else {}
    if sigma is not None and not one_level:
        axes['sigma'] = {0: 'axis0'}
    torch.onnx.export(network.eval(), tuple(inputs), str(folder / f'{name}.onnx'), dynamo=False, opset_version=17,
                      input_names=names, output_names=['denoised', 'more'][:outputs], dynamic_axes=axes)


def custom(name):
    """A network of CUSTOM or AS_CODE, with the same weights each time."""
    torch.manual_seed(1)
    return (AS_CODE[name] if name in AS_CODE else CUSTOM[name][0])().eval()


def write_code(folder):
    """The networks of CUSTOM as TorchScript and as Python files, those of AS_CODE as the latter; the dilated one as a
    package of torch.export; some that cannot run."""
    image = torch.rand(2, 3, 32, 48)
    source = f'import sys\nsys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\nimport make_networks\n\n\n'
    for name in CUSTOM:
        torch.jit.trace(custom(name), image).save(str(folder / f'{name}.pt'))
    for name in (*CUSTOM, *AS_CODE):
        (folder / f'{name}.py').write_text(f'{source}def make_network():\n    return make_networks.custom({name!r})\n')
    exported = torch.export.export(custom('dilated'), (image,), dynamic_shapes=(dynamic(8),))
    torch.export.save(exported, str(folder / 'exported.pt2'))
    extents = {axis: torch.export.Dim.DYNAMIC for axis in (2, 3)}
    for name, shapes in (('fixed_size', {}), ('batch_of_two', extents)):
        exported = torch.export.export(custom('dilated'), (image,), dynamic_shapes=(shapes,))
        torch.export.save(exported, str(folder / f'{name}.pt2'))
    torch.jit.trace(LevelInput().eval(), (image[:, :1], torch.tensor([0.1, 0.2]))).save(str(folder / 'level_input.pt'))
    torch.jit.script(Raises()).save(str(folder / 'raises.pt'))
    torch.jit.script(Crashes()).save(str(folder / 'crashes.pt'))
    (folder / 'raises.py').write_text('raise RuntimeError("no network today")\n')


def compile_packages(folder):
    """The networks of CUSTOM by AOTInductor, which needs g++, for windows of 16 pixels and more, the dilated one of 32.
    They are compiled to be ready soon, not to be fast, and in one process: the first takes most of the time."""
    torch._inductor.config.cpp.vec_isa_ok = True  # takes the processor's word for its vectors; to try them takes 10 s
    options = {'aot_inductor.compile_wrapper_opt_level': 'O0'}
    for name, (_, step) in CUSTOM.items():
        shapes = dynamic(32 if name == 'dilated' else 16, step)
        exported = torch.export.export(custom(name), (torch.rand(2, 3, 40, 48),), dynamic_shapes=(shapes,))
        torch._inductor.aoti_compile_and_package(exported, package_path=str(folder / f'{name}.pt2'),
                                                 inductor_configs=options)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name in CUSTOM:
        export(folder, name, custom(name))
    export(folder, 'one_at_a_time', Chain(), dynamic=(2, 3))
    export(folder, 'level_channel', Chain(3, (1, 1), 4), channels=4)
    export(folder, 'level_input', LevelInput(), channels=1, sigma=torch.tensor([0.1]))
    export(folder, 'level_of_one', LevelInput(), channels=1, sigma=torch.tensor([0.1]), one_level=True)
    export(folder, 'ours', Ours())
    export(folder, 'ours_level', Ours(3, 4), channels=4)
    export(folder, 'stages', Stages())
    export(folder, 'fixed', Chain(), dynamic=())
    export(folder, 'five_channels', Chain(5, (1, 1)), channels=5)
    export(folder, 'three_axes', Broken(lambda y: y.mean(1)))
    export(folder, 'smaller', Broken(lambda y: y[:, :, 1:-1, 1:-1]))
    export(folder, 'not_finite', Broken(lambda y: torch.log(-1 - y * y)))
    write_code(folder)
    compile_packages(folder)
    export(folder, 'gated', ClosedGate())
    export(folder, 'two_outputs', Broken(lambda y: (y, y * 2)), outputs=2)


if __name__ == '__main__':
    main()
