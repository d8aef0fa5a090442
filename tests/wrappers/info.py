#!/usr/bin/env python3
"""info.py - weft-info tells the truth, and no file can make it crash.

Programs for --uses are linked and never run, so this also holds when the library is built
with a sanitizer; --allow-shlib-undefined is for the sanitizer's own symbols.
"""

import random
import re
import unittest

import lab

FUNCTIONS = 657
CUT_EVERY = 64
FLIPPED = 300
FLIPS_EACH = 8


def built_functions():
    """The names in bindings/spec/built.tsv, without remarks and heading."""
    lines = (lab.SOURCE / "bindings/spec/built.tsv").read_text().splitlines()
    return [line for line in lines if line.startswith("MPI_")]


def unbuilt_functions():
    """The names for which the build made a body that only raises an error."""
    text = (lab.BUILD / "bindings/unbuilt.c").read_text()
    return re.findall(r"^WEFT_WEAK_ALIAS\((MPI_\w+),", text, re.MULTILINE)


class Case(lab.Case):
    """Knows weft-info and how to make a program that imports given names."""

    def setUp(self):
        super().setUp()
        self.info = self.bin / "weft-info"

    def program(self, *names, flags=()):
        """A program that takes the address of each name."""
        lines = [f"void *p_{name} = (void *){name};" for name in names]
        self.write("uses.c", "\n".join(["#include <mpi.h>", *lines,
                                        "int main(void) { return 0; }\n"]))
        self.run_it(self.bin / "mpicc", "uses.c", "-o", "uses",
                    "-Wl,--allow-shlib-undefined", *flags)
        return self.work / "uses"


class Tables(Case):
    """What weft-info prints about itself."""

    def test_the_version_is_one_line(self):
        said = self.output_of(self.info, "--version")
        self.assertRegex(said, r"\AWeft \d+\.\d+\.\d+, MPI 5\.0, ABI 1\.0\Z")

    def test_the_chapters_add_up(self):
        lines = self.output_of(self.info, "--chapters").splitlines()[1:]
        row = re.compile(r"^[ \d]{4}[^\d]*? +(\d+) +(\d+)(?:  (no|in part|yes))?$")
        rows = [row.match(line) for line in lines]
        self.assertTrue(all(rows), lines)
        counts = [(int(r[1]), int(r[2])) for r in rows]
        chapters, total = counts[:-1], counts[-1]
        self.assertEqual(total, tuple(map(sum, zip(*chapters))))
        self.assertEqual(total, (len(built_functions()), FUNCTIONS))
        for (built, of), found in zip(chapters, rows):
            self.assertLessEqual(built, of)
            words = {0: "no", of: "yes"}
            self.assertEqual(found[3], words.get(built, "in part"))

    def test_the_settings_are_a_table(self):
        lines = self.output_of(self.info, "--settings").splitlines()
        heads = ["setting", "value", "from", "unit", "default"]
        self.assertEqual(lines[0].split(), heads)
        rows = [line for line in lines[1:] if line[0] != " "]
        self.assertGreater(len(rows), 1)
        begins = [lines[0].index(word) for word in heads[1:]]
        for line in rows:
            self.assertGreaterEqual(len(line.split()), 3, line)
            self.assertEqual({line[at - 1] for at in begins if at <= len(line)}, {" "}, line)

    def test_the_meaning_of_a_setting_is_under_it_and_fits_a_screen(self):
        lines = self.output_of(self.info, "--settings").splitlines()[1:]
        for line, after in zip(lines, [*lines[1:], ""]):
            if line[0] == " ":
                self.assertLessEqual(len(line), 96)
            else:
                self.assertRegex(after, "^    [A-Za-z]", line)

    def test_the_algorithms_are_a_table(self):
        lines = self.output_of(self.info, "--algorithms").splitlines()
        self.assertEqual(lines[0].split(), ["collective", "algorithm", "fits"])
        rows = [line.split(None, 2) for line in lines[1:]]
        self.assertIn(["allreduce", "doubling", "all calls"], rows)
        self.assertIn(["allreduce", "rabenseifner", "operations that commute"], rows)
        self.assertIn(["barrier", "flags", "small blocking calls in one node"], rows)
        self.assertIn(["bcast", "levels", "several nodes"], rows)
        self.assertEqual(len(rows), len({tuple(row[:2]) for row in rows}))

    def test_without_arguments_it_sums_up(self):
        said = self.output_of(self.info)
        self.assertIn(self.output_of(self.info, "--version"), said)
        self.assertIn(self.output_of(self.info, "--settings"), said)
        self.assertIn("libmpi_abi.so.1", said)

    def test_the_help_goes_to_standard_output(self):
        for option in ("--help", "-h"):
            self.assertTrue(self.output_of(self.info, option).startswith("usage:"))

    def test_what_it_does_not_understand_ends_with_2(self):
        for wrong in (["--nonsense"], ["file"], ["--uses"], ["--version", "more"], [""]):
            done = self.run_it(self.info, *wrong, code=2)
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, "^weft-info: .*(--help|must follow).*\\n$")


class Uses(Case):
    """The functions that a program imports."""

    def test_a_program_without_mpi(self):
        said = self.output_of(self.info, "--uses", self.program())
        self.assertIn("uses 0 functions", said)

    def test_a_program_with_built_functions_only(self):
        names = built_functions()
        program = self.program(*names)
        said = self.output_of(self.info, "--uses", program)
        self.assertIn(f"{program} uses {len(names)} functions of MPI: 0 not built", said)

    def test_an_unbuilt_function_is_named(self):
        name = unbuilt_functions()[0]
        said = self.run_it(self.info, "--uses", self.program(name), code=1).stdout
        self.assertIn(f"{name}: not built yet\n", said)
        self.assertIn(" uses 1 functions of MPI: 1 not built yet", said)

    def test_the_profiling_name_counts_as_the_same_function(self):
        name = unbuilt_functions()[-1]
        program = self.program(f"P{name}")
        said = self.run_it(self.info, "--uses", program, code=1).stdout
        self.assertIn(f"{name}: not built yet\n", said)
        program = self.program(f"P{name}", name)
        said = self.run_it(self.info, "--uses", program, code=1).stdout
        self.assertIn(" uses 1 functions of MPI: 1 not built yet", said)

    def test_a_function_that_mpi_does_not_have(self):
        self.write("odd.c", "int MPI_Odd(void);\nint odd(void) { return MPI_Odd(); }\n")
        self.run_it("cc", "-shared", "-fPIC", "odd.c", "-o", "odd.so")
        said = self.run_it(self.info, "--uses", "odd.so", code=1).stdout
        self.assertIn("MPI_Odd: not part of the ABI\n", said)

    def test_a_name_that_could_disturb_a_terminal_is_not_printed(self):
        name = unbuilt_functions()[0].encode()
        image = self.program(name.decode()).read_bytes()
        odd = self.work / "odd"
        odd.write_bytes(image.replace(b"\0" + name, b"\0MPI_\033" + name[5:]))
        self.assertIn(" uses 0 functions", self.output_of(self.info, "--uses", odd))

    def test_a_program_built_with_open_mpis_header(self):
        self.write("ompi.c", "extern int ompi_mpi_comm_world[];\n"
                             "void *p = ompi_mpi_comm_world;\n")
        self.run_it("cc", "-shared", "-fPIC", "ompi.c", "-o", "ompi.so")
        said = self.run_it(self.info, "--uses", "ompi.so", code=2).stdout
        self.assertIn("rebuild it with Weft's mpicc", said)


class Unreadable(Case):
    """Files that are no program, or no longer one."""

    def test_files_of_another_kind(self):
        text = self.write("text", "MPI_Init is only a word here\n" * 100)
        empty = self.write("empty", "")
        for path in (text, empty, self.work, self.work / "missing", "/dev/null"):
            self.assertIn(str(path), self.complaint_of(self.info, "--uses", path, code=2))

    def test_a_static_program(self):
        self.write("a.c", "int main(void) { return 0; }\n")
        for option in ("-static", "-static-pie"):
            self.run_it("cc", option, "a.c", "-o", "a")
            told = self.complaint_of(self.info, "--uses", "a", code=2)
            self.assertIn("linked statically", told)

    def test_an_object_file(self):
        self.run_it(self.bin / "mpicc", "-c", lab.HELLO, "-o", "hello.o")
        told = self.complaint_of(self.info, "--uses", "hello.o", code=2)
        self.assertIn("not linked yet", told)

    def check_harmless(self, image, what):
        """weft-info decides, without a signal and without a sanitizer's complaint."""
        path = self.work / what
        path.write_bytes(image)
        self.run_it(self.info, "--uses", path, code=(0, 1, 2))
        path.unlink()

    def small_program(self):
        """The bytes of a program with imports and no more than it needs."""
        names = unbuilt_functions()[:8]
        return self.program(*names, flags=["-s", "-Wl,-z,noseparate-code"]).read_bytes()

    def test_a_program_cut_short(self):
        image = self.small_program()
        for length in [*range(CUT_EVERY), *range(CUT_EVERY, len(image), CUT_EVERY)]:
            self.check_harmless(image[:length], f"cut at {length}")

    def test_a_program_with_flipped_bytes(self):
        image = self.small_program()
        dice = random.Random(20)
        for number in range(FLIPPED):
            damaged = bytearray(image)
            for place in damage_places(dice, image):
                damaged[place] ^= dice.randrange(1, 256)
            self.check_harmless(bytes(damaged), f"variant {number}")


def damage_places(dice, image):
    """Where to flip: the ELF header, the section table, or anywhere."""
    sections = int.from_bytes(image[40:48], "little")
    first, last = dice.choice([(0, 64), (sections, len(image)), (0, len(image))])
    return [dice.randrange(first, last) for _ in range(dice.randrange(1, FLIPS_EACH))]


if __name__ == "__main__":
    unittest.main()
