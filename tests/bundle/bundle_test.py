"""Makes the bundle and runs it elsewhere: bundle_test.py BUILD_FOLDER TORCH_FOLDER

"Elsewhere" is a temporary folder, an empty environment and a second LibTorch: hard links of the installed one's
libraries (a copy, where they lie on another file system) under another path. Skipped (77) where a tool or the photograph
is missing.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
MAX_BYTES = 40 * 1024 * 1024
SYSTEM = re.compile(r"/(ld-linux-[^/]*|lib(c|m|dl|pthread|rt|util|resolv|tinfo|nss_[a-z]+)\.so[.0-9]*|libcuda\.so.*)$")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def link_tree(source, target):
    def link(file, copy):
        try:
            os.link(os.path.realpath(file), copy)
        except OSError:
            shutil.copyfile(file, copy)

    shutil.copytree(source, target, copy_function=link)


def make_second_torch(torch, site):
    """What of the wheel a program uses: its libraries, and the file that says which version it is."""
    link_tree(torch / "lib", site / "torch" / "lib")
    shutil.copyfile(torch / "version.py", site / "torch" / "version.py")
    (site / "torch" / "__init__.py").write_text("raise ImportError('it is to be found, not imported')\n")
    for folder in torch.parent.glob("nvidia/*/lib"):
        link_tree(folder, site / folder.relative_to(torch.parent))


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Beside the build: hard links do not leave a file system, and /tmp may be small.
        cls._folder = tempfile.TemporaryDirectory(prefix="bundle-test-", dir=BUILD)
        cls.folder = pathlib.Path(cls._folder.name)
        cls.addClassCleanup(cls._folder.cleanup)
        cls.archive = cls.folder / "bundle.tar.xz"
        made = subprocess.run(
            [REPOSITORY / "launch" / "bundle.sh", "--build", BUILD, "--out", cls.archive],
            capture_output=True,
            text=True,
        )
        if made.returncode != 0:
            raise AssertionError(made.stderr)
        (cls.folder / "elsewhere").mkdir()
        subprocess.run([sys.executable, "-m", "tarfile", "-e", cls.archive, cls.folder / "elsewhere"], check=True)
        (cls.root,) = (cls.folder / "elsewhere").iterdir()
        cls.venv = cls.folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", cls.venv], check=True)
        (site,) = cls.venv.glob("lib/python3*/site-packages")
        make_second_torch(TORCH, site)
        cls.torch = site / "torch"

    def run_there(self, *command, **variables):
        environment = {"PATH": "/usr/bin:/bin", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "OMP_NUM_THREADS": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
        return subprocess.run([str(word) for word in command], cwd=self.root, env=environment | variables,
                              capture_output=True, text=True, timeout=300)

    def succeed_there(self, *command, **variables):
        result = self.run_there(*command, **({"PATCHBENCH_TORCH": str(self.torch)} | variables))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result

    def binaries(self):
        for file in sorted(self.root.rglob("*")):
            if file.is_file() and not file.is_symlink():
                with open(file, "rb") as content:
                    if content.read(4) == b"\x7fELF":
                        yield file

    def test_size(self):
        self.assertLess(self.archive.stat().st_size, MAX_BYTES)

    def test_binaries_name_no_folder_of_the_build_machine(self):
        binaries = list(self.binaries())
        self.assertGreater(len(binaries), 50)
        for file in binaries:
            dynamic = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
            paths = re.findall(r"\((RPATH|RUNPATH)\).*\[(.*)\]", dynamic)
            self.assertEqual([kind for kind, _ in paths], ["RPATH"], file)
            for folder in paths[0][1].split(":"):
                self.assertTrue(folder.startswith("$ORIGIN"), f"{file}: {folder}")
            self.assertNotRegex(dynamic, r"NEEDED.*lib(python|torch_python)", file)

    def test_torch_of_python3_on_path(self):
        result = self.run_there("./patchbench", "--version", PATH=f"{self.venv}/bin:/usr/bin:/bin")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"libtorch +header 2\.11\.0 +loaded 2\.11\.0")

    def test_called_from_another_folder_through_a_link(self):
        link = self.folder / "patchbench"
        link.symlink_to(self.root / "patchbench")
        self.assertIn("dncnn", self.succeed_there("sh", "-c", f"cd / && {link} networks").stdout)

    def test_every_library_is_of_the_bundle_or_the_second_torch(self):
        command = ("./mpirun", "--oversubscribe", "-n", "2", "./patchbench", "check", "--device", "cpu")
        result = self.succeed_there(*command, LD_DEBUG="libs", LD_DEBUG_OUTPUT=str(self.folder / "ld"))
        self.assertRegex(result.stdout, "CHECK: (OK|.* 0 wrong)")
        loaded = set()
        for log in self.folder.glob("ld.*"):
            process = set(re.findall(r"calling init: (\S+)", log.read_text(errors="replace")))
            if any(name.startswith(str(self.root)) for name in process):  # not sort and the like, which scripts call
                loaded |= process
        self.assertTrue(any(name.endswith("libtorch_cpu.so") for name in loaded))
        self.assertTrue(any("mca_btl_vader" in name for name in loaded))
        strangers = [name for name in loaded if not name.startswith(str(self.folder)) and not SYSTEM.search(name)]
        self.assertEqual(strangers, [])

    def test_the_library_for_gpus_finds_the_second_torch(self):
        needed = self.succeed_there("bash", "-c", ". bin/env.sh && ldd lib/libpatchbench_torch_cuda.so").stdout
        self.assertNotIn("not found", needed)
        self.assertRegex(needed, rf"libtorch_cuda\.so => {re.escape(str(self.folder))}/")

    def test_mpirun_where_there_is_no_ssh(self):
        tools = self.folder / "tools"
        tools.mkdir()
        for tool in ("bash", "basename", "cat", "cut", "dirname", "env", "getconf", "head", "readlink", "sed", "sort"):
            (tools / tool).symlink_to(shutil.which(tool))
        self.succeed_there("./mpirun", "--oversubscribe", "-n", "1", "env", PATH=str(tools))

    def test_same_image_as_the_build(self):
        crop = self.folder / "crop.npy"
        values = bytes((x * 7 + y * 13 + (x * y * 31 + c * 57) % 97) % 256 for y in range(60) for x in range(72)
                       for c in range(3))
        header = "{'descr': '|u1', 'fortran_order': False, 'shape': (60, 72, 3), }".ljust(117) + "\n"
        crop.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + values)
        options = ["--halo", "exact", "--patch", "32", "--sigma", "0.1", "--device", "cpu", "--threads", "1"]
        here, there = self.folder / "here.npy", self.folder / "there.npy"
        subprocess.run([BUILD / "patchbench", "denoise", crop, here, *options], check=True, capture_output=True)
        denoise = ["./patchbench", "denoise", crop, there, *options]
        self.succeed_there("./mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", *denoise)
        self.assertEqual(here.read_bytes(), there.read_bytes())
        self.assertNotEqual(here.read_bytes(), crop.read_bytes())

    def test_gpu_tests_start(self):
        for test in sorted((self.root / "tests").glob("gpu_*")):
            script = f'. bin/env.sh && "{test}"; code=$?; [ $code = 77 ] || exit $code'  # 77: no GPU here
            self.assertRegex(self.succeed_there("bash", "-c", script).stdout, "PASSED|SKIPPED")

    def check_gpu(self, name, *options):
        """(exit code and output, summary) of gpu_check.sh --device cpu, with the Python that can import torch."""
        python = TORCH.parents[3] / "bin" / "python3"
        if not python.exists():
            self.skipTest(f"no Python beside {TORCH}")
        out = self.folder / name
        command = ["launch/gpu_check.sh", "--device", "cpu", "--out", out, *options]
        result = self.run_there(*command, PATH=f"{python.parent}:/usr/bin:/bin")
        return result, (out / "gpu_check_summary.md").read_text()

    def test_gpu_check(self):
        result, summary = self.check_gpu("check")
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout + summary)
        self.assertIn("everything passed", summary)
        for words in ("CHECK: ", "| gpu_stream_test | skipped |", "| drunet-p32-h0-b1-fp32 | ok |", "| unet | fp32 |"):
            self.assertIn(words, summary)

    def test_gpu_check_says_what_there_was_no_time_for(self):
        result, summary = self.check_gpu("hasty", "--budget", "16")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(summary, r"\| study_bf16 \| NOT RUN \| 0 \|")

    def test_other_torch_is_refused_in_a_sentence(self):
        other = self.folder / "other" / "torch"
        for version, content, words in (
            ("2.12.0+cu130", "lib/libtorch_cuda.so", "needs 2.11.0"),
            ("2.11.0+cpu", "lib/libtorch_cpu.so", "without CUDA"),
            ("2.11.0+cu128", "lib/libtorch_cuda.so", "../nvidia"),
        ):
            shutil.rmtree(other, ignore_errors=True)
            (other / content).parent.mkdir(parents=True)
            (other / content).touch()
            (other / "version.py").write_text(f"__version__ = '{version}'\n")
            self.assert_refused(str(other), version, words, PATCHBENCH_TORCH=str(other))
        self.assert_refused("PATCHBENCH_TORCH is not", PATCHBENCH_TORCH=str(self.folder / "none"))

    def assert_refused(self, *words, **variables):
        result = self.run_there("./patchbench", "--version", **variables)
        self.assertEqual(result.returncode, 1)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)


if __name__ == "__main__":
    BUILD, TORCH = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    for tool in ("patchelf", "strip", "readelf", "xz", "ompi_info"):
        if shutil.which(tool) is None:
            skip(f"{tool} is missing (launch/setup.sh installs it)")
    if not (REPOSITORY / "data" / "photos" / "retina.jpg").exists():
        skip("data/photos/retina.jpg is missing: run data/get_photos.sh")
    unittest.main(argv=sys.argv[:1], verbosity=2)
