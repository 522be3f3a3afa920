"""The three networks as somebody would write them in PyTorch: nothing but torch.nn, keys as in deepinv.

Random weights of sane scale: with PyTorch's own initialisation most blocks hardly change the output, and a comparison
would prove nothing.
"""

import torch
from torch import nn


class ResBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.res = nn.Sequential(conv(channels, channels), nn.ReLU(inplace=True), conv(channels, channels))

    def forward(self, x):
        return x + self.res(x)


def conv(channels_in, channels_out, bias=False):
    return nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=bias)


class DRUNet(nn.Module):
    """Input: image and a map of sigma."""

    def __init__(self):
        super().__init__()
        widths = [64, 128, 256, 512]
        self.m_head = conv(4, widths[0])
        for scale, (fine, coarse) in enumerate(zip(widths, widths[1:]), 1):
            down = [*(ResBlock(fine) for _ in range(4)), nn.Conv2d(fine, coarse, 2, stride=2, bias=False)]
            setattr(self, f"m_down{scale}", nn.Sequential(*down))
            up = [nn.ConvTranspose2d(coarse, fine, 2, stride=2, bias=False), *(ResBlock(fine) for _ in range(4))]
            setattr(self, f"m_up{scale}", nn.Sequential(*up))
        self.m_body = nn.Sequential(*(ResBlock(widths[3]) for _ in range(4)))
        self.m_tail = conv(widths[0], 3)

    def forward(self, x):
        x1 = self.m_head(x)
        x2 = self.m_down1(x1)
        x3 = self.m_down2(x2)
        x4 = self.m_down3(x3)
        x = self.m_body(x4)
        x = self.m_up3(x + x4)
        x = self.m_up2(x + x3)
        x = self.m_up1(x + x2)
        return self.m_tail(x + x1)


def conv_norm_relu(channels_in, channels_out):
    return [conv(channels_in, channels_out, bias=True), nn.BatchNorm2d(channels_out), nn.ReLU(inplace=True)]


def double_block(channels_in, channels_out):
    return nn.Sequential(*conv_norm_relu(channels_in, channels_out), *conv_norm_relu(channels_out, channels_out))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [3, 64, 128, 256, 512]
        self.Maxpool = nn.MaxPool2d(2)
        for scale in range(1, 5):
            setattr(self, f"Conv{scale}", double_block(widths[scale - 1], widths[scale]))
        for scale in (4, 3, 2):
            coarse, fine = widths[scale], widths[scale - 1]
            setattr(self, f"Up{scale}", nn.Sequential(nn.Upsample(scale_factor=2), *conv_norm_relu(coarse, fine)))
            setattr(self, f"Up_conv{scale}", double_block(coarse, fine))
        self.Conv_1x1 = nn.Conv2d(64, 3, 1)

    def forward(self, x):
        maps = [self.Conv1(x)]
        for block in (self.Conv2, self.Conv3, self.Conv4):
            maps.append(block(self.Maxpool(maps[-1])))
        deep = maps.pop()
        for scale in (4, 3, 2):
            deep = getattr(self, f"Up{scale}")(deep)
            deep = getattr(self, f"Up_conv{scale}")(torch.cat((maps.pop(), deep), 1))
        return self.Conv_1x1(deep) + x


class DnCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_conv = conv(3, 64, bias=True)
        self.conv_list = nn.ModuleList(conv(64, 64, bias=True) for _ in range(18))
        self.out_conv = conv(64, 3, bias=True)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        maps = self.relu(self.in_conv(x))
        for layer in self.conv_list:
            maps = self.relu(layer(maps))
        return self.out_conv(maps) + x


NETWORKS = {"drunet": DRUNet, "unet": UNet, "dncnn": DnCNN}


def set_random(module, gain, generator):
    """Normal weights of variance gain^2 / fan_in; small random biases; random batch norm."""
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        transposed = isinstance(module, nn.ConvTranspose2d)
        fan_in = module.in_channels * (1 if transposed else module.kernel_size[0] ** 2)
        nn.init.normal_(module.weight, std=gain / fan_in**0.5, generator=generator)
        if module.bias is not None:
            nn.init.normal_(module.bias, std=0.1, generator=generator)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.uniform_(module.weight, 0.5, 1.5, generator=generator)
        nn.init.normal_(module.bias, std=0.1, generator=generator)
        nn.init.normal_(module.running_mean, std=0.1, generator=generator)
        nn.init.uniform_(module.running_var, 0.5, 1.5, generator=generator)


@torch.no_grad()
def make_network(name, seed=1):
    generator = torch.Generator().manual_seed(seed)
    model = NETWORKS[name]()
    gain = 1.0 if name == "drunet" else 2**0.5
    for module in model.modules():
        set_random(module, gain, generator)
    for block in model.modules():
        if isinstance(block, ResBlock):
            set_random(block.res[0], 2**0.5, generator)
            set_random(block.res[2], 0.5, generator)
    if name != "drunet":
        set_random(model.Conv_1x1 if name == "unet" else model.out_conv, 0.5, generator)
    return model.eval()
