#!/usr/bin/env python3
"""sources.py - where the values of settings come from, JSON, and programs of other MPIs.

Programs for --uses are linked and never run, so this also holds when the library is built
with a sanitizer.
"""

import json
import os
import re
import shutil
import unittest

import info
import lab

C_PROGRAM = """
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return MPI_Finalize();
}
"""
FORTRAN_PROGRAM = """
      program made
      include 'mpif.h'
      integer e
      call MPI_Init(e)
      call MPI_Finalize(e)
      end
"""
FORTRAN_90_PROGRAM = FORTRAN_PROGRAM.replace("include 'mpif.h'", "", 1).replace(
    "program made", "program made\n      use mpi", 1)

# Compiler, file, text, library, is it Fortran?
OTHERS = [("mpicc.openmpi", "c.c", C_PROGRAM, "libmpi.so.40", False),
          ("mpicxx.openmpi", "cxx.cc", C_PROGRAM, "libmpi_cxx.so.40", False),
          ("mpif77.openmpi", "f77.f", FORTRAN_PROGRAM, "libmpi_mpifh.so.40", True),
          ("mpif90.openmpi", "f90.f90", FORTRAN_90_PROGRAM, "libmpi_mpifh.so.40", True),
          ("mpicc.mpich", "c.c", C_PROGRAM, "libmpich.so.12", False),
          ("mpicxx.mpich", "cxx.cc", C_PROGRAM, "libmpich.*.so.12", False),
          ("mpif77.mpich", "f77.f", FORTRAN_PROGRAM, "libmpichfort.so.12", True),
          ("mpif90.mpich", "f90.f90", FORTRAN_90_PROGRAM, "libmpichfort.so.12", True)]


class Sources(info.Case):
    """One installation for all."""

    # ---- settings ----

    def settings(self, info, **variables):
        """By name: value and source, from JSON; the text says the same."""
        text = self.run_it(info, "--settings", **variables).stdout.splitlines()
        begins = [text[0].index(head) for head in ("value", "from", "unit")]
        found = {}
        for row, line in zip(json.loads(self.run_it(info, "--settings", "--json",
                                                    **variables).stdout)["settings"],
                             [line for line in text[1:] if line[0] != " "], strict=True):
            source = row["from"]
            if row["file"] is not None:
                source += f" {row['file']}:{row['line']}"
            self.assertEqual([line[:18].strip(), line[begins[0]:begins[1]].strip(),
                              line[begins[1]:begins[2]].strip()],
                             [row["name"], row["value"], source])
            found[row["name"]] = (row["value"], source)
        return found

    def prefix_with(self, text):
        """A moved installation with a file of the site: both."""
        prefix = self.copy_prefix("moved")
        site = prefix / "etc/weft.conf"
        site.parent.mkdir(exist_ok=True)
        site.write_text(text)
        return prefix, site

    def user_with(self, text):
        user = self.work / "config/weft/weft.conf"
        user.parent.mkdir(parents=True)
        user.write_text(text)
        return user

    def test_default_site_user_and_environment(self):
        prefix, site = self.prefix_with("WEFT_WARM = 1\nWEFT_STREAMS = 2\nWEFT_LONG = push\n")
        user = self.user_with("# mine\nWEFT_STREAMS = 3\nWEFT_LONG = fetch\n")
        found = self.settings(prefix / "bin/weft-info", WEFT_LONG="auto",
                              XDG_CONFIG_HOME=str(user.parent.parent))
        self.assertEqual(found["WEFT_CHECKSUM"], ("0", "default"))
        self.assertEqual(found["WEFT_WARM"], ("1", f"site file {site}:1"))
        self.assertEqual(found["WEFT_STREAMS"], ("3", f"user file {user}:2"))
        self.assertEqual(found["WEFT_LONG"], ("auto", "environment"))

    def test_the_sites_file_moves_with_the_prefix(self):
        prefix, site = self.prefix_with("WEFT_WARM = 7\nWEFT_NETT = x\n")
        told = (f"{site}:2: WEFT_NETT is not a setting and has no effect; did you mean "
                "WEFT_NET?\n")
        done = self.run_it(prefix / "bin/mpiexec", "-n", "2", "sh", "-c", "echo $WEFT_WARM")
        self.assertEqual((done.stdout, done.stderr), ("7\n7\n", f"mpiexec: {told}"))
        self.assertEqual(self.run_it(prefix / "bin/weft-info").stderr, f"weft-info: {told}")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a program away")
    def test_a_setuid_program_does_not_read_the_users_file(self):
        user = self.user_with("WEFT_WARM = 5\n")
        info = self.work / "info"
        shutil.copy(self.info, info)
        for path in (self.room, self.work):
            path.chmod(0o755)
        words = {"XDG_CONFIG_HOME": str(user.parent.parent)}
        self.assertEqual(self.settings(info, **words)["WEFT_WARM"], ("5", f"user file {user}:1"))
        os.chown(info, 65534, 65534)
        info.chmod(0o4755)
        self.assertEqual(self.settings(info, **words)["WEFT_WARM"], ("1000", "default"))

    # ---- JSON ----

    def read(self, *words):
        return json.loads(self.output_of(self.info, "--json", *words))

    def test_every_section(self):
        version = self.read("--version")["version"]
        self.assertEqual(self.output_of(self.info, "--version"),
                         f"Weft {version['weft']}, MPI {version['mpi']}, ABI {version['abi']}")
        rows = [(f"{c['number']:2}  {c['title']:32} {c['built']:4} {c['of']:4}  {c['works']}")
                for c in self.read("--chapters")["chapters"]]
        self.assertEqual(rows, self.output_of(self.info, "--chapters").splitlines()[1:-1])
        rows = [[a["collective"], a["algorithm"], a["fits"]]
                for a in self.read("--algorithms")["algorithms"]]
        lines = self.output_of(self.info, "--algorithms").splitlines()[1:]
        self.assertEqual(rows, [re.split("  +", line) for line in lines])

    def test_without_another_option_it_is_all(self):
        found = self.read()
        for section in ("version", "settings", "algorithms", "chapters"):
            self.assertEqual(found.pop(section), self.read(f"--{section}")[section])
        self.assertEqual(found, {})

    def test_what_a_program_uses(self):
        names = info.unbuilt_functions()[:3]
        program = self.program(*names, *info.built_functions()[:5])
        found = json.loads(self.run_it(self.info, "--json", "--uses", program, code=1).stdout)
        found["uses"]["not_built"].sort()
        self.assertEqual(found["uses"], {
            "program": str(program), "functions": 8, "not_built": sorted(names),
            "not_in_abi": [], "fortran": False, "open_mpi_header": False, "other_mpi": None})

    def test_names_are_escaped(self):
        for name in ('a"b\\c', "tab\tline\n", "Übergröße €😀", os.fsdecode(b"x\xff\xc3(\xed\xa0\x80"),
                     os.fsdecode(b"cut \xe2\x82")):
            program = self.program()
            os.rename(program, self.work / name)
            found = json.loads(self.output_of(self.info, "--json", "--uses", name))
            self.assertEqual(found["uses"]["program"], name)

    # ---- Open MPI and MPICH of Debian ----

    def test_each_is_named_in_one_line(self):
        for compiler, name, text, library, is_fortran in OTHERS:
            self.write(name, text)
            self.run_it(compiler, name, "-o", "made")
            owner = "Open MPI" if "openmpi" in compiler else "MPICH or a relative of it"
            cure = f"rebuild it with Weft's {'mpifort' if is_fortran else 'mpicc'}"
            line = rf"made is linked with {library} \({owner}\), not with .*{cure}"
            said = self.run_it(self.info, "--uses", "made", code=2).stdout.splitlines()
            self.assertRegex(said[-1], f"^{line}")
            self.assertEqual(sum("linked with" in text for text in said), 1, said)
            told = self.run_it(self.bin / "mpiexec", "-n", "1", "./made", code=126).stderr
            self.assertRegex(told, rf"\Ampiexec: \./{line}.*\n\Z")
            found = json.loads(self.run_it(self.info, "--json", "--uses", "made",
                                           code=2).stdout)["uses"]
            self.assertEqual((found["program"], found["fortran"], found["other_mpi"]["owner"],
                              found["other_mpi"]["through"]), ("made", is_fortran, owner, None))
            self.assertRegex(found["other_mpi"]["library"], f"^{library}$")

    def test_a_library_may_be_linked_with_it(self):
        self.write("between.c", C_PROGRAM.replace("main", "between"))
        self.run_it("mpicc.mpich", "-shared", "-fPIC", "between.c", "-o", "libbetween.so")
        self.write("a.c", "int between(int, char **);\n"
                          "int main(int c, char **v) { return between(c, v); }\n")
        self.run_it("cc", "a.c", "-L.", "-lbetween", "-Wl,-rpath,$ORIGIN", "-o", "a",
                    "-Wl,--allow-shlib-undefined")
        said = self.run_it(self.info, "--uses", "a", code=2).stdout
        self.assertIn("a is linked with libmpich.so.12 (MPICH or a relative of it) through "
                      "libbetween.so, not with", said)
        found = json.loads(self.run_it(self.info, "--uses", "a", "--json", code=2).stdout)
        self.assertEqual(found["uses"]["other_mpi"]["through"], "libbetween.so")


if __name__ == "__main__":
    unittest.main()
