#!/usr/bin/env python3
"""build.py - a program built by mpicc or mpicxx runs, wherever the wrapper lies.

No LD_LIBRARY_PATH is set, and every program tells which library it has loaded.
"""

import os
import shlex
import shutil
import unittest

import lab

WRAPPERS = ("mpicc", "mpicxx")


class Places(lab.Case):
    """The same program, built from wherever a wrapper may be called."""

    def build_with_all(self, folder, libdir):
        """Both wrappers of one folder."""
        for name in WRAPPERS:
            with self.subTest(name):
                self.build_hello(folder / name, libdir)

    def test_from_the_installed_prefix(self):
        self.build_with_all(self.bin, self.libdir)

    def test_by_name_through_path(self):
        path = f"{self.bin}:{os.environ['PATH']}"
        self.build_hello("mpicc", self.libdir, PATH=path)

    def test_from_the_build_tree(self):
        self.build_with_all(lab.BUILD / "wrappers", lab.BUILD.resolve() / "bindings")

    def test_from_a_prefix_that_was_moved(self):
        moved = self.work / "moved"
        self.copy_prefix("first").rename(moved)
        self.build_with_all(moved / "bin", moved / lab.LIBDIR)

    def test_from_a_prefix_with_a_space_in_its_name(self):
        spaced = self.copy_prefix("with a space")
        self.build_with_all(spaced / "bin", spaced / lab.LIBDIR)

    def test_through_a_symlink_elsewhere(self):
        for name in WRAPPERS:
            link = self.work / name
            link.symlink_to(self.bin / name)
            self.build_hello(link, self.libdir)

    def test_through_the_aliases(self):
        for name in ("mpicc_abi", "mpicxx_abi", "mpic++"):
            with self.subTest(name):
                self.build_hello(self.bin / name, self.libdir)

    def test_the_wrapper_itself_decides_the_language_and_not_its_symlink(self):
        link = self.work / "compile-it"
        link.symlink_to(self.bin / "mpicxx")
        source = self.write("a.xyz", "#include <new>\n#include <mpi.h>\nint main() {}\n")
        self.run_it(link, "-x", "c++", source, "-o", "a")
        self.assertEqual(self.output_of(link, "-showme:command"), "c++")


class Steps(lab.Case):
    """Programs in several files and several steps."""

    def test_compiling_and_linking_apart(self):
        self.run_it(self.bin / "mpicc", "-c", lab.HELLO, "-o", "hello.o")
        self.run_it(self.bin / "mpicc", "hello.o", "-o", "hello")
        self.check_hello(self.work / "hello", self.libdir)

    def test_two_files_at_once(self):
        self.write("one.c", '#include <mpi.h>\nint two(void);\n'
                            'int main(void) { return MPI_Init(0, 0) + two(); }\n')
        self.write("two.c", '#include <mpi.h>\n'
                            'int two(void) { return MPI_Finalize(); }\n')
        self.run_it(self.bin / "mpicc", "one.c", "two.c", "-o", "both")
        self.run_it(self.work / "both")

    def test_an_object_file_and_a_library_of_the_users(self):
        self.write("mine.c", "int mine(void) { return 3; }\n")
        self.write("main.c", "int mine(void);\nint main(void) { return mine(); }\n")
        self.run_it(self.bin / "mpicc", "-c", "mine.c", "main.c")
        self.run_it("ar", "rcs", "libmine.a", "mine.o")
        self.run_it(self.bin / "mpicc", "main.o", "-L.", "-lmine", "-o", "main")
        self.run_it(self.work / "main", code=3)

    def test_a_source_from_standard_input(self):
        command = f"{shlex.quote(str(self.bin / 'mpicc'))} -x c - -o hello"
        self.run_it("sh", "-c", f"{command} <{shlex.quote(str(lab.HELLO))}")
        self.check_hello(self.work / "hello", self.libdir)

    def test_a_shared_library_that_calls_mpi(self):
        self.write("lib.c", '#include <mpi.h>\n'
                            'int stop(void) { return MPI_Finalize(); }\n')
        self.write("main.c", '#include <mpi.h>\nint stop(void);\n'
                             'int main(void) { MPI_Init(0, 0); return stop(); }\n')
        self.run_it(self.bin / "mpicc", "-shared", "-fPIC", "lib.c", "-o", "libstop.so")
        self.run_it(self.bin / "mpicc", "main.c", "-L.", "-lstop", "-o", "main",
                    f"-Wl,-rpath,{self.work}")
        self.run_it(self.work / "main")

    def test_a_static_program_needs_no_library(self):
        self.run_it(self.bin / "mpicc", "-static", lab.HELLO, "-o", "hello")
        said = self.output_of(self.work / "hello")
        self.assertEqual(said, "hello from 0 of 1\nstatic")

    def test_a_static_program_is_linked_without_optimising_the_library_again(self):
        shown = self.run_it("objdump", "-h", self.libdir / "libmpi_abi.a", code=(0, 1))
        self.assertNotIn(".gnu.lto_", shown.stdout)


class Flags(lab.Case):
    """What the wrappers print builds the same program without them."""

    def shell(self, text):
        """Runs a line of shell."""
        self.run_it("sh", "-c", text)

    def flags_build(self, prefix):
        """cc with -showme:compile and -showme:link, in two steps."""
        mpicc = prefix / "bin" / "mpicc"
        compiling = self.output_of(mpicc, "-showme:compile")
        linking = self.output_of(mpicc, "-showme:link")
        self.shell(f"cc -c {lab.HELLO} -o hello.o {compiling}")
        self.shell(f"cc hello.o -o hello {linking}")
        self.check_hello(self.work / "hello", prefix / lab.LIBDIR)

    def shown_command_builds(self, prefix):
        """What -show prints, pasted into a shell."""
        for option in ("-show", "-showme"):
            shown = self.output_of(prefix / "bin" / "mpicc", option, lab.HELLO, "-o",
                                   "a name with $PATH, ' and \"")
            self.shell(shown)
            self.check_hello(self.work / "a name with $PATH, ' and \"",
                             prefix / lab.LIBDIR)

    def whole_commands_build(self, prefix):
        """-compile_info and -link_info, with a file behind them."""
        mpicc = prefix / "bin" / "mpicc"
        self.shell(self.output_of(mpicc, "-compile_info") + f" -c {lab.HELLO} -o info.o")
        self.shell(self.output_of(mpicc, "-link_info").replace(" ", " info.o ", 1)
                   + " -o info")
        self.check_hello(self.work / "info", prefix / lab.LIBDIR)

    def test_whatever_the_prefix_is_called(self):
        odd = self.copy_prefix("a 'b' $c \"d\" `e` \\f")
        for prefix in (self.prefix, self.copy_prefix("with a space"), odd):
            self.flags_build(prefix)
            self.shown_command_builds(prefix)
            self.whole_commands_build(prefix)


class OldSources(lab.Case):
    """-DWEFT_LEGACY gives mpi.h the names that the ABI left out."""

    TEXT = """#include <mpi.h>
MPI_Fint world(void) { return MPI_Comm_c2f(MPI_COMM_WORLD); }
int main(void) { MPI_Aint at; return MPI_Address(&at, &at) + (world() == 0); }
"""

    def test_they_build_with_the_flag_and_not_without(self):
        self.write("old.c", self.TEXT)
        self.write("old.cpp", self.TEXT)
        for name, source in (("mpicc", "old.c"), ("mpicxx", "old.cpp")):
            self.run_it(self.bin / name, "-Wall", "-Werror", source, "-o", "old", code=1)
            self.run_it(self.bin / name, "-Wall", "-Werror", "-DWEFT_LEGACY", source, "-o",
                        "old")
            self.run_it(self.work / "old")

    def test_either_header_may_be_first(self):
        both = '#include <mpi_legacy.h>\n'
        self.write("first.c", both + self.TEXT)
        self.write("second.c", self.TEXT + both)
        for source in ("first.c", "second.c"):
            self.run_it(self.bin / "mpicc", "-Wall", "-Werror", "-DWEFT_LEGACY", source)
        self.run_it(self.bin / "mpicc", "-Wall", "-Werror", "first.c")

    def test_a_configure_script_still_finds_the_functions(self):
        # As autoconf asks whether a function exists: it declares it wrongly, and links.
        self.write("conftest.c", "char MPI_Init();\nint main() { return MPI_Init(); }\n")
        self.run_it(self.bin / "mpicc", "-DWEFT_LEGACY", "conftest.c", "-o", "conftest")


class Compilers(lab.Case):
    """Whatever compiler is chosen, the program runs."""

    @unittest.skipUnless(shutil.which("clang"), "no clang here")
    def test_clang_warns_of_nothing(self):
        self.build_hello(self.bin / "mpicc", self.libdir, "-cc=clang", "-Wall", "-Werror")

    def test_the_environments_compiler_may_have_flags(self):
        self.build_hello(self.bin / "mpicc", self.libdir, WEFT_CC="gcc -O2 -Werror")


if __name__ == "__main__":
    unittest.main()
