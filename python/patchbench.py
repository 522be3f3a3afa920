"""patchbench from Python: NumPy arrays through the program `patchbench denoise`, which does the work.

    import patchbench
    clean = patchbench.denoise(noisy)                                   # the noise level is estimated
    results = patchbench.denoise_all(images, sigma=0.1, ranks=4)        # four ranks of `mpirun`
    results[0].image, results[0].info["sigma"]

Needs NumPy. The program is that of the variable PATCHBENCH, else `patchbench` on PATH. An array is (height, width) or
(height, width, channels); of a stack, give the list of its pages: `denoise_all(list(stack))`. Floats are in [0,1],
unless `range` says which values are; uint8 and uint16 have the range of their type, and other integers need `range`.
Other keywords are options of `patchbench denoise` (`patchbench denoise --help`): `memory_limit_mib=500` is
`--memory-limit-mib 500`, True is an option without a value, and None or False is none.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy

__all__ = ["PatchbenchError", "Result", "denoise", "denoise_all"]


class PatchbenchError(RuntimeError):
    """What the program says where it fails. `code`: its exit code (README); `info`: of each image, as far as it came."""

    def __init__(self, message, code, info=()):
        super().__init__(message, code, info)  # all of them, so that a process pool can pass it on
        self.code, self.info = code, list(info)

    def __str__(self):
        return self.args[0]


class Result(NamedTuple):
    image: numpy.ndarray  # of the type and shape of the noisy one
    info: dict  # what `patchbench denoise --json` says of it (docs/denoise.md); a list of them for groups of bands


def denoise(image, **options):
    """The denoised array. Keywords as of denoise_all, but for `clean`. Raises PatchbenchError."""
    if "clean" in options:
        raise TypeError("denoise returns no PSNR: give `clean` to denoise_all")
    return denoise_all([image], **options)[0].image


def denoise_all(images, *, clean=None, ranks=1, launcher="mpirun -n {ranks}", folder=None, timeout=None, **options):
    """Denoises arrays in one start of the program. Returns a list of Result. Raises PatchbenchError where one fails.

    clean     the same images without noise: the info then has their PSNR
    ranks     with 1 the program is started without a launcher
    launcher  starts the ranks, as "srun -n {ranks}"
    folder    for the files that go between, which all nodes must see; default: that for temporary files
    timeout   seconds, after which the program is ended and subprocess.TimeoutExpired raised
    """
    if refused := {"dry_run", "format", "recursive", "no_clobber", "json"} & options.keys():
        raise TypeError(f"not for arrays: {', '.join(sorted(refused))}")
    images, clean = list(images), None if clean is None else list(clean)
    with tempfile.TemporaryDirectory(prefix="patchbench-", dir=folder) as name:
        scratch = Path(name)
        names = [f"{index:06}.npy" for index in range(len(images))]
        noisy, denoised = _save(images, names, scratch / "noisy"), scratch / "denoised"
        if clean is not None:
            if len(clean) != len(images):
                raise ValueError(f"{len(images)} images, but {len(clean)} clean ones")
            options["clean"] = _save(clean, names, scratch / "clean")
        if not names:
            return []
        words = [_program(), "denoise", noisy, f"{denoised}/", "--json", *_words(options)]
        if ranks != 1:
            words = [*shlex.split(launcher.format(ranks=ranks)), *words]
        infos = _run([str(word) for word in words], timeout, _alone() if ranks == 1 else None)
        arrays = [numpy.load(denoised / each) for each in names]
    of_image = {name: [] for name in names}
    for info in infos:
        of_image[Path(info["input"]).name].append(info)
    return [Result(array, info if len(info) > 1 else info[0]) for array, info in zip(arrays, of_image.values())]


def _program():
    program = os.environ.get("PATCHBENCH") or shutil.which("patchbench")
    if program is None:
        raise FileNotFoundError("there is no program patchbench: put it on PATH, or set PATCHBENCH to its file")
    return Path(program).resolve() if Path(program).is_file() else program


def _alone():
    """The environment without what a launcher of this Python told its ranks: the program is started by itself."""
    launchers = ("OMPI_", "PMI", "PRTE_", "PALS_", "MV2_COMM_", "JSM_NAMESPACE_", "FLUX_")
    steps = {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID"}
    return {name: value for name, value in os.environ.items() if not name.startswith(launchers) and name not in steps}


def _save(images, names, folder):
    folder.mkdir()
    for image, name in zip(images, names):
        if isinstance(image, numpy.ma.MaskedArray):
            raise TypeError("a masked array: its mask would be lost; give image.filled(value), and nodata=value")
        numpy.save(folder / name, numpy.ascontiguousarray(image), allow_pickle=False)
    return folder


def _words(options):
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        option = "--" + name.replace("_", "-")
        words.append(option if value is True else f"{option}={value}")
    return words


def _run(words, timeout, environment):
    """The objects about images."""
    code, out, err = _communicate(words, timeout, environment)
    objects = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    infos = [each for each in objects if each["type"] == "image"]
    if code != 0:
        failed = [f"{info['input']}: {info['reason']}" for info in infos if info["reason"]]
        raise PatchbenchError(_naming_images("\n".join(failed) or err.strip()), code, infos)
    return infos


def _communicate(words, timeout, environment):
    patience_s = 30
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                          errors="replace", env=environment) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            process.terminate()  # a launcher passes it on; its ranks write no more when it has ended
            try:
                process.communicate(timeout=patience_s)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
        return process.returncode, out, err


def _naming_images(text):
    """Files that are gone by now become "image 0", "clean image 0"."""
    text = re.sub(r"(?:image )?[^\s'\"]*/clean/(\d{6})\.npy", lambda found: f"clean image {int(found[1])}", text)
    return re.sub(r"(?:(?<!clean )image )?[^\s'\"]*\b(\d{6})\.npy", lambda found: f"image {int(found[1])}", text)
