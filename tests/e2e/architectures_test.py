"""Which devices the program has machine code for: architectures_test.py PROGRAM NVCC

A100 (sm_80), H100 and H200 (sm_90), B200 (sm_100), and PTX for what comes after. Needs cuobjdump: beside nvcc, in a wheel
of .venv (nvidia/cu13, triton), or on PATH; skipped (77) without.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
IN_WHEELS = ("nvidia/cu13/bin", "triton/backends/nvidia/bin")


def find_cuobjdump(nvcc):
    folders = [pathlib.Path(nvcc).parent]
    for packages in sorted((REPOSITORY / ".venv" / "lib").glob("python3*/site-packages")):
        folders += [packages / folder for folder in IN_WHEELS]
    beside = [folder / "cuobjdump" for folder in folders if (folder / "cuobjdump").is_file()]
    return beside[0] if beside else shutil.which("cuobjdump")


def architectures(option):
    """Of the machine code (--list-elf) or the PTX (--list-ptx) in the program."""
    listed = subprocess.run([CUOBJDUMP, option, PROGRAM], check=True, capture_output=True, text=True, timeout=60).stdout
    return set(re.findall(r"\.(sm_\d+[a-z]?)\.(?:cubin|ptx)$", listed, re.MULTILINE))


class Architectures(unittest.TestCase):
    def test_machine_code_for_each_kind_of_device(self):
        missing = {"sm_80", "sm_90", "sm_100"} - architectures("--list-elf")
        self.assertFalse(missing, f"{PROGRAM} has no machine code for these: see CMAKE_CUDA_ARCHITECTURES in cmake/Cuda.cmake")

    def test_ptx_for_what_comes_after(self):
        self.assertIn("sm_100", architectures("--list-ptx"), f"{PROGRAM} has no PTX: newer devices cannot run it")


if __name__ == "__main__":
    PROGRAM, NVCC = sys.argv[1:]
    CUOBJDUMP = find_cuobjdump(NVCC)
    if not CUOBJDUMP:
        print(f"skipped: no cuobjdump beside {NVCC}, in .venv or on PATH")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
