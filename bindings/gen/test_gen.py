"""test_gen.py - the generator's own tests."""

import unittest

import fortran
import header
import spec
import symbols
import unbuilt


class Tables(unittest.TestCase):
    def test_the_abi_has_657_functions_each_in_a_known_chapter(self):
        functions = spec.functions()
        self.assertEqual(len(functions), 657)
        self.assertEqual(len({f.name for f in functions}), 657)
        self.assertEqual({f.group for f in functions}, set(spec.CHAPTERS))

    def test_a_prototype_is_taken_apart(self):
        returns, name, parameters = spec.parse_prototype(
            "int MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status *s)")
        self.assertEqual((returns, name), ("int", "MPI_Waitall"))
        self.assertEqual([p.type for p in parameters],
                         ["int", "MPI_Request *", "MPI_Status *"])
        self.assertEqual([p.name for p in parameters], ["count", "array_of_requests", "s"])

    def test_every_built_function_exists(self):
        self.assertLessEqual(spec.built(), {f.name for f in spec.functions()})


class Header(unittest.TestCase):
    def test_negative_numbers_and_pointers_are_bracketed(self):
        self.assertEqual(header.value(spec.Constant("X", "k", "int (macro)", "-1", -1)),
                         "(-1)")
        self.assertEqual(header.value(spec.Constant("X", "k", "char***", "0", 0)),
                         "((char ***)0)")

    def test_long_prototypes_stay_within_90_columns(self):
        self.assertEqual([line for line in header.header().splitlines() if len(line) > 90],
                         [])

    def test_each_function_is_declared_twice(self):
        text = header.header()
        for f in spec.functions():
            for name in (f.name, "P" + f.name):
                self.assertEqual(text.count(f" {name}("), 1, name)


class Fortran(unittest.TestCase):
    def procedure(self, name):
        return next(p for p in fortran.procedures() if p.function.name == name)

    def test_rows_of_the_table_name_functions_and_arguments_that_exist(self):
        names = {f.name: {p.name for p in f.parameters} for f in spec.functions()}
        arguments = set().union(*names.values())
        for function, argument, what in fortran.Rules().rows:
            if function != "*":
                self.assertIn(function, names)
            if argument:
                self.assertIn(argument, names.get(function, arguments), (function, what))

    def test_buffers_are_treated_by_what_follows_them(self):
        rules = {"MPI_Send": ["section"], "MPI_Allreduce": ["copy", "copy"],
                 "MPI_Sendrecv": ["section", "section"], "MPI_Bcast": ["section"],
                 "MPI_Pack": ["section", "copy"], "MPI_Psend_init": ["parted"],
                 "MPI_Get_address": ["base"], "MPI_Put": ["section"]}
        for name, wanted in rules.items():
            found = [a.value for a in self.procedure(name).arguments if a.role == "choice"]
            self.assertEqual(found, wanted, name)

    def test_errors_go_to_the_object_of_the_call(self):
        wanted = {"MPI_Send": "COMM, *comm", "MPI_Put": "WIN, *win",
                  "MPI_File_write": "FILE, *fh", "MPI_Info_set": "NOTHING, 0",
                  "MPI_File_open": "FILE, weft_file_out(MPI_FILE_NULL)",
                  "MPI_Win_create": "COMM, *comm", "MPI_Type_set_name": "NOTHING, 0"}
        for name, call in wanted.items():
            body = fortran.Body(self.procedure(name), False)
            self.assertIn(f'{{"{name}", WEFT_ON_{call}}}', body.call())

    def test_intents(self):
        wanted = {"MPI_Wait": ["inout", "out"], "MPI_Comm_free": ["inout"],
                  "MPI_Comm_split": ["in", "in", "in", "out"]}
        for name, intents in wanted.items():
            self.assertEqual([a.intent for a in self.procedure(name).arguments], intents)

    def test_large_counts_that_kinds_cannot_tell_apart_keep_their_own_name(self):
        text = fortran.module_f08()
        self.assertIn("interface MPI_Type_get_extent_c\n", text)
        self.assertIn("interface MPI_Op_create_c\n", text)
        self.assertNotIn("interface MPI_Send_c\n", text)

    def test_mpif_h_fits_both_source_forms(self):
        for line in fortran.mpif().splitlines():
            self.assertLessEqual(len(line), 72 if line[0] != "!" else 132, line)


class Unbuilt(unittest.TestCase):
    def function(self, name):
        return next(f for f in spec.functions() if f.name == name)

    def test_a_defined_function_gets_no_body(self):
        every = {f.name for f in spec.functions()}
        text = unbuilt.generate(["WEFT_WEAK_ALIAS(MPI_Send, PMPI_Send);\n"])
        made = unbuilt.defined_in([text])
        self.assertEqual(every - made, {"MPI_Send"})

    def test_a_name_outside_the_abi_is_refused(self):
        with self.assertRaises(SystemExit):
            unbuilt.generate(["WEFT_WEAK_ALIAS(MPI_Sned, PMPI_Sned);\n"])

    def test_the_handler_follows_the_arguments(self):
        for name, call in (("MPI_Send", 'weft_unbuilt_comm(comm, "MPI_Send")'),
                           ("MPI_File_open", 'weft_unbuilt_file(MPI_FILE_NULL, "MPI_File_open")'),
                           ("MPI_File_sync", 'weft_unbuilt_file(fh, "MPI_File_sync")'),
                           ("MPI_Wait", 'weft_unbuilt("MPI_Wait")'),
                           ("MPI_T_cvar_read", "MPI_T_ERR_NOT_SUPPORTED")):
            self.assertEqual(unbuilt.failing_call(self.function(name)), call)


class Symbols(unittest.TestCase):
    def test_both_names_of_each_function_are_exported_and_nothing_else(self):
        names = {line.strip(" ;") for line in symbols.script().splitlines() if line.endswith(";")}
        functions = {prefix + f.name for f in spec.functions() for prefix in ("", "P")}
        self.assertEqual(len(functions), 2 * 657)
        self.assertEqual(names - functions, {*symbols.DEBUGGERS, "*", "}"})
        self.assertEqual(functions - names, set())
        self.assertIn("local:\n        *;", symbols.script())


if __name__ == "__main__":
    unittest.main()
