#!/usr/bin/env python3
"""examples.py [--fortran] - the programs of examples/ build and give right results.

A copy of examples/ is built with an installation of Weft, by make and by CMake, with warnings
as errors. The programs of make run on 1, 2 and 4 ranks, those of CMake by ctest on 3. Each
has to end with code 0 and to print one line that RESULTS describes. Without --fortran the
program in Fortran is left out. ring.py is compiled and not run: no mpi4py is here.
"""

import os
import py_compile
import re
import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "wrappers"))
import lab  # noqa: E402

IS_FORTRAN = "--fortran" in sys.argv
RANKS = (1, 2, 4)
RANKS_OF_CTEST = 3
SMALL = r"\d\.\de-1\d"  # an error below 1e-9

# What each program prints among its lines; {n} is the number of ranks.
RESULTS = {
    "hello": r"hello from rank 0 of {n} on \S+",
    "ring": r"{n} ranks, sum (\d+), expected \1, 0 wrong ranks",
    "heat": rf"{{n}} ranks, 500 steps: mean error {SMALL}",
    "conjugate_gradient": rf"{{n}} ranks, \d+ steps: mean error {SMALL}",
    "workers": rf"200 pieces by \d workers: integral 3139\.5927, relative error {SMALL}",
    "halo": r"\d x \d x \d ranks, \d+ ghost cells, 0 are wrong",
    "queue": r"{n} ranks, \d+ values: sum (\d+), expected \1",
    "hash_table": r"500 words, {n} ranks: 0 counts are wrong",
    "mcs_lock": r"{n} ranks, 200 rounds each: the counter is (\d+), expected \1",
    "field": r"0 cells are wrong",
    "hybrid": rf"{{n}} ranks of 2 threads: 3\.14159265359\d, largest error {SMALL}",
    "poisson": r"passed",
}
WRONG_ON_PURPOSE = {"too_long", "wrong_tag"}
if not IS_FORTRAN:
    del RESULTS["poisson"]


class Examples(lab.Case):
    """A copy of examples/ in `work`, and Weft's programs first in PATH."""

    def setUp(self):
        super().setUp()
        (self.work / "docs").mkdir()
        shutil.copy(lab.SOURCE / "docs/hello.c", self.work / "docs")
        shutil.copytree(lab.SOURCE / "examples", self.work / "examples")
        self.work /= "examples"
        self.path = f"{self.bin}:{os.environ['PATH']}"

    def check_program(self, program, ranks):
        """Runs a program in its folder and looks for the line of its result."""
        done = self.run_it("mpiexec", "-n", str(ranks), f"./{program}", PATH=self.path)
        wanted = re.compile(RESULTS[program].replace("{n}", str(ranks)))
        self.assertTrue(any(map(wanted.fullmatch, done.stdout.splitlines())), done.stdout)

    def make(self, *arguments):
        fortran = [] if IS_FORTRAN else ["FORTRAN="]
        return self.run_it("make", "-j2", "CFLAGS=-O2 -Wall -Wextra -Werror",
                           "FFLAGS=-O2 -Wall -Wextra -Werror", *fortran, *arguments,
                           PATH=self.path)

    def test_the_programs_of_make_give_right_results(self):
        self.make()
        for program in RESULTS:
            for ranks in RANKS:
                with self.subTest(program=program, ranks=ranks):
                    self.check_program(program, ranks)
        for writers, readers in ((4, 1), (2, 4)):
            for ranks, verb in ((writers, "write"), (readers, "read")):
                self.run_it("mpiexec", "-n", str(ranks), "./field", verb, "a.bin",
                            PATH=self.path)
        done = self.run_it("mpiexec", "-n", "2", "./too_long", PATH=self.path,
                           code=tuple(range(1, 256)))
        self.assertIn("MPI_ERR_TRUNCATE", done.stderr)
        self.make("clean")
        self.assertFalse((self.work / "ring").exists())

    def test_a_wrong_result_ends_with_code_1(self):
        """Each program is changed so that its result and the known one differ."""
        changes = {
            "ring": ("(size + 1) / 2", "(size + 2) / 2"),
            "heat": ("1 - 8 * speed", "1 - 9 * speed"),
            "conjugate_gradient": ("MOST_STEPS = 400", "MOST_STEPS = 4"),
            "workers": ("2 / w * atan", "3 / w * atan"),
            "halo": ("const int own[2] = {n, 1}", "const int own[2] = {n, 2}"),
            "queue": ("values + 1) / 2", "values + 3) / 2"),
            "hash_table": ("k % 3 + 1);", "k % 3 + 2);"),
            "mcs_lock": ("    value++;", "    value += 2;"),
            "field": ("cells[i] = value_at", "cells[i] = 1 + value_at"),
            "hybrid": ("i + 0.5", "i + 0.6"),
        }
        self.assertEqual(set(changes), set(RESULTS) - {"hello", "poisson"})
        for program, (old, new) in changes.items():
            path = self.work / f"{program}.c"
            text = path.read_text()
            self.assertIn(old, text, program)
            path.write_text(text.replace(old, new, 1))
        self.make(*changes)
        for program in changes:
            with self.subTest(program=program):
                self.run_it("mpiexec", "-n", "2", f"./{program}", PATH=self.path, code=1)

    def test_cmake_builds_them_and_ctest_runs_them(self):
        self.run_it("cmake", "-B", "build", "-DCMAKE_C_FLAGS=-Werror",
                    f"-DRANKS={RANKS_OF_CTEST}", PATH=self.path)
        self.run_it("cmake", "--build", "build", "-j2", PATH=self.path)
        done = self.run_it("ctest", "--test-dir", "build", PATH=self.path)
        passed = set(re.findall(r"Test +#\d+: (\w+) \.+ +Passed", done.stdout))
        self.assertEqual(passed, set(RESULTS), done.stdout)

    def test_the_one_in_python_compiles(self):
        py_compile.compile(str(self.work / "ring.py"), doraise=True)
        print("ring.py was compiled and not run: it needs mpi4py for Weft")


class Folder(unittest.TestCase):
    """What a reader of the folder finds."""

    def test_the_readme_lists_every_program(self):
        folder = lab.SOURCE / "examples"
        text = (folder / "README.md").read_text(encoding="utf-8")
        listed = set(re.findall(r"^\| \[`[\w./]*?(\w+)\.(?:c|f90|py)`\]", text, re.M))
        there = {path.stem for path in folder.iterdir() if path.suffix in (".c", ".f90", ".py")}
        self.assertEqual(listed, there | {"hello"})
        self.assertLessEqual(set(RESULTS) | WRONG_ON_PURPOSE, listed)

    def test_every_program_shows_how_to_run_it_in_few_lines(self):
        for name in sorted(set(RESULTS) - {"hello"}):
            path = next((lab.SOURCE / "examples").glob(f"{name}.[cf]*"))
            text = path.read_text(encoding="utf-8")
            self.assertIn(f"mpiexec -n 4 ./{name}", text)
            self.assertLessEqual(text.count("\n"), 150, name)


if __name__ == "__main__":
    unittest.main(argv=[arg for arg in sys.argv if arg != "--fortran"])
