# patchbench for Spack 1.0 or later. In the folder of the project:
#   spack repo create ~/patchbench-repo && spack repo add ~/patchbench-repo      # prints where its packages lie
#   mkdir <packages>/patchbench && cp launch/spack/package.py <packages>/patchbench/
#   spack dev-build patchbench@main
# LibTorch, nvcc and plotly.js come from PyPI as wheels of fixed versions (launch/setup.sh): patchbench links the NCCL and
# cuDNN that its LibTorch was built with, which Spack's py-torch does not bring.
from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Patchbench(Package):
    """Measures, and does, patch-based image denoising on many GPUs."""

    version("main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("googletest", type="build")
    depends_on("benchmark", type="build")
    depends_on("python@3.10:3.14")
    depends_on("mpi@3.1:")
    depends_on("hwloc@2:")
    depends_on("highway@1:")
    depends_on("opencv@4.5: +imgproc+photo")
    depends_on("libtiff")
    depends_on("libpng")
    depends_on("jpeg")
    depends_on("libwebp+libwebpmux")
    depends_on("yaml-cpp")
    depends_on("cli11@2:")
    depends_on("fmt@9:")
    depends_on("nlohmann-json")
    depends_on("boost+math")
    depends_on("eigen")
    depends_on("libzip")
    depends_on("onnx")
    depends_on("protobuf")
    depends_on("openssl")
    depends_on("random123")

    conflicts("%gcc@:11", msg="patchbench is C++20")

    def install(self, spec, prefix):
        # Built where it stays: the program finds LibTorch by the path that it was linked with.
        install_tree(".", prefix)
        with working_dir(prefix):
            bash = which("bash", required=True)
            bash("launch/setup.sh", "--no-packages", "--target", "patchbench")

    def setup_run_environment(self, env):
        env.prepend_path("PATH", self.prefix.launch)
        env.prepend_path("PATH", self.prefix.build)
