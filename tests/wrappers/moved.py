#!/usr/bin/env python3
"""moved.py - an installation works in another folder than that of --prefix, and knows no other."""

import json
import os
import shutil
import unittest

import lab

# What the library tells debuggers, and whether the library that it names is one.
QUEUES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    const char *name;
    void *library;

    MPI_Init(&argc, &argv);
    name = dlsym(RTLD_DEFAULT, "MPIR_dll_name");
    library = name != NULL ? dlopen(name, RTLD_NOW) : NULL;
    printf("%s\n%d\n", name != NULL ? name : "none",
           library != NULL && dlsym(library, "mqs_setup_image") != NULL);
    return MPI_Finalize();
}
"""


class Moved(lab.Case):
    """The folder that `meson install` has filled is not there any more."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        first = cls.room / "installed"
        cls.prefix.rename(cls.room / "moved")
        shutil.rmtree(first)
        cls.prefix = cls.room / "moved"
        cls.bin = cls.prefix / "bin"
        cls.libdir = cls.prefix / lab.LIBDIR

    def run_two(self, program, **variables):
        """Two ranks of hello.c, with the library that was moved."""
        said = self.output_of(self.bin / "mpiexec", "-n", "2", program, **variables)
        self.assertIn("hello from 1 of 2", said)
        self.assertIn(str(self.libdir / "libmpi_abi.so.1"), said)

    def test_wrappers_and_mpiexec(self):
        for name, source in (("mpicc", "hello.c"), ("mpicxx", "hello.cc")):
            program = self.work / name
            shutil.copy(lab.HELLO, self.work / source)
            self.run_it(self.bin / name, source, "-o", program)
            self.check_hello(program, self.libdir)
            self.run_two(program)

    def test_pkg_config(self):
        for module in ("weft", "mpi-c", "mpi-cxx"):
            here = {"PKG_CONFIG_PATH": str(self.libdir / "pkgconfig")}
            says = self.output_of("pkg-config", "--variable=prefix", module, **here)
            self.assertEqual(os.path.realpath(says), str(self.prefix))
            flags = self.output_of("pkg-config", "--cflags", "--libs", module, **here).split()
            program = self.work / module
            self.run_it("cc", lab.HELLO, "-o", program, *flags)
            self.check_hello(program, self.libdir)

    def test_tools_and_manual_pages(self):
        self.assertRegex(self.output_of(self.bin / "weft-info", "--version"), r"^Weft \d")
        self.assertIn("usage", self.output_of(self.bin / "weft-top", "--help"))
        self.run_it(self.bin / "mpiexec", "-n", "2", self.bin / "weft-gauge", "run", "one_one", "mpi",
                    "--sizes", "8", "--time", "0.1", "--json", "told")
        told = json.loads((self.work / "told").read_text().splitlines()[0])
        self.assertRegex(told["module"]["mpi_library"], r"^Weft \d")
        for name in ("mpicc", "mpiexec", "weft-gauge", "weft-info", "weft-top"):
            page = self.output_of("man", "-M", self.prefix / "share" / "man", "-w", name)
            self.assertEqual(page, str(self.prefix / "share" / "man" / "man1" / f"{name}.1"))
        for alias, name in (("mpirun", "mpiexec"), ("mpicxx", "mpicc"), ("mpifort", "mpicc")):
            page = self.prefix / "share" / "man" / "man1" / f"{alias}.1"
            self.assertEqual(page.resolve().name, f"{name}.1")

    def test_debuggers_find_the_library_of_message_queues(self):
        program = self.work / "queues"
        self.run_it(self.bin / "mpicc", self.write("queues.c", QUEUES), "-o", program, "-ldl")
        said = [str(self.libdir / "libweft_queues.so"), "1"]
        self.assertEqual(self.output_of(program).splitlines(), said)
        other = self.work / "elsewhere"
        other.symlink_to(self.libdir)
        self.assertEqual(
            self.output_of(program, LD_LIBRARY_PATH=other.name).splitlines(), said)

    def read_without_lto(self, path):
        """GCC notes in what it keeps for link-time optimisation where it ran; nothing opens that."""
        if path.suffix != ".a":
            return path.read_bytes()
        copy = self.work / path.name
        self.run_it("objcopy", "--wildcard", "--remove-section=.gnu.lto_*", path, copy)
        return copy.read_bytes()

    def test_no_file_names_a_folder_that_is_gone(self):
        files = [p for p in self.prefix.rglob("*") if p.is_file() and not p.is_symlink()]
        gone = [str(lab.PREFIX / p.relative_to(self.prefix)) for p in files]
        gone += [str(lab.PREFIX) + "/" + name for name in ("include/", "share/", "bin/")]
        if len(lab.PREFIX.parts) > 3:  # not /usr or /usr/local, where any program may look
            gone = [str(lab.PREFIX)]
        gone += [str(lab.SOURCE), str(lab.BUILD), str(self.room)]
        self.assertGreater(len(files), 20)
        for path in files:
            inside = self.read_without_lto(path)
            for name in gone:
                self.assertFalse(name.encode() in inside, f"{path} names {name}")


if __name__ == "__main__":
    unittest.main()
