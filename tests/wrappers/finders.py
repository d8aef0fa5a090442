#!/usr/bin/env python3
"""finders.py - pkg-config and CMake's own FindMPI find an installed Weft."""

import os
import shutil
import unittest

import lab

HAS_FORTRAN = shutil.which("gfortran") is not None

# Prints what FindMPI found, one `name=value` per line, and builds hello.c in C and C++.
PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(finders C CXX)
find_package(MPI REQUIRED COMPONENTS C CXX)
foreach(name MPI_C_VERSION MPI_CXX_VERSION MPI_C_COMPILER MPI_CXX_COMPILER
             MPIEXEC_EXECUTABLE MPI_C_LIBRARY_VERSION_STRING)
    message("found ${name}=${${name}}")
endforeach()
configure_file(%(hello)s hello.c COPYONLY)
configure_file(%(hello)s hello.cc COPYONLY)
add_executable(hello_c ${CMAKE_CURRENT_BINARY_DIR}/hello.c)
target_link_libraries(hello_c MPI::MPI_C)
add_executable(hello_cxx ${CMAKE_CURRENT_BINARY_DIR}/hello.cc)
target_link_libraries(hello_cxx MPI::MPI_CXX)
"""

# All three bindings of Fortran; FindMPI says of each whether it works.
FORTRAN_PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(finders Fortran)
find_package(MPI REQUIRED COMPONENTS Fortran)
foreach(name MPI_Fortran_HAVE_F77_HEADER MPI_Fortran_HAVE_F90_MODULE
             MPI_Fortran_HAVE_F08_MODULE MPI_Fortran_COMPILER)
    message("found ${name}=${${name}}")
endforeach()
add_executable(hello_fortran hello.f90)
target_link_libraries(hello_fortran MPI::MPI_Fortran)
"""
FORTRAN_HELLO = """
program hello
    use mpi_f08
    call MPI_Init()
    print '(a)', 'started'
    call MPI_Finalize()
end program hello
"""


class PkgConfig(lab.Case):
    """The file weft.pc."""

    def test_the_printed_flags_build_a_program(self):
        path = str(self.libdir / "pkgconfig")
        flags = self.output_of("pkg-config", "--cflags", "--libs", "weft",
                               PKG_CONFIG_PATH=path)
        self.run_it("sh", "-c", f"cc {lab.HELLO} -o hello {flags}")
        self.check_hello(self.work / "hello", self.libdir)

    def test_the_names_of_other_mpis_give_the_same_flags(self):
        path = str(self.libdir / "pkgconfig")
        for name in ("mpi-c", "mpi-cxx"):
            for what in ("--cflags", "--libs", "--modversion"):
                said = [self.output_of("pkg-config", what, each, PKG_CONFIG_PATH=path)
                        for each in ("weft", name)]
                self.assertEqual(said[0], said[1])

    @unittest.skipUnless(HAS_FORTRAN, "no Fortran compiler")
    def test_mpi_fort_builds_a_fortran_program(self):
        self.write("hello.f90", FORTRAN_HELLO)
        flags = self.output_of("pkg-config", "--cflags", "--libs", "mpi-fort",
                               PKG_CONFIG_PATH=str(self.libdir / "pkgconfig"))
        self.run_it("sh", "-c", f"gfortran hello.f90 -o hello {flags}")
        self.assertEqual(self.output_of(self.work / "hello"), "started")

    def test_the_version_is_the_librarys(self):
        said = self.output_of("pkg-config", "--modversion", "weft",
                              PKG_CONFIG_PATH=str(self.libdir / "pkgconfig"))
        info = self.output_of(self.bin / "weft-info", "--version")
        self.assertIn(f"Weft {said},", info)


class CMake(lab.Case):
    """find_package(MPI), told of Weft in three ways."""

    def build_project(self, prefix, *options, **variables):
        """Configures, builds and runs; returns what FindMPI found."""
        self.write("CMakeLists.txt", PROJECT % {"hello": lab.HELLO})
        done = self.run_it("cmake", "-G", "Ninja", "-B", "out", *options, **variables)
        self.run_it("cmake", "--build", "out", **variables)
        for program in ("hello_c", "hello_cxx"):
            self.check_hello(self.work / "out" / program, prefix / lab.LIBDIR)
        lines = (done.stdout + done.stderr).splitlines()
        return dict(line[6:].split("=", 1) for line in lines if line.startswith("found "))

    def check_found(self, found, folder):
        """The version of the standard, and the programs of the right folder.

        FindMPI looks for wrappers beside the first mpiexec in PATH, so all three go
        together.
        """
        self.assertEqual(found["MPI_C_VERSION"], "5.0")
        self.assertEqual(found["MPI_CXX_VERSION"], "5.0")
        self.assertEqual(found["MPI_C_COMPILER"], str(folder / "mpicc"))
        self.assertEqual(found["MPI_CXX_COMPILER"], str(folder / "mpicxx"))
        self.assertEqual(found["MPIEXEC_EXECUTABLE"], str(folder / "mpiexec"))

    def test_through_path(self):
        found = self.build_project(self.prefix, PATH=f"{self.bin}:{os.environ['PATH']}")
        self.check_found(found, self.bin)

    def test_through_mpi_home_and_with_spaces(self):
        spaced = self.copy_prefix("with a space")
        found = self.build_project(spaced, f"-DMPI_HOME={spaced}",
                                   "-DMPI_DETERMINE_LIBRARY_VERSION=ON")
        self.check_found(found, spaced / "bin")
        self.assertIn("Weft", found["MPI_C_LIBRARY_VERSION_STRING"])

    def test_with_the_wrappers_as_compilers(self):
        found = self.build_project(self.prefix, CC=str(self.bin / "mpicc"),
                                   CXX=str(self.bin / "mpicxx"))
        self.assertEqual(found["MPI_C_VERSION"], "5.0")

    @unittest.skipUnless(HAS_FORTRAN, "no Fortran compiler")
    def test_the_three_bindings_of_fortran(self):
        self.write("CMakeLists.txt", FORTRAN_PROJECT)
        self.write("hello.f90", FORTRAN_HELLO)
        path = f"{self.bin}:{os.environ['PATH']}"
        done = self.run_it("cmake", "-G", "Ninja", "-B", "out", PATH=path)
        self.run_it("cmake", "--build", "out", PATH=path)
        self.assertEqual(self.output_of(self.work / "out/hello_fortran"), "started")
        found = done.stdout + done.stderr
        for name in ("HAVE_F77_HEADER", "HAVE_F90_MODULE", "HAVE_F08_MODULE"):
            self.assertRegex(found, rf"found MPI_Fortran_{name}=(TRUE|1)")


if __name__ == "__main__":
    unittest.main()
