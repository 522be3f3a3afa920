#!/usr/bin/env python3
"""Writes the checkpoints that the readers' tests load, with torch itself, into a folder.

usage: make_checkpoints.py FOLDER

The folder is emptied first and stays empty where torch cannot be imported: the tests then skip. Values follow one rule
that every element type can hold, so that the tests know them: element i of a tensor is (7 i mod 64 - 32) / 4.
"""

import argparse
import collections
import copy
import json
import pathlib
import shutil
import struct
import sys
import warnings
import zipfile

TYPES = {"f64": ("F64", "float64"), "f32": ("F32", "float32"), "f16": ("F16", "float16"), "bf16": ("BF16", "bfloat16")}


def ramp(torch, *shape):
    count = 1
    for extent in shape:
        count *= extent
    return ((torch.arange(count) * 7 % 64 - 32).to(torch.float32) / 4).reshape(shape)


def plain(torch, dtype):
    weights = collections.OrderedDict()
    weights["first.weight"] = ramp(torch, 5, 3, 2, 2).to(dtype)
    weights["first.bias"] = ramp(torch, 5).to(dtype)
    weights["norm.num_batches_tracked"] = torch.tensor(1234, dtype=torch.int64)
    return weights


def views(torch):
    """Tensors that share one storage: an offset, a transposition, steps; and a parameter."""
    base = ramp(torch, 6, 8)
    return collections.OrderedDict(base=base, row=base[2], transposed=base.t(), steps=base[::2, 1::3],
                                   channels_last=ramp(torch, 2, 3, 4, 5).to(memory_format=torch.channels_last),
                                   parameter=torch.nn.Parameter(ramp(torch, 3, 3)), empty=torch.empty(0, 4))


def trainer_files(torch, save):
    """A small DnCNN with the keys of deepinv, and its average, as usual trainers save them."""
    class Small(torch.nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.in_conv = torch.nn.Conv2d(3, 4, 3, padding=1)
            self.conv_list = torch.nn.ModuleList([torch.nn.Conv2d(4, 4, 3, padding=1)])
            self.out_conv = torch.nn.Conv2d(4, 3, 3, padding=1)
            for parameter in self.parameters():
                parameter.data = ramp(torch, *parameter.shape) * scale

    def under(prefix, module):
        return {prefix + key: value for key, value in module.state_dict().items()}

    net, average = Small(1), Small(2)
    averaged = torch.optim.swa_utils.AveragedModel(average)
    optimizer = torch.optim.Adam(net.parameters())
    sum(parameter.sum() for parameter in net.parameters()).backward()
    optimizer.step()
    net = Small(1)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [10, 20])
    loss = {"loss.window": ramp(torch, 11), "loss.vgg.weight": ramp(torch, 2, 3)}
    beside = {"epoch": 3, "global_step": 1000, "pytorch-lightning_version": "2.4.0", "loops": {"fit_loop": {"state_dict": {}}},
              "callbacks": {"ModelCheckpoint{'monitor': 'psnr'}": {"best_model_score": torch.tensor(31.5), "best_k_models": {}}},
              "optimizer_states": [optimizer.state_dict()], "lr_schedulers": [schedule.state_dict()],
              "hparams_name": "kwargs", "hyper_parameters": {"lr": 1e-4, "depth": 3, "compile": True}}

    save(net.state_dict(), "net")
    save(average.state_dict(), "average")
    save({"epoch": 3, "model_state_dict": torch.nn.DataParallel(net).state_dict(), "loss": 0.25,
          "optimizer_state_dict": optimizer.state_dict()}, "net-tutorial")
    save(torch.compile(net).state_dict(), "net-compiled")
    save({"model": under("module._orig_mod.module.", net), "args": {"lr": 0.1}}, "net-wrapped")
    save({**beside, "state_dict": {**under("model._orig_mod.", net), **loss}}, "net-lightning")
    save({**beside, "state_dict": {**under("denoiser.", net), **loss}}, "net-attribute")
    save({"model": net.state_dict(), "args": argparse.Namespace(lr=0.1, out=pathlib.PosixPath("runs"), steps=[1, 2]),
          "log": collections.defaultdict(list, {"loss": [0.5, 0.25]})}, "net-settings")
    save(averaged.state_dict(), "average-swa")
    save({"params": net.state_dict(), "params_ema": average.state_dict()}, "average-basicsr")
    save({"params": {**under("model.", net), **loss}, "params_ema": {**under("model.", average), **loss}}, "average-beside")
    save({"arch": "small", "state_dict": net.state_dict(), "state_dict_ema": average.state_dict()}, "average-timm")
    save({"model": net.state_dict(), "ema": {"model": average.state_dict(), "updates": 7}}, "average-nested")
    save({**beside, "state_dict": {**under("model.", net), **under("ema_model.", averaged), **loss}}, "average-lightning")
    save({"model": net.state_dict(), "ema": {"module": average.state_dict(), "updates": 3}}, "average-module")
    save({"swa_state_dict": average.state_dict(), "state_dict": net.state_dict()}, "average-of-epochs")
    save({"model": net.state_dict(), "ema": {"decay": 0.999, "shadow_params": list(average.parameters())}}, "net-shadow")
    save({"state_dict": net.state_dict(), "best_metrics": {"psnr": 30.1}, "ema": {"decay": 0.999}}, "net-metrics")

    torch.save(net.in_conv, save.folder / "whole.zip.pth")
    torch.save(net.in_conv, save.folder / "whole.legacy.pth", _use_new_zipfile_serialization=False)
    torch.save({"model": net.in_conv, "epoch": 3}, save.folder / "whole_nested.zip.pth")
    torch.jit.script(net.in_conv).save(save.folder / "script.zip.pth")


class Malicious:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        import os
        return os.system, (f"touch {self.marker}",)


def save_safetensors(torch, weights, path, bytes_of):
    header, data = {"__metadata__": {"sigma_train": "0.25"}}, b""
    for key, tensor in weights.items():
        raw = bytes_of(tensor)
        name = {"torch." + torch_name: st for st, torch_name in TYPES.values()}.get(str(tensor.dtype), "I64")
        header[key] = {"dtype": name, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_big_endian(folder):
    """f32 as a big-endian machine would mark it."""
    with zipfile.ZipFile(folder / "f32.zip.pth") as little, zipfile.ZipFile(folder / "big_endian.zip.pth", "w") as big:
        for name in little.namelist():
            big.writestr(name, b"big" if name.endswith("/byteorder") else little.read(name))
    content = bytearray((folder / "f32.legacy.pth").read_bytes())
    content[content.index(b"\x88", content.index(b"little_endian"))] = 0x89  # True becomes False
    (folder / "big_endian.legacy.pth").write_bytes(content)


def write_odd_archives(folder):
    """f32 as no torch.save writes it: compressed, and with one record twice."""
    with zipfile.ZipFile(folder / "f32.zip.pth") as plain_file:
        records = {name: plain_file.read(name) for name in plain_file.namelist()}
    with zipfile.ZipFile(folder / "compressed.zip.pth", "w", zipfile.ZIP_DEFLATED) as compressed:
        for name, content in records.items():
            compressed.writestr(name, content)
    with zipfile.ZipFile(folder / "twice.zip.pth", "w") as twice:
        for name, content in [*records.items(), *records.items()]:
            twice.writestr(name, content)


def write_shared_records(torch, folder):
    """Eight tensors of one element, each of a storage of its own; in the archive all storages are the same bytes."""
    file = folder / "shared_records.zip.pth"
    torch.save({f"tensor{i}": torch.zeros(1000)[:1] for i in range(8)}, file)
    with zipfile.ZipFile(file) as whole:
        records = {name: whole.read(name) for name in whole.namelist()}
    with zipfile.ZipFile(file, "w") as shared:
        first = None
        for name, content in records.items():
            if first and "/data/" in name:
                info = copy.copy(first)
                info.filename = info.orig_filename = name
                shared.filelist.append(info)
                continue
            shared.writestr(name, content)
            first = shared.filelist[-1] if "/data/" in name else first


def write_all(torch, folder):
    def save(weights, name):
        torch.save(weights, folder / f"{name}.zip.pth")
        torch.save(weights, folder / f"{name}.legacy.pth", _use_new_zipfile_serialization=False)

    save.folder = folder
    for short, (_, name) in TYPES.items():
        weights = plain(torch, getattr(torch, name))
        save(weights, short)
        save_safetensors(torch, weights, folder / f"{short}.safetensors",
                         lambda tensor: bytes(tensor.contiguous().flatten().view(torch.uint8).tolist()))
    weights = plain(torch, torch.float32)
    save(views(torch), "views")
    save({"state_dict": collections.OrderedDict(("module." + k, v) for k, v in weights.items()), "epoch": 3,
          "best": 31.5}, "lightning")
    save({"params": plain(torch, torch.float16), "params_ema": weights}, "basicsr")
    save(torch.nn.Conv2d(3, 5, 2).state_dict(), "module_state")
    save({"weight": ramp(torch, 4), "evil": Malicious(folder / "executed")}, "malicious")
    save({"weight": ramp(torch, 1).expand(1000)}, "expanded")
    trainer_files(torch, save)
    write_big_endian(folder)
    write_odd_archives(folder)
    write_shared_records(torch, folder)


def main():
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    warnings.filterwarnings("ignore")  # torch without NumPy warns
    try:
        import torch
    except ImportError as reason:
        print(f"no checkpoints made: {reason}")
        return
    write_all(torch, folder)


if __name__ == "__main__":
    main()
