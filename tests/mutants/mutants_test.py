#!/usr/bin/env python3
"""run.py by its own lights: what does not fit is refused by name, and a fault that no test sees is reported.

A made-up project of one source and four tests stands for the real one.
"""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import textwrap
import unittest

RUN = pathlib.Path(__file__).with_name("run.py")

PROJECT = {
    ".gitignore": "/build*/\n",
    "src/base/add.cpp": textwrap.dedent("""\
        int add(int a, int b) { return a + b; }
        int twice(int a) {
            int result = 0;
            result = add(a, a);
            return result;
        }
        void wait(int seconds) { while (seconds > 0) --seconds; }
        """),
    "tests/check.cpp": textwrap.dedent("""\
        #include <cstdlib>
        #include <cstring>
        int add(int a, int b);
        int twice(int a);
        void wait(int seconds);
        int main(int, char** argv) {
            if (std::strcmp(argv[1], "zero") == 0) return add(0, 0);
            if (std::strcmp(argv[1], "add") == 0) return add(2, 3) == 5 ? 0 : 1;
            if (std::strcmp(argv[1], "skip") == 0) return 77;
            wait(std::atoi(argv[2]));
            return twice(4) == 8 ? 0 : 1;
        }
        """),
    "CMakeLists.txt": textwrap.dedent("""\
        cmake_minimum_required(VERSION 3.20)
        project(tiny CXX)
        set(CMAKE_CXX_STANDARD 20)
        enable_testing()
        add_executable(check src/base/add.cpp tests/check.cpp)
        foreach(test zero add skip)
            add_test(NAME ${test} COMMAND check ${test})
        endforeach()
        add_test(NAME twice COMMAND check twice 10)
        """),
    "launch/setup.sh": textwrap.dedent("""\
        #!/bin/sh
        cmake -S . -B build && cmake --build build --target check
        """),
}

FAULT = {"id": "sum-is-difference", "file": "src/base/add.cpp", "find": "a + b", "put": "a - b", "why": "sums are wrong",
         "tests": "add"}
SLOW_LOOP = "{ --seconds; asm(\"\"); }"  # one that an optimiser keeps
SKIP_CODE = "set_tests_properties(skip PROPERTIES SKIP_RETURN_CODE 77)\n"


def toml_of(faults):
    def value(item):
        return str(item).lower() if isinstance(item, bool) else "'" + item + "'"
    return "".join("[[fault]]\n" + "".join(f"{key} = {value(item)}\n" for key, item in fault.items()) for fault in faults)


class MutantsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="patchbench-mutants-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in PROJECT.items():
            self.write(name, text)
        os.chmod(self.root / "launch/setup.sh", stat.S_IRWXU)
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def write(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def run_tool(self, *faults, options=()):
        self.write("tests/mutants/faults/base.toml", toml_of(faults))
        command = [sys.executable, RUN, "--root", self.root, *options]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)

    def assert_refused(self, words, *faults):
        result = self.run_tool(*faults, options=["--check"])
        self.assertEqual(result.returncode, 1, result.stdout)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_a_list_that_does_not_fit_is_refused_by_name(self):
        self.assert_refused(["sum-is-difference", "not hold the text"], dict(FAULT, find="a * b"))
        self.assert_refused(["sum-is-difference", "times, not once"], dict(FAULT, find="result", put="x"))
        self.assert_refused(["sum-is-difference", "is not there"], dict(FAULT, file="src/base/gone.cpp"))
        self.assert_refused(["sum-is-difference", "no file of the layer"], dict(FAULT, file="tests/check.cpp"))
        self.assert_refused(["sum-is-difference", "two of this id"], FAULT, dict(FAULT, find="add(a, a)"))
        self.assert_refused(["sum-is-difference", "unknown key 'finds'"], dict(FAULT, finds="x"))
        self.assert_refused(["sum-is-difference", "changes nothing"], dict(FAULT, put="a + b"))
        self.assert_refused(["sum-is-difference", "'why' is missing"], dict(FAULT, why=""))
        self.assert_refused(["sum-is-difference", "needs statement"], dict(FAULT, find="return a + b;", put="return a;"))
        self.assert_refused(["sum-is-difference", "ends with ';'"], dict(FAULT, put="a - b", statement=True))
        self.assert_refused(["sum-is-difference", "defines a variable"],
                            dict(FAULT, find="int result = 0;", put="int result = 1;", statement=True))
        self.assert_refused(["sum-is-difference", "one expression"], dict(FAULT, put="a ? b :"))
        self.assert_refused(["sum-is-difference", "closes in it"], dict(FAULT, find="add(a, a", put="add(a, 0"))
        self.assert_refused(["sum-is-difference", "no expression"], dict(FAULT, find="a, a", put="a, 0"))
        self.assert_refused(["sum-is-difference", "no expression"], dict(FAULT, find="a +", put="a -"))
        self.assert_refused(["sum-is-difference", "other", "overlap"], FAULT,
                            dict(FAULT, id="other", find="return a + b;", put="return x;", statement=True))

    def test_what_fits_is_listed(self):
        result = self.run_tool(FAULT, options=["--list"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("sums are wrong", result.stdout)
        self.assertEqual(result.stdout.splitlines()[-1], "mutants: 1 faults, each fits its source once")

    def test_a_fault_that_no_test_sees_is_reported(self):
        unseen = dict(FAULT, id="unseen", put="a - b + 0", tests="zero")
        statement = dict(FAULT, id="statement", find="result = add(a, a);", put="result = a;", statement=True)
        result = self.run_tool(FAULT, unseen, dict(statement, tests="twice"))
        self.assertEqual(result.returncode, 1, result.stderr)
        lines = result.stdout.splitlines()
        self.assertIn("SURVIVED  unseen: sums are wrong", lines)
        self.assertEqual(sum(line.startswith("caught ") for line in lines), 2, lines)
        self.assertTrue(any("sum-is-difference" in line and "add: exit code 1" in line for line in lines), lines)
        self.assertEqual(lines[-1], "mutants: 3 planted, 2 caught, 1 survived (explained 0)")
        self.assertEqual((self.root / "src/base/add.cpp").read_text(encoding="utf-8"), PROJECT["src/base/add.cpp"])

    def test_a_survivor_that_is_explained_is_no_failure_as_long_as_nineteen_of_twenty_are_caught(self):
        explained = dict(FAULT, id="explained", put="a - b + 0", tests="zero", survives="zero has no sign")
        self.assertEqual(self.run_tool(FAULT, explained).returncode, 1)
        many = [dict(FAULT, id=f"sum-{i}", put=f"a - b - {i}") for i in range(1, 20)]
        result = self.run_tool(*many, explained)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout.splitlines()[-1], "mutants: 20 planted, 19 caught, 1 survived (explained 1)")

    def test_a_hang_is_caught_and_said(self):
        hang = dict(FAULT, id="endless", find="--seconds", put="seconds", tests="twice")
        self.write("CMakeLists.txt", PROJECT["CMakeLists.txt"] + "set_tests_properties(twice PROPERTIES TIMEOUT 2)\n")
        self.write("src/base/add.cpp", PROJECT["src/base/add.cpp"].replace("--seconds;", SLOW_LOOP))
        result = self.run_tool(hang)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("did not end in time (a hang)", result.stdout)

    def test_faults_without_a_test_that_can_speak_are_refused(self):
        for tests, words in (("skip", "skipped"), ("nothing", "no test is called"), ("twice", "fails without any fault")):
            if tests == "twice":
                self.write("tests/check.cpp", PROJECT["tests/check.cpp"].replace("== 8", "== 9"))
            if tests == "skip":
                self.write("CMakeLists.txt", PROJECT["CMakeLists.txt"] + SKIP_CODE)
            result = self.run_tool(dict(FAULT, tests=tests))
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
