#!/usr/bin/env python3
"""check_layers.py finds each planted violation, and nothing in a tree without one."""

import pathlib
import tempfile
import unittest

from check_layers import MAY_INCLUDE, check

CLEAN = {
    "include/patchbench/base/shape.hpp": "#include <vector>\nnamespace pb {\n",
    "src/config/settings.hpp": '#include "patchbench/base/shape.hpp"\n',
    "include/patchbench/network/graph.hpp": '#include "patchbench/base/shape.hpp"\n',
    "include/patchbench/engine/denoiser.hpp": '#include "patchbench/base/shape.hpp"\n',
    "src/run/pipeline/pipeline.hpp": '#include "patchbench/engine/denoiser.hpp"\n',
    "src/record/point.hpp": '#include "config/settings.hpp"\n',
    "src/measure/summary.hpp": '#include "record/point.hpp"\nnamespace pb::measure {\n',
    "src/engine/torch_denoiser.cpp": '#include <torch/torch.h>\n#include "engine/blocks.hpp"\n',
    "src/engine/blocks.hpp": "",
    "src/config/yaml/yaml_text.cpp": "#include <yaml-cpp/yaml.h>\n",
    "src/app/main.cpp": '#include "run/pipeline/pipeline.hpp"\n',
    "tests/run/run_test.cpp": '#include "run/pipeline/pipeline.hpp"\n#include <torch/torch.h>\n',
}

PLANTED = {
    "a layer below includes one above": ("src/base/shape.cpp", '#include "config/settings.hpp"'),
    "services do not know the pipeline": ("src/engine/torch_denoiser.cpp", '#include "run/pipeline/pipeline.hpp"'),
    "a network is built from nothing but base": ("src/network/drunet.cpp", '#include "config/settings.hpp"'),
    "a network knows no engine": ("src/network/drunet.cpp", '#include "patchbench/engine/denoiser.hpp"'),
    "LibTorch in a pure layer": ("src/network/drunet.cpp", "#include <ATen/Tensor.h>"),
    "measure sees the record only": ("src/measure/summary.cpp", '#include "run/pipeline/pipeline.hpp"'),
    "report sees no service": ("src/report/table.cpp", '#include "patchbench/engine/denoiser.hpp"'),
    "the record brings no service": ("src/record/point.hpp", '#include "patchbench/engine/denoiser.hpp"'),
    "a private header of another layer": ("src/run/pipeline/pipeline.cpp", '#include "app/options.hpp"'),
    "by a relative path": ("src/image/image.cpp", '#include "../engine/blocks.hpp"'),
    "an internal header of src": ("src/image/image.cpp", '#include "engine/blocks.hpp"'),
    "a vendor's header in include/": ("include/patchbench/engine/denoiser.hpp", "#include <ATen/Tensor.h>"),
    "a vendor's header that another layer sees": ("src/config/settings.hpp", "#include <opencv2/core.hpp>"),
    "a vendor's header in quotes": ("include/patchbench/device/stream.hpp", '#include "cuda_runtime.h"'),
    "a header that is not installed": ("include/patchbench/engine/denoiser.hpp", '#include "engine/blocks.hpp"'),
    "MPI in a pure layer": ("src/plan/shard.cpp", "#include <mpi.h>"),
    "yaml-cpp elsewhere": ("src/config/settings.cpp", "#include <yaml-cpp/yaml.h>"),
    "conditional compilation": ("src/comm/reduce.cpp", "#ifdef USE_NCCL"),
    "conditional compilation in a test": ("tests/run/run_test.cpp", "  # if 1"),
    "names of a layer outside of its namespace": ("src/image/image.cpp", "namespace pb {"),
    "the namespace of another layer": ("include/patchbench/network/graph.hpp", "namespace pb::engine {"),
    "a folder that is no layer": ("src/utils/misc.cpp", ""),
}


class CheckLayers(unittest.TestCase):
    def check_tree(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check(root)

    def test_clean_tree_passes(self):
        self.assertEqual(self.check_tree(CLEAN), [])

    def test_what_a_test_installed_is_somebody_elses(self):
        self.assertEqual(self.check_tree({**CLEAN, "tests/peer/.venv/include/theirs.h": "#ifdef THEIRS\n"}), [])

    def test_each_planted_violation_is_found(self):
        for what, (path, line) in PLANTED.items():
            with self.subTest(what):
                found = self.check_tree({**CLEAN, path: CLEAN.get(path, "") + line + "\n"})
                self.assertEqual([violation.split(":")[0] for violation in found], [path])

    def test_table_has_no_cycle(self):
        order = list(MAY_INCLUDE)
        for layer, allowed in MAY_INCLUDE.items():
            for other in allowed - {"app"}:
                self.assertLess(order.index(other.split("/")[0]), order.index(layer))


if __name__ == "__main__":
    unittest.main()
