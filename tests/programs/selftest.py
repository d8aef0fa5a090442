"""selftest.py - every check of an answer finds a wrong one; no network, no MPI."""

import os
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

import boost_mpi
import fftw
import hdf5_field
import hpcc
import hypre
import kit
import netpipe
import p4est
import programs
import scotch
import sources
import sundials

HPCC = """End of HPL section.
      1 tests completed and passed residual checks,
      0 tests completed and failed residual checks,
      5 tests completed and passed residual checks.
      0 tests completed and failed residual checks.
MPIRandomAccess_LCG_Errors=0
MPIRandomAccess_Errors=0
MPIFFT_maxErr=1.29948e-15
Success=1
"""
NETPIPE = "".join(f"{at:3}: {at + 1:7} bytes {9:6} times -->   Integrity check passed\n"
                  for at in range(netpipe.SIZES))
SUNDIALS = "".join(f"{at:2}/15 Test #{at + 40}: test_nvector_mpi_{at} .....   Passed    0.50 sec\n"
                   for at in range(1, 16)) + "\n100% tests passed, 0 tests failed out of 15\n"


class Checks(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.folder = Path(self.place.name)

    def tearDown(self):
        self.place.cleanup()

    def passes(self, check, said, code=0):
        passed, of, faults = check(code, said, self.folder)
        self.assertEqual((passed, faults), (of, []))
        self.fails(check, said, 1)
        self.fails(check, said, None)

    def fails(self, check, said, code=0):
        _, _, faults = check(code, said, self.folder)
        self.assertTrue(faults)

    def test_hpcc_is_judged_by_its_file(self):
        path = self.folder / "hpccoutf.txt"
        self.fails(hpcc.check, HPCC)  # it has written none
        path.write_text(HPCC)
        self.passes(hpcc.check, "")
        for good, bad in (("Success=1", "Success=0"), ("MPIRandomAccess_Errors=0", ""),
                          ("LCG_Errors=0", "LCG_Errors=7"), ("e-15", "e-05"),
                          ("0 tests completed and failed", "1 tests completed and failed")):
            path.write_text(HPCC.replace(good, bad, 1))
            self.fails(hpcc.check, "")

    def test_hpcc_gets_its_input_from_the_example(self):
        text = "1            # of problems sizes (N)\n1000         Ns\n2            Ps\n2   Qs\n"
        self.assertEqual(hpcc.input_text(text, 400, 1, 2),
                         text.replace("1000 ", "400 ").replace("2            Ps",
                                                               "1            Ps"))

    def test_every_test_of_p4est_counts(self):
        said = "".join(f"PASS: test/t{at}\n" for at in range(p4est.TESTS))
        self.passes(p4est.check, said)
        self.fails(p4est.check, said.replace("PASS: test/t7\n", "FAIL: test/t7\n"))
        self.fails(p4est.check, said.split("\n", 1)[1])

    def test_every_cell_of_hdf5_field_counts(self):
        self.passes(hdf5_field.check_read, "86400 of 86400 cells are right\n")
        self.fails(hdf5_field.check_read, "86399 of 86400 cells are right\n")
        self.fails(hdf5_field.check_read, "")

    def test_every_size_of_netpipe_counts(self):
        self.passes(netpipe.check, NETPIPE)
        self.fails(netpipe.check, NETPIPE.replace("passed", "failed", 1))
        self.fails(netpipe.check, NETPIPE.split("\n", 1)[1])

    def test_every_test_of_sundials_counts(self):
        self.passes(sundials.checker(15), SUNDIALS)
        self.fails(sundials.checker(15), SUNDIALS.replace("  Passed ", "***Failed ", 1))
        self.fails(sundials.checker(15), SUNDIALS.split("\n", 1)[1])
        self.fails(sundials.checker(15), "No tests were found!!!\n")

    def test_every_problem_of_fftw_counts(self):
        said = "Executing x\nobc10x3 1.5e-16 2.25e-16 3e-16\nik9e00 0 0 1e-16\n"
        self.passes(fftw.checker(2), said)
        self.fails(fftw.checker(3), said)
        self.fails(fftw.checker(2), said + "FAILED x: --verify 'ik4'\n")
        self.fails(fftw.checker(2), said + "killed\n")

    def test_an_error_of_boost_is_seen(self):
        self.passes(boost_mpi.check, "\n*** No errors detected\n")
        self.passes(boost_mpi.check, "")
        self.fails(boost_mpi.check, "a.cpp(9): error: in \"x\": check a == b has failed\n")

    def test_a_list_of_hypre_leaves_no_difference(self):
        check = hypre.checker("TEST_ij/default")
        (self.folder / "TEST_ij").mkdir()
        (self.folder / "TEST_ij/default.jobs").write_text("#\n mpirun -np 2 ij > a\n")
        self.fails(check, "")
        path = self.folder / "TEST_ij/default.err"
        path.write_text("")
        self.passes(check, "")
        path.write_text("1c1\n< Iterations = 9\n")
        self.fails(check, "")


class Sources(unittest.TestCase):
    def test_an_archive_is_unpacked_without_its_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "x-1/sub").mkdir(parents=True)
            (place / "x-1/sub/a").write_text("a")
            (place / "x-1/b").write_text("b")
            archive = place / "x_1.2+ds.orig.tar.gz"
            with tarfile.open(archive, "w:gz") as tar:
                tar.add(place / "x-1", "x-1")
            sources.unpack(archive, place / "all")
            sources.unpack(archive, place / "some", lambda name: name.startswith("sub"))
            self.assertEqual((place / "all/sub/a").read_text(), "a")
            self.assertEqual(sorted(os.listdir(place / "all")), ["b", "sub"])
            self.assertEqual(os.listdir(place / "some"), ["sub"])
            self.assertEqual(sources.archive_in(place, "x"), archive)
            self.assertEqual(sources.version_of(archive), "1.2")

    def test_the_archive_is_found_among_what_apt_would_get(self):
        told = ("'proto://h/p/x_1-2.dsc' x_1-2.dsc 10 SHA256:0a\n"
                "'proto://h/p/x_1.orig.tar.gz' x_1.orig.tar.gz 20 SHA256:0b\n")
        self.assertEqual(sources.URI.search(told).groups(),
                         ("proto://h/p/x_1.orig.tar.gz", "x_1.orig.tar.gz", "SHA256:0b"))


class Runs(unittest.TestCase):
    def test_a_command_that_hangs_is_ended(self):
        code, said, seconds = kit.call(["sh", "-c", "echo a; sleep 60"], ".", {}, 1)
        self.assertEqual((code, said), (None, "a\n"))
        self.assertLess(seconds, 30)

    def test_a_step_of_a_build_that_fails_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            one = kit.Kit("x", "cc", "c++", "run", log=Path(folder) / "log")
            one.make(["true"], folder)
            with self.assertRaisesRegex(kit.NotBuilt, "x.c:1: error: odd"):
                one.make(["sh", "-c", "echo a; echo x.c:1: error: odd; echo b; exit 1"], folder)

    def test_a_program_whose_check_cannot_fail_is_reported(self):
        class Recipe:
            SPOILED = "int"

            @staticmethod
            def spoiled(one, source):
                return kit.Run("r", "1", ["true"], source, lambda *of: (1, 1, []))

        with tempfile.TemporaryDirectory() as folder:
            one = kit.Kit("x", "true", "true", "true")
            archive = Path("x_1.orig.tar.gz")
            program = programs.Program("p", Recipe, archive, one, Path(folder))
            program.source.mkdir(parents=True)
            program.logs.mkdir()
            program.run_spoiled()
            self.assertEqual(program.faults, ["r: spoiled data passes its check"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
