#!/usr/bin/env python3
"""show.py - what the wrappers say about themselves is right.

Only texts are compared here, which also works when the library is built with a sanitizer;
build.py builds programs with what is printed.
"""

import unittest

import lab


class Show(lab.Case):
    """Each question and its answer."""

    def setUp(self):
        super().setUp()
        self.compiling = f"-I{self.prefix}/include"
        self.linking = (f"-L{self.libdir} -Wl,-rpath,{self.libdir} "
                        "-Wl,--enable-new-dtags -lmpi_abi")

    def answers(self, option, wanted_cc, wanted_cxx=None):
        """Checks one option for both languages."""
        self.assertEqual(self.output_of(self.bin / "mpicc", option), wanted_cc)
        self.assertEqual(self.output_of(self.bin / "mpicxx", option),
                         wanted_cxx or wanted_cc)

    def test_the_flags(self):
        self.answers("-showme:compile", self.compiling)
        self.answers("-showme:link", self.linking)

    def test_single_things(self):
        self.answers("-showme:incdirs", f"{self.prefix}/include")
        self.answers("-showme:libdirs", str(self.libdir))
        self.answers("-showme:libs", "mpi_abi")
        self.answers("-showme:command", "cc", "c++")

    def test_the_version_is_the_librarys(self):
        version = self.output_of(self.bin / "weft-info", "--version").split(",")[0]
        self.answers("-showme:version", f"mpicc: {version}", f"mpicxx: {version}")

    def test_whole_commands(self):
        both = f"{self.compiling} {self.linking}"
        self.answers("-show", f"cc {both}", f"c++ {both}")
        self.answers("-showme", f"cc {both}", f"c++ {both}")
        for dash in "-_":
            self.answers(f"-compile{dash}info", f"cc {self.compiling}", f"c++ {self.compiling}")
            self.answers(f"-link{dash}info", f"cc {self.linking}", f"c++ {self.linking}")

    def test_two_dashes_are_as_good_as_one(self):
        both = f"{self.compiling} {self.linking}"
        self.answers("--showme", f"cc {both}", f"c++ {both}")
        self.answers("--showme:compile", self.compiling)
        self.answers("--showme:link", self.linking)
        self.answers("--showme:libs", "mpi_abi")

    def test_the_users_own_flags_come_first(self):
        shown = self.output_of(self.bin / "mpicc", "-show", "a.c", "-Imine", "-lmine")
        self.assertEqual(shown, f"cc a.c -Imine -lmine {self.compiling} {self.linking}")

    def test_what_is_shown_follows_the_chosen_compiler(self):
        shown = self.output_of(self.bin / "mpicc", "-cc=gcc -m64", "-show", "-c", "a.c")
        self.assertEqual(shown, f"gcc -m64 -c a.c {self.compiling}")

    def test_words_are_quoted_for_the_shell(self):
        shown = self.output_of(self.bin / "mpicc", "-show", "-c", "a b.c", "-DX=\"'\"",
                               "")
        self.assertEqual(self.output_of("sh", "-c", f"printf '[%s]' {shown}"),
                         f"[cc][-c][a b.c][-DX=\"'\"][][{self.compiling}]")

    def test_nothing_runs_when_it_is_only_shown(self):
        shown = self.output_of(self.bin / "mpicc", "-show", "x.c", WEFT_CC="no-such-cc")
        self.assertTrue(shown.startswith("no-such-cc x.c "), shown)

    def test_the_help_names_every_option(self):
        for option in ("-help", "--help"):
            said = self.output_of(self.bin / "mpicc", option)
            for name in ("-show,", "-showme ", "-showme:compile", "-showme:link",
                         "-showme:incdirs", "-showme:libdirs", "-showme:libs",
                         "-showme:command", "-showme:version", "-compile-info",
                         "-link-info", "-cc=", "-cxx=", "-help", "WEFT_CC", "WEFT_CXX"):
                self.assertIn(name, said)


if __name__ == "__main__":
    unittest.main()
