#!/usr/bin/env python3
"""prefixes.py - two installations on one machine do not disturb each other."""

import os
import shutil
import unittest

import lab


class TwoPrefixes(lab.Case):
    """A is installed first, B later; both are whole."""

    def setUp(self):
        super().setUp()
        self.a = lab.install(self.work / "a")
        self.b = lab.install(self.work / "b")

    def built_by(self, prefix, first_in_path):
        """hello, built with `prefix`'s mpicc while another's bin leads PATH."""
        program = self.work / f"hello-{prefix.relative_to(self.work).parts[0]}"
        path = f"{first_in_path / 'bin'}:{os.environ['PATH']}"
        self.run_it(prefix / "bin" / "mpicc", lab.HELLO, "-o", program, PATH=path)
        return program

    def test_each_wrapper_uses_its_own_library(self):
        self.check_hello(self.built_by(self.a, self.b), self.a / lab.LIBDIR)
        self.check_hello(self.built_by(self.b, self.a), self.b / lab.LIBDIR)

    def test_path_decides_which_wrapper_runs(self):
        for first, second in ((self.a, self.b), (self.b, self.a)):
            path = f"{first / 'bin'}:{second / 'bin'}:{os.environ['PATH']}"
            self.build_hello("mpicc", first / lab.LIBDIR, PATH=path)

    def test_removing_one_leaves_the_others_programs_working(self):
        program = self.built_by(self.a, self.b)
        shutil.rmtree(self.b)
        self.check_hello(program, self.a / lab.LIBDIR)
        self.check_hello(self.built_by(self.a, self.a), self.a / lab.LIBDIR)

    def test_each_library_reads_the_settings_of_its_own_site(self):
        told = {}
        for prefix in (self.a, self.b):
            site = prefix / "etc/weft.conf"
            site.parent.mkdir()
            site.write_text("WEFT_NETT = x\n")
            told[prefix] = (f"weft: {site}:1: WEFT_NETT is not a setting and has no effect; did "
                            "you mean WEFT_NET?\n")
        program = self.built_by(self.a, self.b)
        self.assertEqual(self.run_it(program).stderr, told[self.a])
        self.assertEqual(self.run_it(program, LD_LIBRARY_PATH=str(self.b / lab.LIBDIR)).stderr,
                         told[self.b])

    def test_the_users_library_path_can_swap_the_library(self):
        said = self.output_of(self.built_by(self.a, self.a),
                              LD_LIBRARY_PATH=str(self.b / lab.LIBDIR)).splitlines()
        self.assertEqual(os.path.dirname(said[1]), str(self.b / lab.LIBDIR))


if __name__ == "__main__":
    unittest.main()
