"""sessions_alone.py - C of a program that calls every built function with a session alone.

MPI_Init is needed by the World Model only (MPI-5.0, 11.3), so that each function has to
work in a process that has opened a session and nothing else. The calls are made from the
table of functions: arguments by the type and name of each parameter, with the exceptions
listed here. Each call is made in a process of its own, because an error that belongs to no
object ends it. None may ask for MPI_Init, and each has to succeed, but for those that
cannot with these arguments.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings" / "gen"))

import spec  # noqa: E402

# About the World Model, or without an end; MPI_T needs neither a session nor MPI_Init.
LEFT_OUT = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort", "MPI_Query_thread",
            "MPI_Is_thread_main", "MPI_Aint_add", "MPI_Aint_diff"}

# They need an object that no other function has made, or have nothing to find.
MAY_FAIL = re.compile(
    r"MPI_(.*_fromint|Cart_(coords|get|rank|shift|sub)|Cartdim_get|Graph_(get|neigh.*)"
    r"|Graphdims_get|Dist_graph_neigh.*|Intercomm_.*|Comm_remote_.*|Info_(delete|get_nthkey)"
    r"|Pready.*|Remove_error_.*|Comm_disconnect|.*_call_errhandler|Type_create_f90_real"
    r"|Type_create_f90_complex|Imrecv(_c)?|Mrecv(_c)?|Add_error_.*"
    r"|.*Comm_idup.*|Abi_set_.*|Session_finalize|Grequest_complete|Free_mem)")

BY_NAME = {
    "dest": "MPI_PROC_NULL", "source": "MPI_PROC_NULL", "datarep": '"external32"',
    "ndims": "1", "nnodes": "1", "n": "1", "count": "1", "incount": "1", "outcount": "1",
    "sendcount": "1", "recvcount": "1", "blocklength": "1", "stride": "4", "extent": "4",
    "size": "4096", "insize": "4096", "outsize": "4096", "maxdims": "1", "partitions": "1",
    "max_integers": "8", "max_addresses": "8", "max_datatypes": "8", "valuelen": "60",
    "order": "MPI_ORDER_C", "typeclass": "MPI_TYPECLASS_INTEGER", "p": "6", "r": "9",
    "split_type": "MPI_COMM_TYPE_SHARED", "pset_name": '"mpi://SELF"', "stringtag": '"tag"',
    "logical_size": "4", "comm_keyval": "comm_key", "type_keyval": "type_key",
    "array_of_distribs": "distributions", "array_of_dargs": "arguments",
    "dims": "ones", "edges": "zeros", "indx": "zeros", "degrees": "zeros",
    "weights": "ones", "sourceweights": "ones", "destweights": "ones", "outdegree": "0",
    "indegree": "0", "recvbuf": "second_buffer", "inbuf": "second_buffer",
    "disp_unit": "1", "lock_type": "MPI_LOCK_SHARED", "win_keyval": "win_key",
    "type_name": "text", "errorclass": "MPI_ERR_OTHER",
    "errorcode": "MPI_ERR_OTHER", "key": "0", "color": "0",
    "whence": "MPI_SEEK_SET", "amode": "MPI_MODE_RDONLY", "filename": '"/dev/null"',
    "baseptr": "&memory", "base": "memory", "buffer_addr": "&memory",
}
ONES = ("array_of_blocklengths", "array_of_sizes", "array_of_subsizes", "array_of_gsizes",
        "array_of_psizes", "recvcounts", "sendcounts")

# Arguments of single functions.
OF_FUNCTION = {
    ("MPI_Type_match_size", "size"): "4",
    ("MPI_Register_datarep", "datarep"): '"own"',
    ("MPI_File_get_view", "datarep"): "text",
    ("MPI_File_delete", "filename"): "file_name",
    ("MPI_File_get_view", "etype"): "types", ("MPI_File_get_view", "filetype"): "types",
    ("MPI_File_set_view", "datarep"): '"native"',
    ("MPI_File_set_view", "filetype"): "MPI_INT",
    ("MPI_Type_create_darray", "size"): "1",
    ("MPI_Session_get_nth_pset", "pset_name"): "text",
    ("MPI_Session_get_nth_pset", "n"): "0",
    ("MPI_Info_create_env", "argv"): "NULL", ("MPI_Win_create", "base"): "buffer",
}

BY_TYPE = {
    "MPI_Comm": "comm", "MPI_Group": "group", "MPI_Session": "session",
    "MPI_Info": "info", "MPI_Errhandler": "MPI_ERRORS_RETURN", "MPI_File": "file",
    "MPI_File *": "&file",
    "MPI_Win": "win", "MPI_Win *": "&win", "MPI_Op": "MPI_SUM", "MPI_Message": "MPI_MESSAGE_NO_PROC",
    "MPI_Request": "request", "MPI_Comm *": "&other", "MPI_Group *": "&made_group",
    "MPI_Session *": "&made_session", "MPI_Info *": "&made_info",
    "MPI_Errhandler *": "&handler", "MPI_Message *": "&message",
    "MPI_Request *": "&request", "const MPI_Request *": "&request",
    "MPI_Status *": "&status", "const MPI_Status *": "&status",
    "MPI_Datatype *": "types", "const MPI_Datatype *": "given_types",
    "MPI_Comm_copy_attr_function *": "MPI_COMM_NULL_COPY_FN",
    "MPI_Comm_delete_attr_function *": "MPI_COMM_NULL_DELETE_FN",
    "MPI_Type_copy_attr_function *": "MPI_TYPE_NULL_COPY_FN",
    "MPI_Type_delete_attr_function *": "MPI_TYPE_NULL_DELETE_FN",
    "MPI_Win_copy_attr_function *": "MPI_WIN_NULL_COPY_FN",
    "MPI_Win_delete_attr_function *": "MPI_WIN_NULL_DELETE_FN",
    "MPI_Comm_errhandler_function *": "on_comm", "MPI_File_errhandler_function *": "on_file",
    "MPI_Session_errhandler_function *": "on_session",
    "MPI_Win_errhandler_function *": "on_win",
    "MPI_Datarep_conversion_function *": "NULL", "MPI_Datarep_conversion_function_c *": "NULL",
    "MPI_Datarep_extent_function *": "file_extent",
    "MPI_Grequest_query_function *": "query", "MPI_Grequest_free_function *": "release",
    "MPI_Grequest_cancel_function *": "cancel", "MPI_Op *": "&op",
    "MPI_User_function *": "combine", "MPI_User_function_c *": "combine_c",
    "void *": "buffer", "const void *": "buffer", "char *": "text", "const char *": '"word"',
}

# What has to be done before, for functions that take what another one has made.
BEFORE = {
    "MPI_Start": "persist(&request)", "MPI_Startall": "persist(&request)",
    "MPI_Request_free": "persist(&request)", "MPI_Cancel": "persist(&request); "
    "MPI_Start(&request)", "MPI_Comm_free": "other = comm", "MPI_Group_free":
    "made_group = group", "MPI_Info_free": "made_info = info",
    "MPI_Errhandler_free": "MPI_Comm_create_errhandler(on_comm, &handler)",
    "MPI_Type_free": "MPI_Type_dup(MPI_INT, types)",
    "MPI_Type_commit": "MPI_Type_dup(MPI_INT, types)",
    "MPI_Win_free_keyval": "MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, "
    "MPI_WIN_NULL_DELETE_FN, &win_key, NULL)",
    "MPI_Comm_delete_attr": "MPI_Comm_set_attr(comm, comm_key, buffer)",
    "MPI_Type_delete_attr": "MPI_Type_set_attr(derived, type_key, buffer)",
    "MPI_Buffer_detach": "MPI_Buffer_attach(buffer, 4096)",
    "MPI_Comm_detach_buffer": "MPI_Comm_attach_buffer(comm, buffer, 4096)",
    "MPI_Session_detach_buffer": "MPI_Session_attach_buffer(session, buffer, 4096)",
    "MPI_Session_finalize": "made_session = session", "MPI_Mrecv": "no_message()",
    "MPI_Imrecv": "no_message()", "MPI_Info_get_string": "numbers[0] = 8",
    "MPI_Free_mem": "MPI_Alloc_mem(64, MPI_INFO_NULL, &memory)",
    "MPI_Session_get_nth_pset": "numbers[0] = 100",
    "MPI_File_delete": "close(mkstemp(file_name))",
    "MPI_Op_free": "MPI_Op_create(combine, 1, &op)",
}


def cast(parameter, text):
    kind = parameter.type.replace("const ", "")
    return f"({kind}){text}" if kind.endswith("*") else text


def base_of(name):
    return name[:-2] if name.endswith("_c") else name


def is_output(p):
    return p.type.endswith("*") and "const" not in p.type and "void" not in p.type


def argument(f, p):
    kind = p.type
    if (base_of(f.name), p.name) in OF_FUNCTION:
        return OF_FUNCTION[base_of(f.name), p.name]
    if kind == "MPI_Datatype":
        return "derived" if f.name.startswith("MPI_Type_") else "MPI_INT"
    if kind in ("int *", "MPI_Count *", "MPI_Aint *") and p.name in ("comm_keyval", "type_keyval",
                                                                      "win_keyval"):
        return "&" + p.name.replace("_keyval", "_key")
    is_array = kind.startswith("const ") and kind.endswith("*") and kind not in BY_TYPE
    if p.name == "ranges":
        return "ranges"
    if is_array and p.name in ONES:
        return cast(p, "ones" if "int" in kind else "long_ones")
    if p.name in BY_NAME and not is_output(p) and not (p.name == "key" and kind != "int"):
        return cast(p, BY_NAME[p.name])
    if is_array:
        return cast(p, "zeros" if "int" in kind else "long_zeros")
    if kind in BY_TYPE:
        return BY_TYPE[kind]
    if kind.endswith("*"):
        return f"({kind})numbers"
    if re.fullmatch(r"int|MPI_Count|MPI_Aint|MPI_Offset|const int", kind):
        return "0"
    return f"({kind})0"


# The epoch that a function of a window needs; the others are called after a fence.
EPOCHS = (
    (r"MPI_Win_(flush.*|sync|unlock_all)|MPI_R(put|get|accumulate|get_accumulate)",
     "MPI_Win_lock_all(0, win)"),
    (r"MPI_Win_unlock", "MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)"),
    (r"MPI_Win_start", "MPI_Win_post(group, 0, win)"),
    (r"MPI_Win_complete", "MPI_Win_post(group, 0, win); MPI_Win_start(group, 0, win)"),
    (r"MPI_Win_(wait|test)", "MPI_Win_post(group, 0, win); MPI_Win_start(group, 0, win); "
     "MPI_Win_complete(win)"),
    (r"MPI_Win_(free|post|lock|lock_all|fence|create_dynamic|set_.*|get_.*)", ""),
    (r"MPI_Win_attach", "make_dynamic()"),
    (r"MPI_Win_detach", "make_dynamic(); MPI_Win_attach(win, memory, 64)"),
    (r"MPI_Win_delete_attr", "MPI_Win_set_attr(win, win_key, buffer)"),
    (r".*", "MPI_Win_fence(0, win)"),
)


def epoch(f):
    """Has the function a window? Then what makes one, and opens its epoch."""
    if not any(p.type == "MPI_Win" for p in f.parameters) and f.name != "MPI_Win_free":
        return ""
    found = next(text for pattern, text in EPOCHS if re.fullmatch(pattern, base_of(f.name)))
    return "make_window()" + ("; " + found if found else "")


def begun(f):
    """Has the function a file? Then what makes one, and begins a split collective."""
    is_file = any(p.type == "MPI_File" for p in f.parameters)
    if not is_file and f.name != "MPI_File_close":
        return ""
    name = re.fullmatch(r"MPI_File_(.*)_end", f.name)
    if name is None:
        return "make_file()"
    where = "0, " if "_at_" in f.name else ""
    return f"make_file(); MPI_File_{name.group(1)}_begin(file, {where}buffer, 1, MPI_INT)"


def before(f):
    if "neighbor" in f.name.lower():
        return "make_ring()"
    return BEFORE.get(base_of(f.name), epoch(f) or begun(f))


def case(f):
    arguments = [argument(f, p) for p in f.parameters if p.type != "..."]
    call = f"{f.name}({', '.join(arguments)})"
    lines = [f"    {before(f)};"] if before(f) else []
    if f.returns == "int" and not f.name.endswith("_toint"):
        lines.append(f"    return {call};")
    else:
        lines += [f"    (void){call};", "    return MPI_SUCCESS;"]
    return f"static int call_{f.name}(void)\n{{\n" + "\n".join(lines) + "\n}\n\n"


def main():
    built = spec.built()
    chosen = [f for f in spec.functions() if f.name in built and f.name not in LEFT_OUT
              and not f.name.startswith("MPI_T_")]
    rows = "".join(f'    {{"{f.name}", call_{f.name}, {int(bool(MAY_FAIL.fullmatch(f.name)))}}},\n'
                   for f in chosen)
    sys.stdout.write("/* Made by tests/mpi/sessions_alone.py. */\n"
                     + "".join(case(f) for f in chosen)
                     + f"static const struct call calls[] = {{\n{rows}}};\n")


if __name__ == "__main__":
    main()
