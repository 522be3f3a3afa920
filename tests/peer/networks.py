"""deepinv's own networks with random weights of sane scale, and KAIR's DnCNN written out from its published layouts.

deepinv's random initialisation hides mistakes (with it, DRUNet without its body gives the same output to 1e-6), and so
does fresh batch norm: here every residual block matters and every running statistic is random.
"""

import importlib
import importlib.util
import pathlib
import sys
import types

import torch
from torch import nn


def _import_deepinv():
    """The three model files without the package's __init__ files, which import most of a dozen requirements."""
    root = pathlib.Path(importlib.util.find_spec("deepinv").submodule_search_locations[0])
    for name in ("deepinv", "deepinv.models", "deepinv.utils"):
        package = types.ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    downloads = types.ModuleType("deepinv.utils.io")
    downloads.DownloadError = type("DownloadError", (Exception,), {})
    sys.modules["deepinv.utils.io"] = downloads
    return (importlib.import_module(f"deepinv.models.{file}") for file in ("drunet", "unet", "dncnn"))


drunet, unet, dncnn = _import_deepinv()


def _randomise(module, gain):
    """Normal weights of variance gain^2 / fan_in; small random biases; random batch norm."""
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        transposed = isinstance(module, nn.ConvTranspose2d)
        fan_in = module.in_channels * (1 if transposed else module.kernel_size[0] * module.kernel_size[1])
        nn.init.normal_(module.weight, std=gain / fan_in**0.5)
        if module.bias is not None:
            nn.init.normal_(module.bias, std=0.1)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.uniform_(module.weight, 0.5, 1.5)
        nn.init.normal_(module.bias, std=0.1)
        nn.init.normal_(module.running_mean, std=0.1)
        nn.init.uniform_(module.running_var, 0.5, 1.5)


def make_drunet(channels):
    model = drunet.DRUNet(channels, channels, pretrained=None)
    model.apply(lambda module: _randomise(module, 1.0))
    for block in model.modules():
        if isinstance(block, drunet.ResBlock):
            _randomise(block.res[0], 2**0.5)
            _randomise(block.res[2], 0.5)
    return model.eval()


def make_unet(channels):
    model = unet.UNet(channels, channels, scales=4)
    model.apply(lambda module: _randomise(module, 2**0.5))
    _randomise(model.Conv_1x1, 0.5)
    return model.eval()


def make_dncnn(channels):
    model = dncnn.DnCNN(channels, channels, pretrained=None)
    model.apply(lambda module: _randomise(module, 2**0.5))
    _randomise(model.out_conv, 0.5)
    return model.eval()


MAKERS = {"drunet": make_drunet, "unet": make_unet, "dncnn": make_dncnn}


class Subtracting(nn.Module):
    """KAIR's DnCNN (gray, depth 17): output = x - net(x). `layout`: merged, norm (eps 1e-4) or dncnn (no conv bias)."""

    def __init__(self, layout):
        super().__init__()
        self.layout = layout
        bias = layout != "dncnn"
        layers = [nn.Conv2d(1, 64, 3, padding=1, bias=bias), nn.ReLU()]
        for _ in range(15):
            layers.append(nn.Conv2d(64, 64, 3, padding=1, bias=bias))
            if layout != "merged":
                layers.append(nn.BatchNorm2d(64, eps=1e-4 if layout == "norm" else 1e-5))
            layers.append(nn.ReLU())
        layers.append(nn.Conv2d(64, 1, 3, padding=1, bias=bias))
        self.model = nn.Sequential(*layers)
        self.apply(lambda module: _randomise(module, 2**0.5))
        _randomise(self.model[-1], 0.5)
        self.eval()

    def forward(self, x, sigma=None):
        return x - self.model(x)

    def state_dict(self, *arguments, **options):
        state = super().state_dict(*arguments, **options)
        if self.layout != "dncnn":
            return state
        renamed = {key.replace("model.", "module.dncnn."): value for key, value in state.items()}
        return {key: value for key, value in renamed.items() if "num_batches" not in key}
