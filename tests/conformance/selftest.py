"""selftest.py - the tools of this folder, without a network and without MPI."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import build
import conformance
import job
import package
import table
import testlist

MPICC = """#!/bin/sh
if [ "$1" = -show ]; then echo cc; else exec cc "$@"; fi
"""
MPIEXEC = """#!/bin/sh
shift 4
exec "$@"
"""
UTIL = [*build.COMMON, *build.KINDS.values()]


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


class Lists(unittest.TestCase):
    def test_a_line_is_read_with_all_its_words(self):
        one = testlist.entry("pt2pt", "a 4 arg=-x=1 arg=2 env=A=b=c timeLimit=9 mem=4.5 odd")
        self.assertEqual((one.program, one.ranks, one.arguments), ("a", 4, ["-x=1", "2"]))
        self.assertEqual((one.environment, one.limit, one.memory), ({"A": "b=c"}, 9, 4.5))
        self.assertFalse(one.must_fail)

    def test_switches_comments_and_folders_are_no_entries(self):
        with tempfile.TemporaryDirectory() as place:
            write(Path(place) / "l/testlist.in", "# x\n@on@a 2\n\nsub\nb\na 2\n")
            (Path(place) / "l/sub").mkdir()
            names = [e.name for e in testlist.entries(Path(place), "l")]
        self.assertEqual(names, ["a 2", "b", "a 2 (line 2)"])


class Verdicts(unittest.TestCase):
    def check(self, line, code, said, expected):
        self.assertEqual(job.verdict(testlist.entry("l", line), code, said)[0], expected)

    def test_only_no_errors_and_nothing_else_passes(self):
        self.check("a 2", 0, " No Errors\n", job.PASSED)
        self.check("a 2", 0, "", job.FAILED)
        self.check("a 2", 0, " Found 3 errors\n", job.FAILED)
        self.check("a 2", 0, " No Errors\nrank 1: odd\n", job.FAILED)
        self.check("a 2", 1, " No Errors\n", job.FAILED)
        self.check("a 2", None, " No Errors\n", job.FAILED)
        self.check("a 2", job.BY_LIMIT, " No Errors\n", job.FAILED)

    def test_who_must_fail_passes_by_an_error_of_its_own(self):
        line = "a 2 resultTest=TestErrFatal"
        missing = ("weft: rank 0 on h: MPI_Comm_dup on c: MPI_ERR_UNSUPPORTED_OPERATION: "
                   "this version of Weft does not have this function yet\n")
        self.check(line, 5, "anything\n", job.PASSED)
        self.check(line, 0, " No Errors\n", job.FAILED)
        self.check(line, 139, "", job.FAILED)
        self.check(line, job.BY_LIMIT, "", job.FAILED)
        self.check(line + " timeLimit=10", job.BY_LIMIT, "", job.PASSED)
        self.check(line, 5, missing, job.FAILED)


class Tables(unittest.TestCase):
    def setUp(self):
        self.table = table.Table("1.2.3")
        self.results = {"a 1": (job.PASSED, ""), "b 2": (job.FAILED, "says | odd"),
                        "c 3": (job.NOT_BUILT, "x"), "d": (job.NOT_RUN, "y")}
        self.table.set_list("threads/l", self.results, {("threads/l", "c 3"): "MPIX"})

    def test_what_is_written_is_read_again(self):
        text = self.table.text()
        self.assertIn("| threads/l | 4 | 1 | 1 | 1 | 1 |", text)
        self.assertIn("| `c 3` | not built | MPIX |", text)
        self.assertIn("| `b 2` | failed | not explained yet: says / odd |", text)
        self.assertEqual(table.parse(text).text(), text)

    def test_only_an_entry_that_passed_can_become_worse(self):
        now = {**self.results, "a 1": (job.FAILED, "why"), "b 2": (job.PASSED, "")}
        old = table.parse(self.table.text())
        self.assertEqual(table.worse(old, "threads/l", self.results), [])
        self.assertEqual(table.worse(old, "threads/l", now), [("a 1", job.FAILED, "why")])
        self.assertEqual(table.better(old, "threads/l", now), ["b 2"])
        self.assertEqual(table.worse(old, "unknown", now), [])
        self.assertEqual(table.lost(old, "threads/l", {"a 1": (job.PASSED, "")}), 3)

    def test_a_reason_has_three_columns(self):
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "reasons.tsv"
            path.write_text("# c\nl\ta 1\twhy\n")
            self.assertEqual(table.read_reasons(path), {("l", "a 1"): "why"})
            path.write_text("l\ta 1 why\n")
            self.assertRaises(ValueError, table.read_reasons, path)

    def test_the_reasons_in_the_tree_can_be_read(self):
        self.assertTrue(table.read_reasons(conformance.HERE / "reasons.tsv"))


class Package(unittest.TestCase):
    def test_lists_of_registries_get_source_packages(self):
        old = "# deb x\ndeb [signed-by=k] file:/r s main\ndeb-src [signed-by=k] file:/r s main\n"
        self.assertEqual(package.with_sources("0.list", old),
                         "deb-src [signed-by=k] file:/r s main\n")
        new = "Types: deb\nURIs: file:/r\n\nTypes: deb deb-src\nURIs: file:/s\n"
        self.assertEqual(package.with_sources("1.sources", new).count("Types: deb-src\n"), 2)


class WholeRuns(unittest.TestCase):
    """A package of four programs, with shell scripts for mpicc and mpiexec."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = Path(folder.name)
        work = self.place / "work"
        programs = work / "programs-9"
        write(work / "mpich_9.orig.tar.xz", "")
        for path in UTIL:
            write(programs / path, "typedef int nothing;\n")
        main = '#include <stdio.h>\n#include "mpitestconf.h"\nint main(void) {{ {} }}\n'
        write(programs / "l/good.c", main.format('puts(" No Errors");'))
        write(programs / "l/bad.c", main.format("return 3;"))
        write(programs / "l/broken.c", "int main(void) { return MISSING; }\n")
        write(programs / "l/Makefile.am", "flagged_SOURCES = \\\n    good.c\n"
                                          "flagged_CPPFLAGS = -DX $(AM_CPPFLAGS)\n")
        write(programs / "l/testlist", "good 1\nflagged 2\nbad 1\nbroken 1\nabsent 1\n"
                                       "good 1 mem=100000\n")
        write(self.place / "bin/mpicc", MPICC, 0o755)
        write(self.place / "bin/mpiexec", MPIEXEC, 0o755)
        write(self.place / "docs/conformance.md", "")
        self.saved = conformance.ROOT
        conformance.ROOT = self.place
        self.addCleanup(setattr, conformance, "ROOT", self.saved)
        self.arguments = ["--prefix", str(self.place), "--work", str(work), "--lists", "l"]

    def run_it(self, *more):
        said = sys.stdout
        with open(os.devnull, "w") as sys.stdout:
            try:
                return conformance.main([*self.arguments, *more])
            finally:
                sys.stdout = said

    def test_a_run_writes_the_table_and_the_next_is_held_to_it(self):
        document = self.place / "docs/conformance.md"
        self.assertEqual(self.run_it("--update"), 0)
        text = document.read_text()
        self.assertIn("| l | 6 | 2 | 1 | 2 | 1 |", text)
        self.assertIn("the package has no file absent.c", text)
        self.assertEqual(self.run_it(), 0)
        document.write_text("".join(line for line in text.splitlines(True)
                                    if "`bad 1`" not in line))
        self.assertEqual(self.run_it(), 1)

    def test_ten_commits_run_every_entry_once(self):
        entries = list(range(54))
        turns = [conformance.rotating_part(entries, 20000 + turn) for turn in range(10)]
        self.assertEqual(sorted(sum(turns, [])), entries)
        self.assertTrue(all(5 <= len(turn) <= 6 for turn in turns))
        thirds = [conformance.rotating_part(entries, turn, 3) for turn in range(3)]
        self.assertEqual(sorted(sum(thirds, [])), entries)
        self.assertIn(conformance.turn_of_commit(), range(10))

    def test_every_commit_runs_at_most_40_fixed_entries(self):
        self.assertIn(len(conformance.fixed_entries()), range(1, 41))

    def test_a_tenth_does_not_wait_for_what_did_not_pass_before(self):
        old = table.Table()
        old.set_list("l", {"a 1": (job.PASSED, ""), "b 1": (job.FAILED, "it hangs")}, {})
        entries = [testlist.entry("l", "a 1"), testlist.entry("l", "b 1")]
        limits = [e.limit for e in conformance.hurried(entries, old)]
        self.assertEqual(limits, [testlist.DEFAULT_LIMIT, conformance.NOT_AWAITED])

    def test_a_part_of_a_list_is_not_a_list_that_lost_entries(self):
        self.assertEqual(self.run_it("--update"), 0)
        self.assertEqual(self.run_it("--rotating"), 0)
        self.assertEqual(self.run_it("--rotating", "3"), 0)

    def test_without_programs_and_network_it_is_skipped(self):
        self.arguments[3] = str(self.place / "empty")
        self.assertEqual(self.run_it("--offline"), conformance.SKIPPED)

    def test_help_is_printed(self):
        done = subprocess.run([sys.executable, "-B", conformance.HERE / "conformance.py",
                               "--help"], capture_output=True, text=True, check=True)
        self.assertIn("--update", done.stdout)


if __name__ == "__main__":
    unittest.main()
