#!/usr/bin/env python3
"""modules.py - `module load weft`, with Environment Modules, in a shell that has nothing else."""

import subprocess
import unittest

import lab

INIT = "/usr/share/modules/init/bash"
# What the module command keeps for itself.
OWN = ("LOADEDMODULES", "_LMFILES_", "__MODULES", "_=", "BASH_FUNC", "SHLVL")


class Modules(lab.Case):
    """The installation lies elsewhere than --prefix says."""

    def shell(self, script, **variables):
        """What a bash prints that knows the folder of our module."""
        folder = self.prefix / "share" / "modulefiles"
        start = f". {INIT}; module use {folder} {self.work}/modules; "
        clean = {"PATH": "/usr/bin:/bin", "HOME": str(self.work), "LC_ALL": "C"}
        done = subprocess.run(["bash", "--noprofile", "--norc", "-c", start + script],
                              env=clean | variables, cwd=self.work, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def other(self, name, text):
        """A module of somebody else."""
        path = self.work / "modules" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#%Module1.0\n" + text, encoding="utf-8")

    def setUp(self):
        super().setUp()
        (self.work / "modules").mkdir()

    def test_programs_are_compiled_and_started(self):
        said = self.shell(f"""module load weft
            type -p mpicc mpiexec weft-info
            man -w mpiexec
            mpicc -o hello {lab.HELLO} && mpiexec -n 2 ./hello
            pkg-config --modversion mpi-c
            echo $MPI_HOME""").splitlines()
        self.assertEqual(said[:3], [str(self.bin / n) for n in ("mpicc", "mpiexec", "weft-info")])
        self.assertEqual(said[3], str(self.prefix / "share" / "man" / "man1" / "mpiexec.1"))
        self.assertIn("hello from 1 of 2", said)
        self.assertIn(str(self.libdir / "libmpi_abi.so.1.0.0"), said)
        self.assertEqual(said[-1], str(self.prefix))

    def test_pages_are_found_where_manpath_is_set(self):
        said = self.shell("module load weft; man -w weft-top; echo $MANPATH", MANPATH="/a:/b")
        pages = self.prefix / "share" / "man"
        self.assertEqual(said.splitlines()[0], str(pages / "man1" / "weft-top.1"))
        self.assertRegex(said.splitlines()[1], f"^{pages}:.*/a:/b")

    def test_a_site_links_to_the_file_or_to_its_folder(self):
        folder = self.prefix / "share" / "modulefiles" / "weft"
        version = next(folder.iterdir())
        (self.work / "modules" / "by-folder").symlink_to(folder)
        (self.work / "modules" / "by-file").symlink_to(version)
        for name in ("by-folder", "by-file"):
            said = self.shell(f"module load {name}; type -p mpicc")
            self.assertEqual(said.strip(), str(self.bin / "mpicc"))

    def test_one_mpi_at_a_time(self):
        self.other("openmpi/4.1", "setenv OTHER 1\n")
        self.other("mpi/mpich-x86_64", "setenv OTHER 1\n")
        for name in ("openmpi", "mpi/mpich-x86_64"):
            said = self.shell(f"module load {name}; module load weft || echo refused; echo $PATH")
            self.assertIn("conflict", said)
            self.assertIn("refused", said)
            self.assertNotIn(str(self.bin), said)
            said = self.shell(f"module load weft; module load {name}; echo other=$OTHER")
            self.assertIn("conflict", said)
            self.assertIn("other=\n", said)
            said = self.shell(f"module load {name}; module switch {name} weft; type -p mpicc")
            self.assertIn(str(self.bin / "mpicc"), said)

    def test_unload_leaves_the_environment_as_it_was(self):
        for more in ({}, {"MANPATH": "/a", "LD_LIBRARY_PATH": "/a:/b", "PKG_CONFIG_PATH": "/c"}):
            said = self.shell("env | sort; echo ---; module load weft; env | sort; echo ---; "
                              "module unload weft; env | sort", **more)
            before, during, after = ([line for line in part.splitlines()
                                      if not line.startswith(OWN)]
                                     for part in said.split("---\n"))
            self.assertEqual(before, after)
            self.assertNotEqual(before, during)

    def test_help_and_one_line(self):
        self.assertIn("mpiexec starts", self.shell("module help weft"))
        self.assertIn("MPI-5.0 standard ABI", self.shell("module whatis weft"))


if __name__ == "__main__":
    unittest.main()
