"""lab.py - what the tests of the wrappers and of weft-info share.

Each script makes one installation in a temporary folder, runs commands in an environment
from which everything that could help by accident is removed, and leaves nothing behind.
WEFT_BUILD, WEFT_PREFIX and WEFT_LIBDIR come from meson.build.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["WEFT_BUILD"])
SOURCE = Path(os.environ["WEFT_SOURCE"])
PREFIX = Path(os.environ["WEFT_PREFIX"])
LIBDIR = os.environ["WEFT_LIBDIR"]
HERE = Path(__file__).parent
HELLO = HERE / "hello.c"

# What a user's shell may set and what would hide a missing -I, -L or rpath.
UNWANTED = ("LD_LIBRARY_PATH", "LIBRARY_PATH", "LD_RUN_PATH", "CPATH", "C_INCLUDE_PATH",
            "CPLUS_INCLUDE_PATH", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS",
            "MPI_HOME", "CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH")
UNWANTED_BEGINNINGS = ("WEFT_", "OMPI_", "MPICH_", "PMI")

# A sanitizer's report ends in an exit code that no test expects.
SANITIZERS = {
    "ASAN_OPTIONS": "exitcode=99",
    "LSAN_OPTIONS": "exitcode=99",
    "UBSAN_OPTIONS": "halt_on_error=1:exitcode=99",
}


def clean_environment():
    """Ours, without what could help or disturb a wrapper or a program."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in UNWANTED and not name.startswith(UNWANTED_BEGINNINGS)
    }
    return kept | SANITIZERS | {"XDG_CONFIG_HOME": "/nonexistent"}  # and no file of settings


def install(folder):
    """Installs the build into `folder` and returns the prefix in there."""
    command = ["meson", "install", "-C", BUILD, "--destdir", folder, "--no-rebuild"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"meson install failed:\n{done.stdout}")
    return Path(folder) / PREFIX.relative_to("/")


class Case(unittest.TestCase):
    """A test with an installation (`prefix`) and an empty folder of its own (`work`)."""

    @classmethod
    def setUpClass(cls):
        cls.room = Path(tempfile.mkdtemp(prefix="weft-wrappers-")).resolve()
        cls.addClassCleanup(shutil.rmtree, cls.room)
        cls.prefix = install(cls.room / "installed")
        cls.bin = cls.prefix / "bin"
        cls.libdir = cls.prefix / LIBDIR

    def setUp(self):
        self.work = Path(tempfile.mkdtemp(dir=self.room))

    def run_it(self, *command, code=0, **variables):
        """Runs a command that must end with one of the exit codes in `code`."""
        done = subprocess.run(command, cwd=self.work, check=False, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=300, text=True,
                              errors="replace", env=clean_environment() | variables)
        told = f"{command}\nstdout: {done.stdout}\nstderr: {done.stderr}"
        self.assertIn(done.returncode, code if isinstance(code, tuple) else (code,), told)
        return done

    def output_of(self, *command, **variables):
        """What a successful command prints, without the last line's end."""
        return self.run_it(*command, **variables).stdout.rstrip("\n")

    def complaint_of(self, *command, code=1, **variables):
        """The one line that a failing command leaves on standard error."""
        done = self.run_it(*command, code=code, **variables)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def write(self, name, text):
        """Puts a file into the test's folder."""
        path = self.work / name
        path.write_text(text, encoding="utf-8")
        return path

    def copy_prefix(self, name):
        """A second installation, in a folder of this name."""
        copy = self.work / name
        shutil.copytree(self.prefix, copy, symlinks=True)
        return copy

    def check_hello(self, program, libdir):
        """`program` is hello.c, runs, and has loaded the library in `libdir`."""
        said = self.output_of(program).splitlines()
        self.assertEqual(said[0], "hello from 0 of 1")
        self.assertEqual(Path(said[1]).parent, Path(libdir))

    def build_hello(self, wrapper, libdir, *arguments, **variables):
        """Builds hello.c with a wrapper and checks that it runs on `libdir`'s library."""
        program = self.work / "hello"
        self.run_it(wrapper, HELLO, "-o", program, *arguments, **variables)
        self.check_hello(program, libdir)
        program.unlink()
