"""patchbench's networks against deepinv's own: compare.py RUN_NETWORK drunet|unet|dncnn|kair

Each case: the same random weights and the same image through both, max |difference| / max |output| <= 1e-5. Then every
block of the network is left out of deepinv's in turn, and the difference must show: a test that could not tell would
be worthless.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
from torch import nn

import networks

TOLERANCE = 1e-5
SHOWS = 1000 * TOLERANCE  # what leaving out a block must change at least
SIGMA = 0.1


class Peer:
    """One network with its weights in a file, run by both sides."""

    def __init__(self, program, network, model, folder):
        self.program, self.network, self.model = program, network, model
        self.weights = folder / "weights.pth"
        self.folder = folder
        torch.save(model.state_dict(), self.weights)

    def ours(self, image, odd="split"):
        numpy.save(self.folder / "in.npy", image.permute(0, 2, 3, 1).contiguous().numpy())
        files = ["--weights", self.weights, "--in", self.folder / "in.npy", "--out", self.folder / "out.npy"]
        options = ["--network", self.network, "--sigma", str(SIGMA), "--odd", odd]
        subprocess.run([self.program, *options, *files], check=True)
        return torch.from_numpy(numpy.load(self.folder / "out.npy")).permute(0, 3, 1, 2)

    def theirs(self, image):
        with torch.inference_mode():
            return self.model(image, SIGMA)


def difference(ours, theirs):
    return ((ours - theirs).abs().max() / theirs.abs().max()).item()


def expect_equal(what, ours, theirs):
    relative = difference(ours, theirs)
    print(f"{what}: relative difference {relative:.1e}")
    if not relative <= TOLERANCE:
        sys.exit(f"FAILED: {what}: {relative:.1e} is more than {TOLERANCE:.0e}")


def expect_different(what, ours, theirs):
    relative = difference(ours, theirs)
    if not relative >= SHOWS:
        sys.exit(f"FAILED: without {what} the output changes by {relative:.1e} only: the comparison cannot see it")
    return relative


class LeftOut(nn.Module):
    """Stands where a block stood: the identity, or zeros where the block changes the shape."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        out = self.block(x.clone())  # a ReLU of deepinv's writes over its input
        return x if out.shape == x.shape else torch.zeros_like(out)


def modules_without(model):
    """(name, context) for every block that is called: the model lacks it until the generator goes on."""
    for name, block in list(model.named_modules()):
        if not name or isinstance(block, nn.ModuleList):
            continue
        parent, _, child = name.rpartition(".")
        owner = model.get_submodule(parent)
        setattr(owner, child, LeftOut(block))
        yield name
        setattr(owner, child, block)


def drunet_without_skip(model, skip, image):
    x0 = torch.cat((image, torch.full_like(image[:, :1], SIGMA)), 1)
    maps = [model.m_head(x0)]
    for down in (model.m_down1, model.m_down2, model.m_down3):
        maps.append(down(maps[-1]))
    x = model.m_body(maps[3])
    for index, up in zip((3, 2, 1, 0), (model.m_up3, model.m_up2, model.m_up1, model.m_tail)):
        x = up(x if index == skip else x + maps[index])
    return x


def unet_without_skip(model, skip, image):
    maps = [model.Conv1(image)]
    for block in (model.Conv2, model.Conv3, model.Conv4):
        maps.append(block(model.Maxpool(maps[-1])))
    x = maps[3]
    for index, scale in zip((2, 1, 0), ("4", "3", "2")):
        x = getattr(model, "Up" + scale)(x)
        kept = torch.zeros_like(maps[index]) if index == skip else maps[index]
        x = getattr(model, "Up_conv" + scale)(torch.cat((kept, x), 1))
    return model.Conv_1x1(x) + (0 if skip == 3 else image)  # 3: the sum with the input


SKIPS = {"drunet": drunet_without_skip, "unet": unet_without_skip}
NUM_SKIPS = {"drunet": 4, "unet": 4}
TAKE_SIGMA = ("drunet",)


@torch.inference_mode()
def check_that_every_block_counts(peer, image, ours):
    smallest = (float("inf"), "")
    for name in modules_without(peer.model):
        smallest = min(smallest, (expect_different(name, ours, peer.model(image, SIGMA)), name))
    if peer.network in SKIPS:
        without = SKIPS[peer.network]
        expect_equal("with all skips, written out", ours, without(peer.model, None, image))
        for skip in range(NUM_SKIPS[peer.network]):
            smallest = min(smallest, (expect_different(f"skip {skip}", ours, without(peer.model, skip, image)), "skip"))
    else:
        expect_different("the residual", ours, peer.model(image, SIGMA) - image)
    if peer.network in TAKE_SIGMA:
        expect_different("the sigma channel", ours, peer.model(image, 0.0))
    print(f"left out one by one; the least that showed: {smallest[1]} ({smallest[0]:.1e})")


def compare_network(program, network, model, channels, folder):
    peer = Peer(program, network, model, folder)
    first = torch.rand(2, channels, 32, 40)
    ours = peer.ours(first)
    expect_equal(f"{network}, {channels} channels, 32 x 40", ours, peer.theirs(first))
    for extent in ((37, 50), (70, 101), (136, 75)):  # padded, split, split in one axis only
        image = torch.rand(1, channels, *extent)
        expect_equal(f"{network}, {channels} channels, {extent}", peer.ours(image), peer.theirs(image))
    if network == "drunet":
        image = torch.rand(1, channels, 70, 101)
        with torch.inference_mode():
            padded = networks.drunet.test_pad(lambda x: model.forward_unet(x), with_sigma(image), modulo=8)
        expect_equal("drunet, (70, 101), padded instead of split", peer.ours(image, odd="pad"), padded)
    check_that_every_block_counts(peer, first, ours)


def with_sigma(image):
    return torch.cat((image, torch.full_like(image[:, :1], SIGMA)), 1)


def main(program, network):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        if network == "kair":
            for layout in ("merged", "norm", "dncnn"):
                print(f"KAIR, layout {layout}")
                compare_network(program, "dncnn", networks.Subtracting(layout), 1, pathlib.Path(folder))
        else:
            for channels in (3, 1):
                compare_network(program, network, networks.MAKERS[network](channels), channels, pathlib.Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
