"""spack.py ROOT - the recipe in packaging/spack says what meson.build says.

Spack itself is not needed: the recipe is read with a spack.package that writes down the directives
and stands for the objects that Spack hands to a package.
"""

import re
import subprocess
import sys
import types
from pathlib import Path

# What meson calls a dependency, and Spack's name of the package that has it.
PACKAGES = {"pmix": "pmix", "libfabric": "libfabric", "libsodium": "libsodium", "hwloc": "hwloc",
            "libdw": "elfutils", "cmocka": "cmocka", "threads": None,
            "dl": None}
TOOLS = {"c", "fortran", "meson", "ninja", "pkgconfig", "python"}

faults = []


def hold(is_so, text):
    if not is_so:
        faults.append(text)


class Prefix(str):
    """A folder; its attributes are what lies in it."""

    def __getattr__(self, name):
        return Prefix(f"{self}/{name}")


class Spec:
    def __init__(self, *variants):
        self.variants = variants

    def satisfies(self, text):
        return text in self.variants


class Environment(dict):
    def set(self, name, value):
        self[name] = str(value)


def read(root):
    """The class in the recipe, and the calls of directives as (name, words, settings)."""
    calls = []
    package = types.ModuleType("spack.package")

    def directive(name):
        return lambda *words, **settings: calls.append((name, words, settings))

    for name in ["license", "version", "variant", "provides", "depends_on", "conflicts"]:
        setattr(package, name, directive(name))
    package.MesonPackage = type("MesonPackage", (), {"prefix": Prefix("/p"), "run_tests": False})
    package.run_after = lambda phase: lambda function: function
    package.join_path = lambda *parts: "/".join(parts)
    package.cache_extra_test_sources = lambda of, paths: calls.append(("cached", tuple(paths), {}))
    sys.modules["spack"] = types.ModuleType("spack")
    sys.modules["spack.package"] = package
    path = root / "packaging" / "spack" / "packages" / "weft" / "package.py"
    recipe = {"__file__": str(path), "__name__": "weft_recipe"}
    exec(compile(path.read_text(), str(path), "exec"), recipe)  # as Spack does
    return recipe["Weft"], calls


def meson_options(text):
    """Names of the options, all of them features."""
    return set(re.findall(r"option\(\s*'(\w+)',\s*type: 'feature'", text))


def check_options(recipe, options, variants):
    """Each option is set, to a value that it can have; each variant is an option."""
    hold(variants <= options, f"variants that are no options: {sorted(variants - options)}")
    for run_tests in (False, True):
        for on in (False, True):
            package = recipe()
            package.run_tests = run_tests
            package.spec = Spec(*(("+" if on else "~") + name for name in variants))
            said = dict(re.fullmatch(r"-D(\w+)=(enabled|disabled)", word).groups()
                        for word in package.meson_args())
            hold(set(said) == options, f"options: {sorted(said)}, meson's: {sorted(options)}")
            hold(said["tests"] == ("enabled" if run_tests else "disabled"), said)
            for name in variants:
                hold(said[name] == ("enabled" if on else "disabled"), f"{name}: {said}")


def check_dependencies(builds, calls):
    wanted = set(re.findall(r"\bdependency\(\s*'([\w-]+)'", builds))
    hold(wanted <= set(PACKAGES), f"not known to this test: {sorted(wanted - set(PACKAGES))}")
    wanted = {PACKAGES.get(name) for name in wanted} - {None}
    given = {words[0].split("@")[0]: words[0] for name, words, _ in calls if name == "depends_on"}
    hold(set(given) == wanted | TOOLS,
         f"dependencies: {sorted(given)}, meson's: {sorted(wanted | TOOLS)}")
    least = re.search(r"meson_version: '>=(\d+)\.(\d+)'", builds).groups()
    asked = re.fullmatch(r"meson@(\d+)(?:\.(\d+))?:", given["meson"])
    hold(asked and (asked[1], asked[2] or "0") == least, f"{given['meson']}, meson's: {least}")


def check_environment(recipe, builds):
    """Users and dependents find wrappers that are installed."""
    package, env = recipe(), Environment()
    package.spec = Spec()
    compilers = types.SimpleNamespace(spack_cc="/s/cc", spack_cxx="/s/c++",
                                      spack_fc="/s/fc")
    dependent = types.SimpleNamespace(package=types.SimpleNamespace(module=compilers))
    package.setup_run_environment(env)
    hold(env == {"MPICC": "/p/bin/mpicc", "MPICXX": "/p/bin/mpicxx", "MPIFC": "/p/bin/mpifort"}, env)
    package.setup_dependent_build_environment(env, dependent)
    hold(env["WEFT_CC"] == "/s/cc" and env["WEFT_CXX"] == "/s/c++"
         and env["WEFT_FC"] == "/s/fc", env)
    package.setup_dependent_package(None, dependent)
    hold(package.spec.mpicc == "/p/bin/mpicc" and package.spec.mpicxx == "/p/bin/mpicxx", "paths")
    hold("['mpicc', 'mpicxx', 'mpifort']" in builds, "wrappers/meson.build: other wrappers")


def check(root):
    files = subprocess.run(["git", "-C", root, "ls-files", "*meson.build"], check=True, text=True,
                           capture_output=True).stdout.split()
    builds = "\n".join((root / name).read_text() for name in files)
    recipe, calls = read(root)
    hold(recipe.git == f"file://{root}", recipe.git)
    versions = {words[0]: more for name, words, more in calls if name == "version"}
    hold(versions == {"main": {"branch": "main"}}, f"there is no release: {versions}")
    provided = [words for name, words, _ in calls if name == "provides"]
    standard = re.search(r"'WEFT_MPI_VERSION', '([\d.]+)'", builds).group(1)
    hold(provided == [(f"mpi@:{standard}",)], f"provides {provided}, MPI {standard}")
    licence = [words[0] for name, words, _ in calls if name == "license"]
    hold(f"license: '{licence[0]}'" in builds, licence)
    options = meson_options((root / "meson_options.txt").read_text())
    check_options(recipe, options, {words[0] for name, words, _ in calls if name == "variant"})
    check_dependencies(builds, calls)
    check_environment(recipe, builds)
    recipe().keep_program()
    for path in next(words for name, words, _ in calls if name == "cached"):
        hold((root / path).is_file(), f"no {path}")


if __name__ == "__main__":
    check(Path(sys.argv[1]).resolve())
    sys.exit("\n".join(map(str, faults)) or None)
