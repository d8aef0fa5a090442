#!/usr/bin/env python3
"""options.py - the wrappers leave the compiler's own options and answers alone.

Nothing is run that was linked with the library, so all of this also holds when the
library is built with a sanitizer.
"""

import shutil
import unittest

import lab

# A compiler that prints what it was called with.
ECHO = "#!/bin/sh\necho \"${0##*/}:$*\"\nexit 7\n"


class Linking(lab.Case):
    """Link flags are added when, and only when, the compiler will link."""

    def links(self, *arguments):
        """Whether the wrapper adds the library to such a command."""
        return "-lmpi_abi" in self.output_of(self.bin / "mpicc", "-show", *arguments)

    def test_no_link_flags_when_the_compiler_stops_early(self):
        for stop in ("-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r"):
            self.assertFalse(self.links(stop, "a.c", "-o", "a"), stop)

    def test_no_link_flags_without_anything_to_link(self):
        for arguments in (["-v"], ["--version"], ["-dumpmachine"], ["-v", "-o", "a"],
                          ["-v", "-I", "a"], ["-v", "-isystem", "a", "-Xlinker", "a"],
                          ["-v", "-target", "a"], ["-v", "-T", "a", "-u", "a"]):
            self.assertFalse(self.links(*arguments), arguments)

    def test_link_flags_with_something_to_link(self):
        for arguments in (["a.c"], ["a.o"], ["-O2", "a.c"], ["-x", "c", "-"], ["-la"],
                          ["-v", "a.c"], ["-MD", "-MMD", "-MF", "a.d", "a.c"],
                          ["-shared", "a.o"], ["@answers"], ["-o", "-c", "a.c"]):
            self.assertTrue(self.links(*arguments), arguments)


class Compiling(lab.Case):
    """The compiler does what it does without a wrapper."""

    @unittest.skipUnless(shutil.which("clang"), "no clang here")
    def test_clang_does_not_warn_when_it_only_compiles(self):
        self.run_it(self.bin / "mpicc", "-cc=clang", "-Wall", "-Werror", "-c", lab.HELLO)

    def test_preprocessing_goes_to_standard_output(self):
        self.write("a.c", "#include <mpi.h>\nint version = MPI_VERSION;\n")
        self.assertIn("int version = 5;", self.output_of(self.bin / "mpicc", "-E", "a.c"))

    def test_questions_reach_the_compiler(self):
        for name, plain in (("mpicc", "cc"), ("mpicxx", "c++")):
            self.assertEqual(self.output_of(self.bin / name, "--version"),
                             self.output_of(plain, "--version"))
            told = self.run_it(self.bin / name, "-v").stderr
            self.assertIn(self.run_it(plain, "-v").stderr.splitlines()[-1], told)
            self.assertNotIn("collect2", told)

    def test_a_relocatable_file_does_not_swallow_the_library(self):
        self.run_it(self.bin / "mpicc", "-c", lab.HELLO, "-o", "hello.o")
        self.run_it(self.bin / "mpicc", "-r", "hello.o", "-o", "all.o")
        self.assertIn("U MPI_Init", self.output_of("nm", "all.o"))

    def test_the_compilers_exit_code_is_passed_on(self):
        self.write("bad.c", "int main(void) { return nowhere; }\n")
        told = self.run_it(self.bin / "mpicc", "-c", "bad.c", code=1).stderr
        self.assertIn("nowhere", told)


class Overrides(lab.Case):
    """Another compiler, by option or by environment."""

    def setUp(self):
        super().setUp()
        self.compilers = {}
        for name in ("one", "two", "three", "four"):
            path = self.write(name, ECHO)
            path.chmod(0o755)
            self.compilers[name] = str(path)

    def chosen(self, wrapper, *arguments, **variables):
        """The name of the compiler that ran; its exit code comes through."""
        variables = {name: self.compilers[value] for name, value in variables.items()}
        done = self.run_it(self.bin / wrapper, "-c", "a.c", *arguments, code=7,
                           **variables)
        self.assertIn(":-c a.c", done.stdout)
        return done.stdout.split(":")[0]

    def test_each_variable_is_heard(self):
        for variable in ("WEFT_CC", "MPICH_CC", "OMPI_CC"):
            self.assertEqual(self.chosen("mpicc", **{variable: "one"}), "one")
        for variable in ("WEFT_CXX", "MPICH_CXX", "OMPI_CXX"):
            self.assertEqual(self.chosen("mpicxx", **{variable: "one"}), "one")

    def test_ours_goes_before_the_others(self):
        self.assertEqual(self.chosen("mpicc", OMPI_CC="one", WEFT_CC="two"), "two")
        self.assertEqual(self.chosen("mpicxx", MPICH_CXX="one", WEFT_CXX="two"), "two")

    def test_the_other_languages_variable_is_not_heard(self):
        both = {"WEFT_CC": "one", "WEFT_CXX": "two"}
        self.assertEqual(self.chosen("mpicc", **both), "one")
        self.assertEqual(self.chosen("mpicxx", **both), "two")

    def test_the_option_goes_before_the_environment(self):
        option = f"-cc={self.compilers['three']}"
        self.assertEqual(self.chosen("mpicc", option, WEFT_CC="one"), "three")
        option = f"-cxx={self.compilers['four']}"
        self.assertEqual(self.chosen("mpicxx", option, WEFT_CXX="one"), "four")

    def test_an_empty_variable_counts_as_unset(self):
        said = self.output_of(self.bin / "mpicc", "-showme:command", WEFT_CC="")
        self.assertEqual(said, "cc")


class Trouble(lab.Case):
    """What cannot work is said in one line that names the thing and the way out."""

    def test_a_compiler_that_does_not_exist(self):
        for name, variable in (("mpicc", "WEFT_CC"), ("mpicxx", "WEFT_CXX")):
            told = self.complaint_of(self.bin / name, "a.c", **{variable: "no-such-cc"})
            self.assertIn("no-such-cc: ", told)
            self.assertIn(variable, told)

    def test_a_compiler_without_a_name(self):
        for arguments, variables in ((["-cc="], {}), ([], {"WEFT_CC": " "})):
            told = self.complaint_of(self.bin / "mpicc", *arguments, "a.c", **variables)
            self.assertTrue(told.startswith("mpicc: no compiler: set WEFT_CC"), told)

    def test_a_missing_configuration(self):
        prefix = self.copy_prefix("half")
        next(prefix.rglob("wrappers.conf")).unlink()
        told = self.complaint_of(prefix / "bin" / "mpicc", "a.c")
        self.assertIn("wrappers.conf", told)

    def test_a_missing_library_folder(self):
        prefix = self.copy_prefix("half")
        shutil.rmtree(prefix / lab.LIBDIR)
        self.assertIn(lab.LIBDIR, self.complaint_of(prefix / "bin" / "mpicc", "a.c"))

    def test_a_fortran_compiler_without_bindings(self):
        prefix = self.copy_prefix("half")
        shutil.rmtree(prefix / lab.LIBDIR / "weft", ignore_errors=True)
        for name in ("mpifort", "mpif90", "mpif77"):
            told = self.complaint_of(prefix / "bin" / name, "a.f90", "-o", "a")
            self.assertIn("built without Fortran: install gfortran", told)

    def test_a_fortran_compiler_whose_bindings_are_missing(self):
        prefix = self.copy_prefix("half")
        for there, missing in (("gfortran", "flang"), ("flang", "gfortran")):
            shutil.rmtree(prefix / lab.LIBDIR / "weft", ignore_errors=True)
            (prefix / lab.LIBDIR / "weft" / there).mkdir(parents=True)
            told = self.complaint_of(prefix / "bin" / "mpifort", f"-fc={missing}", "a.f90")
            self.assertIn(f"{missing}: Weft was built for {there} only", told)
            self.assertIn(f"WEFT_FC={there}", told)


if __name__ == "__main__":
    unittest.main()
