"""Weft for Spack, from the tree that this file lies in:

    spack repo add packaging/spack
    spack install weft

Weft has no release yet, so the only version is the branch main of this tree. `spack develop` and
`spack dev-build weft@main` take the tree as it is.
"""

import os

from spack.package import *

try:
    from spack_repo.builtin.build_systems.meson import MesonPackage
except ImportError:  # before Spack 1.0, spack.package has it
    pass

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", ".."))


class Weft(MesonPackage):
    """An MPI library with the MPI-5.0 standard ABI, its launcher, and weft-gauge, which measures
    networks. MPI_Comm_spawn is not built."""

    git = f"file://{TREE}"

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("libdw", default=True, description="Reports name call sites by file and line")

    variant("fortran", default=True, description="Fortran bindings, for gfortran")

    provides("mpi@:5.0")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("meson@1:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")
    depends_on("cmocka", type="test")

    # Their headers are read when Weft is built; a job that needs one of them loads it, by the run
    # path that Spack's compiler has written.
    depends_on("libfabric")
    depends_on("hwloc@2:")
    depends_on("pmix")
    depends_on("libsodium")
    depends_on("elfutils", when="+libdw")

    conflicts("platform=darwin", msg="Weft needs Linux")
    conflicts("platform=windows", msg="Weft needs Linux")

    def meson_args(self):
        libdw = "enabled" if self.spec.satisfies("+libdw") else "disabled"
        tests = "enabled" if self.run_tests else "disabled"
        fortran = "enabled" if self.spec.satisfies("+fortran") else "disabled"
        return [f"-Dlibdw={libdw}", f"-Dtests={tests}", "-Dfuzz=disabled",
                f"-Dfortran={fortran}", "-Dflang=disabled"]

    def check(self):
        """Those tests that need neither root nor other hosts."""
        with working_dir(self.builder.build_directory):
            Executable("meson")("test", "--suite", "unit", "--num-processes", "2")

    @property
    def headers(self):
        return find_headers("mpi", root=self.prefix.include)

    @property
    def libs(self):
        return find_libraries("libmpi_abi", root=self.prefix.lib, shared=True)

    def setup_run_environment(self, env):
        env.set("MPICC", self.prefix.bin.mpicc)
        env.set("MPICXX", self.prefix.bin.mpicxx)
        env.set("MPIFC", self.prefix.bin.mpifort)

    def setup_dependent_build_environment(self, env, dependent_spec):
        """The wrappers call Spack's compilers."""
        self.setup_run_environment(env)
        module = dependent_spec.package.module
        for name, compiler in (("WEFT_CC", "spack_cc"), ("WEFT_CXX", "spack_cxx"),
                               ("WEFT_FC", "spack_fc")):
            if hasattr(module, compiler):
                env.set(name, getattr(module, compiler))

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = self.prefix.bin.mpicc
        self.spec.mpicxx = self.prefix.bin.mpicxx
        self.spec.mpifc = self.prefix.bin.mpifort

    @run_after("install")
    def keep_program(self):
        cache_extra_test_sources(self, [join_path("docs", "hello.c")])

    def test_hello(self):
        """compile hello.c and start four ranks"""
        with working_dir(self.test_suite.current_test_cache_dir.docs):
            Executable(self.prefix.bin.mpicc)("-o", "hello", "hello.c")
            said = Executable(self.prefix.bin.mpiexec)("-n", "4", "./hello", output=str.split)
            assert said.count("of 4") == 4, said
