/*
 * texts.h - the catalogue: what the library says to users when something is wrong.
 *
 * Every message names rank and host, the call, the argument or object, the cause, and the
 * cure where there is one. The caller of a text adds what it knows; this is the rest. The
 * entries are macros because a compiler checks arguments only against a text that it
 * sees:
 *
 *   WEFT_E_X  error class, text, cure: three arguments of weft_raise() and its kin
 *   WEFT_T_X  text, cure: the caller has the class from elsewhere
 *   WEFT_S_X  a text that is a part of another, or goes to the log
 *
 * docs/errors.md lists them for users; tests/house/texts.py compares the two, and fails
 * when a text is raised that is not here. mpiexec has texts of its own (launch/texts.h).
 */
#ifndef WEFT_BASE_TEXTS_H
#define WEFT_BASE_TEXTS_H

/* ---- before and after MPI ---- */

#define WEFT_E_NOT_INITIALIZED                                                           \
    MPI_ERR_OTHER, "called before MPI_Init", "call MPI_Init first"
#define WEFT_E_FINALIZED                                                                 \
    MPI_ERR_OTHER, "called after MPI_Finalize", "move the call before MPI_Finalize"
#define WEFT_E_FINALIZED_AGAIN                                                           \
    MPI_ERR_OTHER, "MPI was finalized before",                                           \
        "ask MPI_Finalized first; it can be finalized only once"
#define WEFT_E_INITIALIZED_TWICE                                                         \
    MPI_ERR_OTHER, "MPI was initialised before",                                         \
        "ask MPI_Initialized first; it can be initialised only once"
#define WEFT_E_FINALIZED_TWICE                                                           \
    MPI_ERR_OTHER, "another thread has called it as well", "call it once, from one thread"
#define WEFT_E_UNBUILT                                                                   \
    MPI_ERR_UNSUPPORTED_OPERATION,                                                       \
        "this version of Weft does not have this function yet",                          \
        "weft-info --chapters says what there is"
#define WEFT_T_CANNOT_OPEN "the library cannot be opened", "a line above says why"

/* ---- communicators, groups, sessions ---- */

#define WEFT_E_COMM_NULL                                                                 \
    MPI_ERR_COMM, "the communicator is MPI_COMM_NULL",                                   \
        "was this process left out when it was made (MPI_UNDEFINED), or was it freed?"
#define WEFT_E_COMM_PREDEFINED                                                           \
    MPI_ERR_COMM, "the communicator is predefined and lives until MPI_Finalize",         \
        "do not free it"
#define WEFT_E_COMM_INTRA                                                                \
    MPI_ERR_COMM, "it is an intracommunicator, which has no remote group",               \
        "use one that MPI_Intercomm_create has made"
#define WEFT_E_COMM_INTER                                                                \
    MPI_ERR_COMM, "it is an intercommunicator, which this call cannot use",              \
        "MPI_Intercomm_merge makes an intracommunicator of it"
#define WEFT_E_COMM_INTER_COLL                                                           \
    MPI_ERR_COMM, "an intercommunicator does not have this collective",                  \
        "MPI_Intercomm_merge makes an intracommunicator of it"
#define WEFT_E_COMM_STRING_TAG                                                           \
    MPI_ERR_ARG, "the string tag has more than %d characters", "shorten it"
#define WEFT_E_COMM_COLOR                                                                \
    MPI_ERR_ARG, "the color is %d",                                                      \
        "give 0 or more, or MPI_UNDEFINED to leave this rank out"
#define WEFT_E_COMM_SPLIT_TYPE                                                           \
    MPI_ERR_ARG, "the split type is %d, which does not exist",                           \
        "give MPI_COMM_TYPE_SHARED, for instance"
#define WEFT_E_LEADER_REMOTE                                                             \
    MPI_ERR_RANK,                                                                        \
        "the remote leader is %d, but the peer communicator has the ranks 0 to %d", ""
#define WEFT_E_LEADER_LOCAL                                                              \
    MPI_ERR_RANK, "the local leader is %d, but the communicator has the ranks 0 to %d", ""
#define WEFT_E_LEADER_GROUP                                                              \
    MPI_ERR_RANK, "a leader is %d, but its group has the ranks 0 to %d", ""
#define WEFT_E_GROUP_NULL                                                                \
    MPI_ERR_GROUP, "the group is MPI_GROUP_NULL",                                        \
        "take one from MPI_Comm_group, or use MPI_GROUP_EMPTY"
#define WEFT_E_GROUP_OUTSIDE                                                             \
    MPI_ERR_GROUP, "%d of the group's processes are not in the communicator's group",    \
        "make the group from MPI_Comm_group of this communicator"
#define WEFT_E_GROUP_WITHOUT_US                                                          \
    MPI_ERR_GROUP, "this process is not in the group", "only its members call this"
#define WEFT_E_GROUP_RANK                                                                \
    MPI_ERR_RANK, "the rank is %d, but the group has the ranks 0 to %d", ""
#define WEFT_T_GROUP_RANK_TWICE "rank %d is named more than once", "name each rank once"
#define WEFT_E_GROUP_STRIDE                                                              \
    MPI_ERR_ARG, "the stride of a range is 0", "give 1 for neighbouring ranks"
#define WEFT_E_GROUP_RANGE                                                               \
    MPI_ERR_ARG, "the range from %d to %d with stride %d goes the wrong way",            \
        "change the sign of the stride"
#define WEFT_E_SESSION_NULL                                                              \
    MPI_ERR_SESSION, "the session is MPI_SESSION_NULL",                                  \
        "was it finalized, or never made by MPI_Session_init?"
#define WEFT_E_PSET_NUMBER                                                               \
    MPI_ERR_ARG, "process set %d is asked for, but there are %d, counted from 0", ""
#define WEFT_E_PSET_NAME                                                                 \
    MPI_ERR_ARG, "\"%s\" is no process set", "mpi://WORLD and mpi://SELF exist"
#define WEFT_E_PSET_ROOM                                                                 \
    MPI_ERR_ARG, "there is no room for the name: its length is %d, its address %s", ""

/* ---- ranks, roots, tags ---- */

#define WEFT_E_RANK                                                                      \
    MPI_ERR_RANK, "the %s is %d%s, but the communicator has the ranks 0 to %d", ""
#define WEFT_E_RANK_ALONE                                                                \
    MPI_ERR_RANK, "the %s is %d%s, but this job has only rank 0",                        \
        "start more of them: mpiexec -n N"
#define WEFT_E_ROOT                                                                      \
    MPI_ERR_ROOT, "the root is %d, but the communicator has the ranks 0 to %d", ""
#define WEFT_E_ROOT_INTER                                                                \
    MPI_ERR_ROOT,                                                                        \
        "the root is %d, but ranks of the other group go from 0 to %d, and of this "     \
        "group it is MPI_ROOT or MPI_PROC_NULL",                                         \
        ""
#define WEFT_E_TAG       MPI_ERR_TAG, "the tag is %d%s", "give a tag from 0 to MPI_TAG_UB"
#define WEFT_E_TAG_PLAIN MPI_ERR_TAG, "the tag is %d", "give a tag from 0 to MPI_TAG_UB"
#define WEFT_E_TAG_ANY                                                                   \
    MPI_ERR_TAG, "the tag is MPI_ANY_TAG", "a partitioned receive names its tag"
#define WEFT_E_SOURCE_ANY                                                                \
    MPI_ERR_RANK, "the source is MPI_ANY_SOURCE", "a partitioned receive names its source"

/* ---- buffers and counts ---- */

#define WEFT_E_COUNT       MPI_ERR_COUNT, "the count is %lld", "give 0 or more"
#define WEFT_E_COUNT_INT   MPI_ERR_COUNT, "the count is %d", "give 0 or more"
#define WEFT_E_COUNT_NAMED MPI_ERR_COUNT, "%s is %lld", "give 0 or more"
#define WEFT_E_COUNT_HUGE                                                                \
    MPI_ERR_COUNT, "%lld elements of %s are more than memory can hold",                  \
        "was the count computed in an int that overflowed?"
#define WEFT_E_COUNT_HUGE_EACH                                                           \
    MPI_ERR_COUNT, "%lld elements for each of %d ranks are more than memory can hold",   \
        "was the count computed in an int that overflowed?"
#define WEFT_E_LENGTH_N     MPI_ERR_ARG, "n is %d", "give 0 or more"
#define WEFT_E_LENGTH_NAMED MPI_ERR_ARG, "the length of %s is %d", "give 0 or more"
#define WEFT_E_ENTRY        MPI_ERR_ARG, "%s[%lld] is %lld", "give 0 or more"
#define WEFT_E_SIZE         MPI_ERR_SIZE, "the size is %lld", "give 0 or more"
#define WEFT_E_NULL_ARGUMENT                                                             \
    MPI_ERR_ARG, "argument %s is NULL", "give the address of a variable"
#define WEFT_E_NULL_ARRAY                                                                \
    MPI_ERR_ARG, "%s is NULL, but has %lld entries", "give the address of an array"
#define WEFT_E_NULL_COUNTS                                                               \
    MPI_ERR_ARG, "an array of counts or types is NULL", "give one entry for each rank"
#define WEFT_E_NULL_FUNCTION                                                             \
    MPI_ERR_ARG, "the function is NULL", "give the address of a function"
#define WEFT_E_NULL_CALLBACK                                                             \
    MPI_ERR_ARG, "a callback is NULL", "give the addresses of all three functions"
#define WEFT_E_BUFFER_NULL                                                               \
    MPI_ERR_BUFFER, "the buffer is NULL, but the count is %lld, of %s",                  \
        "was its memory allocated? An empty message has the count 0"
#define WEFT_E_BUFFER_BAD MPI_ERR_BUFFER, "the buffer: %s", ""
#define WEFT_E_BUFFER_IN_PLACE                                                           \
    MPI_ERR_BUFFER, "MPI_IN_PLACE cannot stand for this buffer",                         \
        "give the address of the data"
#define WEFT_E_BUFFER_SAME                                                               \
    MPI_ERR_BUFFER, "the send and the receive buffer are the same",                      \
        "give MPI_IN_PLACE for one of them"
#define WEFT_E_BUFFER_OWN_BLOCK                                                          \
    MPI_ERR_BUFFER, "the send buffer is this rank's own block of the receive buffer",    \
        "give MPI_IN_PLACE as send buffer"
#define WEFT_E_BSEND_NO_ROOM                                                             \
    MPI_ERR_BUFFER,                                                                      \
        "a message of %zu bytes for rank %d finds no room in an attached buffer",        \
        "attach a larger one with MPI_Buffer_attach; each message takes "                \
        "MPI_BSEND_OVERHEAD bytes more"
#define WEFT_E_PACK_NO_ROOM                                                              \
    MPI_ERR_TRUNCATE,                                                                    \
        "%zu bytes do not fit between position %lld and the end, %lld, of the packed "   \
        "buffer",                                                                        \
        "MPI_Pack_size says how many are needed"
#define WEFT_E_PACK_DATAREP                                                              \
    MPI_ERR_ARG, "the data representation is \"%s\", not \"external32\"", ""

/* ---- datatypes and operations ---- */

#define WEFT_E_TYPE_NULL                                                                 \
    MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL", "was it freed, or never made?"
#define WEFT_E_TYPE_UNCOMMITTED                                                          \
    MPI_ERR_TYPE, "the datatype (%s) is not committed", "call MPI_Type_commit"
#define WEFT_E_TYPE_PREDEFINED                                                           \
    MPI_ERR_TYPE, "\"%s\" is predefined and cannot be freed",                            \
        "free only what a constructor has made"
#define WEFT_E_TYPE_FREED MPI_ERR_TYPE, "\"%s\" is freed already", "free it once"
#define WEFT_E_TYPE_HUGE                                                                 \
    MPI_ERR_ARG, "the datatype would be larger than 2^63 - 1 bytes",                     \
        "was a length computed in an int that overflowed?"
#define WEFT_E_TYPE_NO_CONTENTS                                                          \
    MPI_ERR_TYPE, "a predefined datatype has no contents",                               \
        "ask MPI_Type_get_envelope first"
#define WEFT_E_TYPE_LARGE                                                                \
    MPI_ERR_TYPE, "the datatype was made with large counts",                             \
        "call MPI_Type_get_contents_c"
#define WEFT_E_TYPE_ROOM                                                                 \
    MPI_ERR_ARG, "%s has %lld entries, %lld are needed",                                 \
        "MPI_Type_get_envelope says how many"
#define WEFT_E_TYPE_F90_NONE                                                             \
    MPI_ERR_ARG, "neither precision nor range is given", "give one of them"
#define WEFT_E_TYPE_F90        MPI_ERR_ARG, "no type has precision %d and range %d here", ""
#define WEFT_E_TYPE_MATCH_SIZE MPI_ERR_ARG, "class %d has no type of %d bytes here", ""
#define WEFT_E_TYPE_NDIMS      MPI_ERR_DIMS, "ndims is %d", "give 1 or more"
#define WEFT_E_TYPE_ORDER                                                                \
    MPI_ERR_ARG, "order is %d", "give MPI_ORDER_C or MPI_ORDER_FORTRAN"
#define WEFT_E_TYPE_SUBARRAY                                                             \
    MPI_ERR_ARG, "dimension %d: %lld elements from %lld on are not a part of %lld", ""
#define WEFT_E_TYPE_DARRAY_SIZE                                                          \
    MPI_ERR_ARG, "dimension %d: %lld elements for %d processes", "give 1 or more of both"
#define WEFT_E_TYPE_DARRAY_HOW                                                           \
    MPI_ERR_ARG, "dimension %d: %d is no distribution",                                  \
        "give MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE"
#define WEFT_E_TYPE_DARRAY_NONE                                                          \
    MPI_ERR_ARG, "dimension %d is not distributed, but over %d processes",               \
        "give 1 process"
#define WEFT_E_TYPE_DARRAY_BLOCKS                                                        \
    MPI_ERR_ARG, "dimension %d: blocks of %d elements",                                  \
        "give 1 or more, or MPI_DISTRIBUTE_DFLT_DARG"
#define WEFT_E_TYPE_DARRAY_SMALL                                                         \
    MPI_ERR_ARG,                                                                         \
        "dimension %d: a block of %d elements for each of %d processes does not hold "   \
        "%lld",                                                                          \
        ""
#define WEFT_E_TYPE_DARRAY_RANK                                                          \
    MPI_ERR_ARG, "rank %d of %d, but the grid has %lld processes", ""
#define WEFT_E_OP_UNDEFINED                                                              \
    MPI_ERR_OP, "%s is not defined for %s",                                              \
        "use a type that it is defined for, or MPI_Op_create"
#define WEFT_E_OP_PREDEFINED                                                             \
    MPI_ERR_OP, "the operation is predefined and cannot be freed",                       \
        "free only what MPI_Op_create has made"
#define WEFT_E_LOGICAL_SIZE MPI_ERR_ARG, "a LOGICAL cannot have %d bytes", ""
#define WEFT_E_FORTRAN_SET                                                               \
    MPI_ERR_ABI, "the properties of Fortran were set before", "set them once"
#define WEFT_E_FORTRAN_SIZES                                                             \
    MPI_ERR_ABI,                                                                         \
        "Weft's INTEGER, LOGICAL and REAL have 4 bytes and its DOUBLE PRECISION has 8",  \
        "compile without options that change their sizes"

/* ---- requests and messages ---- */

#define WEFT_E_REQUEST_NULL                                                              \
    MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL",                                  \
        "was it completed before, or never started?"
#define WEFT_E_REQUEST_ACTIVE                                                            \
    MPI_ERR_REQUEST, "the request is active",                                            \
        "complete it by a wait or test before it is started again"
#define WEFT_E_REQUEST_NOT_PERSISTENT                                                    \
    MPI_ERR_REQUEST, "the request is not persistent",                                    \
        "make it with MPI_Send_init or its like"
#define WEFT_E_REQUEST_INACTIVE                                                          \
    MPI_ERR_REQUEST, "the request is inactive", "start it first"
#define WEFT_E_REQUEST_COLLECTIVE                                                        \
    MPI_ERR_REQUEST, "%s is a collective, which is never cancelled", ""
#define WEFT_E_REQUEST_COLLECTIVE_FREE                                                   \
    MPI_ERR_REQUEST, "the request of %s cannot be freed", "complete it by a wait or test"
#define WEFT_E_REQUEST_NOT_GENERAL                                                       \
    MPI_ERR_REQUEST, "the request is not a generalized one under way",                   \
        "complete what MPI_Grequest_start has made, and once"
#define WEFT_T_REQUEST_FREE   "the request's free callback returned %d", ""
#define WEFT_T_REQUEST_CANCEL "the request's cancel callback returned %d", ""
#define WEFT_E_REQUESTS_FAILED                                                           \
    MPI_ERR_IN_STATUS, "at least one of %d operations failed%s%s%s%s", ""
#define WEFT_E_MESSAGE_NULL                                                              \
    MPI_ERR_ARG, "the message is MPI_MESSAGE_NULL",                                      \
        "was it received before? MPI_Mprobe gives one"
#define WEFT_E_PARTITIONS MPI_ERR_ARG, "the number of partitions is %d", "give 1 or more"
#define WEFT_E_PARTITIONS_HUGE                                                           \
    MPI_ERR_COUNT, "%d partitions of %lld elements are too many", ""
#define WEFT_E_PARTITION_NOT_SEND                                                        \
    MPI_ERR_REQUEST, "the request is not an active partitioned send",                    \
        "MPI_Psend_init makes one, MPI_Start starts it"
#define WEFT_E_PARTITION_NOT_RECV                                                        \
    MPI_ERR_REQUEST, "the request is not a partitioned receive",                         \
        "MPI_Precv_init makes one"
#define WEFT_E_PARTITION_TWICE                                                           \
    MPI_ERR_ARG, "partition %d was ready already",                                       \
        "call MPI_Pready once for each partition and start"
#define WEFT_E_PARTITION                                                                 \
    MPI_ERR_ARG, "the request has no partition %d", "partitions are counted from 0"
#define WEFT_E_PARTITION_RANGE                                                           \
    MPI_ERR_ARG, "there are no partitions from %d to %d", "partitions are counted from 0"
#define WEFT_E_PARTITION_LENGTH MPI_ERR_ARG, "the length is %d", "give 0 or more"

/* ---- files ---- */

#define WEFT_E_FILE_NULL                                                                 \
    MPI_ERR_FILE, "the file is MPI_FILE_NULL", "was it closed, or did MPI_File_open fail?"
#define WEFT_E_FILE_AMODE_ACCESS                                                         \
    MPI_ERR_AMODE,                                                                       \
        "the access mode is %d, which has %d of MPI_MODE_RDONLY, MPI_MODE_RDWR and "     \
        "MPI_MODE_WRONLY",                                                               \
        "give one of them"
#define WEFT_E_FILE_AMODE_CREATE                                                         \
    MPI_ERR_AMODE, "the access mode is MPI_MODE_RDONLY with MPI_MODE_CREATE or EXCL",    \
        "to create a file, give MPI_MODE_RDWR or MPI_MODE_WRONLY"
#define WEFT_E_FILE_AMODE_SEQUENTIAL                                                     \
    MPI_ERR_AMODE, "the access mode is MPI_MODE_RDWR with MPI_MODE_SEQUENTIAL",          \
        "give MPI_MODE_RDONLY or MPI_MODE_WRONLY"
#define WEFT_E_FILE_AMODE_UNKNOWN                                                        \
    MPI_ERR_AMODE, "the access mode is %d, of which %d is unknown",                      \
        "give an or of MPI_MODE_ constants for files"
#define WEFT_E_FILE_READ_ONLY                                                            \
    MPI_ERR_READ_ONLY, "the file was opened with MPI_MODE_RDONLY",                       \
        "open it with MPI_MODE_RDWR or MPI_MODE_WRONLY"
#define WEFT_E_FILE_WRITE_ONLY                                                           \
    MPI_ERR_ACCESS, "the file was opened with MPI_MODE_WRONLY",                          \
        "open it with MPI_MODE_RDWR or MPI_MODE_RDONLY"
#define WEFT_E_FILE_SEQUENTIAL                                                           \
    MPI_ERR_UNSUPPORTED_OPERATION, "the file was opened with MPI_MODE_SEQUENTIAL",       \
        "use the calls of the shared file pointer, or open it without"
#define WEFT_E_FILE_OFFSET MPI_ERR_ARG, "the offset is %lld", "give 0 or more etypes"
#define WEFT_E_FILE_BEYOND                                                               \
    MPI_ERR_ARG, "the access reaches beyond what a file offset can say",                 \
        "was the offset computed in an int that overflowed?"
#define WEFT_E_FILE_ETYPES                                                               \
    MPI_ERR_TYPE, "%llu bytes of the file are no whole number of etypes, of %llu bytes", \
        "read and write whole etypes, or set a view with a smaller one"
#define WEFT_E_FILE_SEEK                                                                 \
    MPI_ERR_ARG, "the file pointer would be at %lld", "seek to 0 or more etypes"
#define WEFT_E_FILE_WHENCE                                                               \
    MPI_ERR_ARG, "whence is %d", "give MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END"
#define WEFT_E_FILE_SIZE MPI_ERR_ARG, "the size is %lld", "give 0 or more bytes"
#define WEFT_E_FILE_DISPLACEMENT                                                         \
    MPI_ERR_ARG, "the displacement is %lld", "give 0 or more bytes"
#define WEFT_E_FILE_CURRENT                                                              \
    MPI_ERR_ARG,                                                                         \
        "the displacement is %lld, but the file was opened with MPI_MODE_SEQUENTIAL",    \
        "give MPI_DISPLACEMENT_CURRENT"
#define WEFT_E_FILE_FILETYPE MPI_ERR_IO, "the filetype (%s) cannot be used: %s", ""
#define WEFT_E_FILE_DATAREP                                                              \
    MPI_ERR_UNSUPPORTED_DATAREP, "the data representation \"%s\" is unknown",            \
        "there are native, internal and external32, and what MPI_Register_datarep adds"
#define WEFT_E_FILE_DATAREP_LENGTH                                                       \
    MPI_ERR_ARG, "the name of the data representation has more than %d characters",      \
        "shorten it"
#define WEFT_E_FILE_DATAREP_TWICE                                                        \
    MPI_ERR_DUP_DATAREP, "the data representation \"%s\" exists already",                \
        "register each name once"
#define WEFT_E_FILE_SPLIT_BUSY                                                           \
    MPI_ERR_OTHER, "a split collective of the file is under way: MPI_File_%s_begin",     \
        "end it first; a file has one at a time"
#define WEFT_E_FILE_SPLIT_NONE                                                           \
    MPI_ERR_OTHER, "no MPI_File_%s_begin is under way on the file", "begin it first"
#define WEFT_T_FILE_CALL  "\"%s\": %s", ""
#define WEFT_T_FILE_OTHER "\"%s\": another member has failed: %s", ""
#define WEFT_T_FILE_READ                                                                 \
    "\"%s\" cannot be read from byte %llu on: %s; the first %llu bytes of this call "    \
    "are "                                                                               \
    "in the buffer",                                                                     \
        ""
#define WEFT_T_FILE_WRITE                                                                \
    "\"%s\" cannot be written from byte %llu on: %s; the first %llu bytes of this call " \
    "are in the file",                                                                   \
        ""
#define WEFT_S_FILE_NOT_SAME   "members of the call gave different arguments"
#define WEFT_S_FILE_CONVERSION "a conversion function of the program has failed"
#define WEFT_S_FILE_REFUSED    "arguments of a member were refused"
#define WEFT_S_FILE_OLD_LOCKS                                                            \
    "\"%s\": this system has no locks of open files, only of processes: in atomic mode " \
    "two handles of one process do not exclude each other"
#define WEFT_S_FILE_NEGATIVE  "it has negative displacements"
#define WEFT_S_FILE_DISORDER  "its displacements are not in ascending order"
#define WEFT_S_FILE_OVERLAP   "it has overlapping regions, and the file is written"
#define WEFT_S_FILE_NO_ETYPES "it is no whole number of etypes"

/* ---- windows ---- */

#define WEFT_E_WIN_SIZE                                                                  \
    MPI_ERR_SIZE, "the size is %lld", "give the window's bytes on this rank, 0 or more"
#define WEFT_E_WIN_UNIT                                                                  \
    MPI_ERR_DISP, "the unit of displacements is %lld", "give 1 or more bytes"
#define WEFT_E_WIN_BASE                                                                  \
    MPI_ERR_BASE, "the base is NULL, but the window has %lld bytes",                     \
        "was its memory allocated? A rank without memory gives the size 0"
#define WEFT_E_WIN_SHARED                                                                \
    MPI_ERR_RMA_SHARED, "the communicator's ranks are on several nodes",                 \
        "MPI_Comm_split_type with MPI_COMM_TYPE_SHARED makes one for each node"
#define WEFT_E_WIN_NO_SHARED                                                             \
    MPI_ERR_NO_MEM, "no memory that ranks can share for the window, %lld bytes here",    \
        "make it smaller; where memfd_create is refused, mount a larger /dev/shm"
#define WEFT_E_WIN_FLAVOR MPI_ERR_RMA_FLAVOR, "the window is not one that %s has made", ""
#define WEFT_E_WIN_ATTACH                                                                \
    MPI_ERR_RMA_ATTACH, "some of these %lld bytes are attached already",                 \
        "detach them first"
#define WEFT_E_WIN_DETACH                                                                \
    MPI_ERR_RMA_ATTACH, "nothing is attached at %p", "give the base of MPI_Win_attach"
#define WEFT_E_WIN_RANK                                                                  \
    MPI_ERR_RANK, "the target is %d, but the window has the ranks 0 to %d", ""
#define WEFT_E_WIN_DISP MPI_ERR_DISP, "the displacement is %lld", "give 0 or more"
#define WEFT_E_WIN_RANGE                                                                 \
    MPI_ERR_RMA_RANGE,                                                                   \
        "the access is to bytes %lld to %lld, but rank %d's window has %lld", ""
#define WEFT_E_WIN_REFUSED                                                               \
    MPI_ERR_RMA_RANGE,                                                                   \
        "an access since the last flush was to memory outside the window",               \
        "was the memory attached?"
#define WEFT_E_WIN_LOCK_TYPE                                                             \
    MPI_ERR_LOCKTYPE, "the lock type is %d", "give MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE"
#define WEFT_E_WIN_NO_LOCKS                                                              \
    MPI_ERR_RMA_SYNC, "the window was made with the hint no_locks",                      \
        "make it without, or use fences"
#define WEFT_E_WIN_ASSERT                                                                \
    MPI_ERR_ASSERT, "the assertion is %d, of which %d is none for this call",            \
        "give an or of MPI_MODE_ constants, or 0"
#define WEFT_E_WIN_TRUNCATE                                                              \
    MPI_ERR_TRUNCATE, "%lld bytes do not fit into %lld", "make both sides agree"
#define WEFT_E_WIN_BASIC                                                                 \
    MPI_ERR_TYPE, "the datatype (%s) has elements of more than one predefined type",     \
        "an accumulate needs one"
#define WEFT_E_WIN_ELEMENTS                                                              \
    MPI_ERR_TYPE, "the buffer has elements of %s, but the target of %s",                 \
        "give both sides of an accumulate the same predefined type"
#define WEFT_E_WIN_CUT                                                                   \
    MPI_ERR_TYPE, "%lld bytes are no whole number of elements of %s",                    \
        "give both sides the same predefined type"
#define WEFT_E_WIN_PREDEFINED                                                            \
    MPI_ERR_TYPE, "the datatype (%s) is not predefined", "this call needs one that is"
#define WEFT_E_WIN_GROUP                                                                 \
    MPI_ERR_GROUP, "%d of the group's processes are not in the window's group",          \
        "make the group from MPI_Win_get_group of this window"
#define WEFT_E_WIN_OP                                                                    \
    MPI_ERR_OP, "the operation is the program's own",                                    \
        "accumulates have the predefined ones only"
#define WEFT_E_WIN_OP_UNDEFINED                                                          \
    MPI_ERR_OP, "%s is not defined for %s", "use a type that it is defined for"
#define WEFT_E_WIN_NO_OP                                                                 \
    MPI_ERR_OP, "the operation is MPI_NO_OP",                                            \
        "only MPI_Get_accumulate and MPI_Fetch_and_op have it"
#define WEFT_E_WIN_SWAP                                                                  \
    MPI_ERR_TYPE, "elements of the datatype (%s) cannot be compared and swapped",        \
        "use an integer, a logical or MPI_BYTE"
#define WEFT_E_WIN_EPOCH MPI_ERR_RMA_SYNC, "%s", ""
#define WEFT_S_EPOCH_IN_FENCE                                                            \
    "operations after the last MPI_Win_fence are not complete: call it once more first"
#define WEFT_S_EPOCH_IN_START "an epoch of MPI_Win_start is open: call MPI_Win_complete"
#define WEFT_S_EPOCH_IN_POST  "an epoch of MPI_Win_post is open: call MPI_Win_wait"
#define WEFT_S_EPOCH_IN_LOCK  "an epoch of MPI_Win_lock is open: call MPI_Win_unlock"
#define WEFT_S_EPOCH_IN_LOCK_ALL                                                         \
    "an epoch of MPI_Win_lock_all is open: call MPI_Win_unlock_all"
#define WEFT_S_EPOCH_NO_START                                                            \
    "the target is in no group of an open MPI_Win_start: call that first"
#define WEFT_S_EPOCH_NO_POST     "no epoch of MPI_Win_post is open: call that first"
#define WEFT_S_EPOCH_NO_LOCK     "the target is not locked: call MPI_Win_lock first"
#define WEFT_S_EPOCH_NO_LOCK_ALL "no epoch of MPI_Win_lock_all is open: call that first"
#define WEFT_S_EPOCH_NO_PASSIVE                                                          \
    "the target is not locked: call MPI_Win_lock or MPI_Win_lock_all first"
#define WEFT_S_EPOCH_NONE                                                                \
    "no epoch is open: call MPI_Win_fence, MPI_Win_start, MPI_Win_lock or "              \
    "MPI_Win_lock_all first"

/* ---- topologies ---- */

#define WEFT_E_TOPO_NONE                                                                 \
    MPI_ERR_TOPOLOGY, "the communicator has no topology",                                \
        "make it with MPI_Cart_create or MPI_Dist_graph_create"
#define WEFT_E_TOPO_OTHER                                                                \
    MPI_ERR_TOPOLOGY, "the communicator has no %s", "MPI_Topo_test says which it has"
#define WEFT_E_TOPO_NNODES MPI_ERR_ARG, "nnodes is %d", "give 1 or more"
#define WEFT_E_TOPO_NDIMS  MPI_ERR_DIMS, "ndims is %d", "give 0 or more"
#define WEFT_E_TOPO_DIM                                                                  \
    MPI_ERR_DIMS, "dims[%d] is %d",                                                      \
        "give 1 or more; MPI_Dims_create fills in those that are 0"
#define WEFT_E_TOPO_DIVIDE                                                               \
    MPI_ERR_DIMS, "the dimensions given do not divide %d nodes", "set some of dims to 0"
#define WEFT_E_TOPO_LARGE                                                                \
    MPI_ERR_DIMS, "the grid has more places than the communicator has ranks, %d",        \
        "make the product of dims at most that"
#define WEFT_E_TOPO_ROOM                                                                 \
    MPI_ERR_ARG, "maxdims is %d, but the grid has %d dimensions",                        \
        "MPI_Cartdim_get says how many"
#define WEFT_E_TOPO_COORDS                                                               \
    MPI_ERR_ARG, "the coordinates lie outside a dimension that is not periodic", ""
#define WEFT_E_TOPO_RANK MPI_ERR_RANK, "the rank is %d, but ranks go from 0 to %d", ""
#define WEFT_E_TOPO_DIRECTION                                                            \
    MPI_ERR_ARG, "the direction is %d, but the grid has the dimensions 0 to %d", ""
#define WEFT_E_TOPO_GRAPH_ROOM                                                           \
    MPI_ERR_ARG, "%s has room for %d numbers, and there are %d", ""
#define WEFT_E_TOPO_UNWEIGHTED                                                           \
    MPI_ERR_ARG, "only one of the two sides is MPI_UNWEIGHTED",                          \
        "give weights for both or for none"
#define WEFT_E_TOPO_NODES                                                                \
    MPI_ERR_ARG, "the graph has %d nodes, but the communicator %d ranks", ""
#define WEFT_E_TOPO_INDEX                                                                \
    MPI_ERR_ARG, "index[%d] is %d, less than the %d before it",                          \
        "each entry is the sum of neighbours up to its node"
#define WEFT_E_TOPO_EDGE       MPI_ERR_ARG, "edges[%d] is %d, but nodes go from 0 to %d", ""
#define WEFT_E_TOPO_NEIGHBOUR  MPI_ERR_RANK, "%s[%d] is %d, but ranks go from 0 to %d", ""
#define WEFT_E_TOPO_WEIGHT     MPI_ERR_ARG, "weights[%d] is %d", "give 0 or more"
#define WEFT_E_TOPO_DEGREE     MPI_ERR_ARG, "degrees[%d] is %d", "give 0 or more"
#define WEFT_E_TOPO_EDGES_HUGE MPI_ERR_ARG, "%lld edges are too many", ""

/* ---- attributes, infos, error handlers and codes ---- */

#define WEFT_E_KEY_INVALID                                                               \
    MPI_ERR_KEYVAL, "the key is MPI_KEYVAL_INVALID", "was it freed?"
#define WEFT_E_KEY_PREDEFINED                                                            \
    MPI_ERR_KEYVAL, "%d is a predefined key, which nobody can change", ""
#define WEFT_E_KEY_OTHER                                                                 \
    MPI_ERR_KEYVAL, "%d is no key of a %s: freed, or made for other objects", ""
#define WEFT_T_KEY_DELETE     "the delete callback of key %d returned %d", ""
#define WEFT_T_KEY_DELETE_ANY "the delete callback of an attribute returned %d", ""
#define WEFT_T_KEY_COPY       "the copy callback of an attribute returned %d", ""
#define WEFT_T_KEY_NOT_DELETED                                                           \
    "an attribute could not be deleted", "its delete callback has failed"
#define WEFT_T_KEY_NOT_COPIED                                                            \
    "an attribute could not be copied", "its copy callback has failed"
#define WEFT_E_INFO_NULL                                                                 \
    MPI_ERR_INFO, "the info object is MPI_INFO_NULL", "make one with MPI_Info_create"
#define WEFT_E_INFO_ENV                                                                  \
    MPI_ERR_INFO, "MPI_INFO_ENV can only be read",                                       \
        "MPI_Info_dup makes a copy that can be changed"
#define WEFT_E_INFO_NONE                                                                 \
    MPI_ERR_INFO, "info is no info object", "give MPI_INFO_NULL for none"
#define WEFT_E_INFO_KEY_NULL  MPI_ERR_INFO_KEY, "the key is NULL", ""
#define WEFT_E_INFO_KEY_EMPTY MPI_ERR_INFO_KEY, "the key is empty", ""
#define WEFT_E_INFO_KEY_LONG                                                             \
    MPI_ERR_INFO_KEY, "the key \"%.40s...\" is longer than %d bytes", "shorten it"
#define WEFT_E_INFO_VALUE_NULL MPI_ERR_INFO_VALUE, "the value is NULL", ""
#define WEFT_E_INFO_VALUE_LONG                                                           \
    MPI_ERR_INFO_VALUE, "the value \"%.40s...\" is longer than %d bytes", "shorten it"
#define WEFT_E_INFO_NO_KEY MPI_ERR_INFO_NOKEY, "the info object has no key \"%s\"", ""
#define WEFT_E_INFO_NTH                                                                  \
    MPI_ERR_ARG, "key %d is asked for, but there are %d, counted from 0", ""
#define WEFT_E_INFO_VALUELEN MPI_ERR_ARG, "valuelen is %d", "give 0 or more"
#define WEFT_E_INFO_BUFLEN   MPI_ERR_ARG, "*buflen is %d", "give 0 or more"
#define WEFT_E_HANDLER_OTHER MPI_ERR_ERRHANDLER, "the handler was made for a %s", ""
#define WEFT_E_HANDLER_NULL                                                              \
    MPI_ERR_ARG, "argument errhandler is NULL", "give the address of a variable"
#define WEFT_E_SESSION_NULL_ARGUMENT                                                     \
    MPI_ERR_ARG, "argument session is NULL", "give the address of a variable"
#define WEFT_T_RAISED "raised by the program", ""
#define WEFT_E_CODE   MPI_ERR_ARG, "%d is not an error code", ""
#define WEFT_E_CLASS  MPI_ERR_ARG, "%d is not an error class", ""
#define WEFT_E_CODE_STRING_LONG                                                          \
    MPI_ERR_ARG, "the string \"%.40s...\" is longer than %d bytes", "shorten it"
#define WEFT_E_CODE_NOT_ADDED                                                            \
    MPI_ERR_ARG, "%d is not an error code that this program added", ""
#define WEFT_E_CODE_OR_CLASS_NOT_ADDED                                                   \
    MPI_ERR_ARG, "%d is not an error class or code that this program added", ""
#define WEFT_E_CLASS_NOT_ADDED                                                           \
    MPI_ERR_ARG, "%d is not an error class that this program added", ""
#define WEFT_E_CLASS_IN_USE                                                              \
    MPI_ERR_ARG, "class %d still has error codes or its string", "remove them first"
#define WEFT_E_CODE_IN_USE                                                               \
    MPI_ERR_ARG, "code %d still has its string", "remove that first"
#define WEFT_E_CODE_NO_STRING MPI_ERR_ARG, "%d has no string that this program added", ""

/* ---- memory ---- */

#define WEFT_E_NO_MEM                                                                    \
    MPI_ERR_NO_MEM, "memory is used up",                                                 \
        "start fewer ranks on this host, or raise the limit (ulimit -v, the job's "      \
        "memory)"
#define WEFT_E_NO_MEM_KEY                                                                \
    MPI_ERR_NO_MEM, "no memory for another key",                                         \
        "start fewer ranks on this host, or raise the limit (ulimit -v, the job's "      \
        "memory)"
#define WEFT_T_NO_MEM_ATTRIBUTE                                                          \
    "no memory for an attribute", "start fewer ranks on this host, or raise the limit "  \
                                  "(ulimit -v, the job's memory)"
#define WEFT_E_NO_MEM_REQUESTS                                                           \
    MPI_ERR_NO_MEM, "no memory for %d requests",                                         \
        "start fewer ranks on this host, or raise the limit (ulimit -v, the job's "      \
        "memory)"
#define WEFT_E_NO_MEM_BYTES                                                              \
    MPI_ERR_NO_MEM, "no memory for %lld bytes",                                          \
        "start fewer ranks on this host, or raise the limit (ulimit -v, the job's "      \
        "memory)"
#define WEFT_E_NO_MEM_MORE_THAN_HOST                                                     \
    MPI_ERR_NO_MEM, "no memory for %lld bytes, more than this host has",                 \
        "was the size computed right, in bytes?"
#define WEFT_E_NO_MEM_HANDLER                                                            \
    MPI_ERR_NO_MEM, "no memory for an error handler",                                    \
        "start fewer ranks on this host, or raise the limit (ulimit -v, the job's "      \
        "memory)"
#define WEFT_E_NO_MEM_INFO                                                               \
    MPI_ERR_NO_MEM, "no memory for an info object",                                      \
        "start fewer ranks on this host, or raise the limit (ulimit -v, the job's "      \
        "memory)"
#define WEFT_T_NO_MEM_ANY                                                                \
    "no memory", "start fewer ranks on this host, or raise the limit (ulimit -v, the "   \
                 "job's memory)"
/* ---- buffers of MPI_Bsend ---- */

#define WEFT_E_ATTACHED                                                                  \
    MPI_ERR_BUFFER, "there is a buffer already", "detach it with MPI_Buffer_detach first"
#define WEFT_E_ATTACH_SIZE MPI_ERR_ARG, "the size is negative", "give 0 or more"
#define WEFT_E_ATTACH_NULL                                                               \
    MPI_ERR_BUFFER, "the buffer is NULL", "was its memory allocated?"
#define WEFT_E_ATTACH_NO_ADDRESS                                                         \
    MPI_ERR_ARG, "argument buffer_addr is NULL", "give the address of a pointer"
#define WEFT_E_ATTACH_NO_SIZE                                                            \
    MPI_ERR_ARG, "argument size is NULL", "give the address of a variable"
#define WEFT_E_ATTACH_NO_REQUEST                                                         \
    MPI_ERR_ARG, "argument request is NULL", "give the address of a variable"

/* ---- handles ---- */

#define WEFT_T_HANDLE      "%s", ""
#define WEFT_S_HANDLE_ZERO "0 is no %s: was the variable set?"
#define WEFT_S_HANDLE_NULL "the %s is %s: was it freed, or never made?"
#define WEFT_S_HANDLE_KIND                                                               \
    "handle 0x%lx is %s %s, but %s %s is needed: check the order of the arguments"
#define WEFT_S_HANDLE_PREDEFINED "predefined handle 0x%lx is not a usable %s"
#define WEFT_S_HANDLE_STALE      "handle 0x%lx is not a valid %s: freed, or never created?"
#define WEFT_S_HANDLER_OTHER     "the handler was made for a %s, not for a %s"

/* ---- memory of buffers ---- */

#define WEFT_S_MEMORY_DEVICE                                                             \
    "its %zu bytes at %p are memory of a device (%s), which Weft cannot reach; copy "    \
    "them to host memory"
#define WEFT_S_MEMORY_UNMAPPED                                                           \
    "its %zu bytes at %p are not mapped: was the memory freed, or never allocated?"
#define WEFT_S_MEMORY_END                                                                \
    "its %zu bytes at %p end in memory that is not mapped: is the count larger than "    \
    "the array?"
#define WEFT_S_MEMORY_REFUSED                                                            \
    "its %zu bytes at %p cannot be accessed: are they read only, or protected?"
#define WEFT_S_BUFFER_GIVEN   "MPI_ERR_BUFFER: %s: %s"
#define WEFT_S_BUFFER_MESSAGE "a buffer given to a %s with tag %d"
#define WEFT_S_BUFFER_CALL    "the %s buffer of %s on %s"

/* ---- messages and peers ---- */

#define WEFT_T_SAID        "%s", ""
#define WEFT_S_GENERALIZED "from a callback of a generalized request"
#define WEFT_T_TRUNCATED   "%s", "receive more, or send less"
#define WEFT_S_TRUNCATED                                                                 \
    "rank %d has sent %llu bytes%s, and the receive has room for %llu"
#define WEFT_S_SHORT                                                                     \
    "rank %d has sent %llu bytes of this collective, and this rank expects %llu"
#define WEFT_T_DISAGREE                                                                  \
    "%s", "all members have to make the same calls in the same order, with counts and "  \
          "types that fit together"
#define WEFT_S_DISAGREE     "rank %d calls %s, but rank %d calls %s"
#define WEFT_S_CALL_BYTES   " of %llu bytes"
#define WEFT_S_CALL_ROOT    " with root %u"
#define WEFT_S_CALL_OP      " by %s"
#define WEFT_S_CALL_USER_OP " by a function of the user"
#define WEFT_S_STARVED                                                                   \
    "rank %d had no memory for its part of a collective call on this communicator, on "  \
    "which there are no more collectives"
#define WEFT_S_BROKEN_BY                                                                 \
    "rank %d has given this communicator up, because its members made different "        \
    "collective calls"
#define WEFT_S_BROKEN                                                                    \
    "its members have made different collective calls, as an earlier error has said"
#define WEFT_E_RC_DISAGREE MPI_ERR_OTHER, "members make different collective calls", ""
#define WEFT_S_RANK_DIED   "%srank %d%s on %s died: %s"
#define WEFT_S_RANK_OF_JOB " (rank %d of the job)"

/* ---- failures inside the library, for which no better words are known ---- */

#define WEFT_E_RC_ARGUMENT MPI_ERR_ARG, "a value makes no sense", ""
#define WEFT_E_RC_LAUNCH                                                                 \
    MPI_ERR_OTHER, "the launcher cannot be reached", "a line above says why"
#define WEFT_E_RC_SYSTEM                                                                 \
    MPI_ERR_OTHER, "a system call failed", "a line above says which and why"
#define WEFT_E_RC_UNSUPPORTED MPI_ERR_UNSUPPORTED_OPERATION, "not offered here", ""
#define WEFT_E_RC_TRUNCATE                                                               \
    MPI_ERR_TRUNCATE, "a message was longer than its buffer", "receive more, or send less"
#define WEFT_E_RC_UNREACHABLE                                                            \
    MPI_ERR_OTHER, "no transport reaches that rank",                                     \
        "a line above says why; mpiexec --report tries the networks"
#define WEFT_E_RC_CHECKSUM                                                               \
    MPI_ERR_OTHER, "the data changed on the way: a checksum is wrong",                   \
        "was the send buffer written before the send was complete?"
#define WEFT_E_RC_BUFFER                                                                 \
    MPI_ERR_BUFFER, "no room in the attached buffer",                                    \
        "attach a larger one with MPI_Buffer_attach"
#define WEFT_E_RC_PROC_FAILED                                                            \
    MPI_ERR_PROC_ABORTED, "the other process has ended, or cannot be reached", ""
#define WEFT_E_RC_ADDRESS MPI_ERR_BUFFER, "the buffer's memory is not accessible", ""
#define WEFT_E_RC_INTERN                                                                 \
    MPI_ERR_INTERN, "a return code that is not for users",                               \
        "this is an error in Weft: please report it"

/* ---- settings ---- */

#define WEFT_S_SETTING_NAME   "%s is not a setting and has no effect; did you mean %s?"
#define WEFT_S_SETTING_WORD   "%s: the value is not one of %s; %s is used"
#define WEFT_S_SETTING_NUMBER "%s: the value is not a number (%s); %s is used"
#define WEFT_S_FILE_LINE      "%.300s:%d: this line has no effect; a line is NAME = value"
#define WEFT_S_FILE_NAME                                                                 \
    "%.300s:%d: %s is not a setting and has no effect; did you mean %s?"
#define WEFT_S_FILE_UNKNOWN                                                              \
    "%.300s:%d: %s is not a setting and has no effect; weft-info --settings lists them"
#define WEFT_S_FILE_WORD                                                                 \
    "%.300s:%d: %s = %s: the value is not one of %s, and has no effect"
#define WEFT_S_FILE_NUMBER                                                               \
    "%.300s:%d: %s = %s: the value is not a number (%s), and has no effect"
#define WEFT_S_FILE_MORE   "%.300s: %d more lines have no effect"
#define WEFT_S_FILE_CLOSED "%.300s: this file of settings cannot be read: %s"
#define WEFT_S_FILE_KIND                                                                 \
    "%.300s: this file of settings has no effect: it is no regular file"
#define WEFT_S_FILE_LARGE                                                                \
    "%.300s: this file of settings has no effect: it has more than %d KiB"
#define WEFT_S_FILE_OWNER                                                                \
    "%.300s: this file of settings has no effect: it belongs to user %u, not to root "   \
    "or you"
#define WEFT_S_FILE_OPEN                                                                 \
    "%.300s: this file of settings has no effect: everybody may write it (chmod o-w)"
#define WEFT_S_FILE_GROUP                                                                \
    "%.300s: this file of settings has no effect: group %u may write it (chmod g-w)"

/* ---- start and launchers ---- */

#define WEFT_S_SRUN_NO_PMIX                                                              \
    "started by srun without PMI, so that its tasks cannot find each other: use srun "   \
    "--mpi=pmix or srun --mpi=pmi2"
#define WEFT_S_CLOSED_JOB                                                                \
    "descriptor %d, through which mpiexec shares the job's memory, was closed on the "   \
    "way: does a script or wrapper between mpiexec and the program close descriptors?"
#define WEFT_S_CLOSED_PMI                                                                \
    "descriptor %d, through which the launcher is reached, was closed on the way: does " \
    "a script or wrapper between launcher and program close descriptors?"
#define WEFT_S_PMI_GONE    "%s over %s: %s: the launcher is gone, or is not one for MPI%s"
#define WEFT_S_PMI_ANSWER  "PMI-1: asked for %s, the launcher answered: %.200s"
#define WEFT_S_PMI_UNASKED "PMI-1: the launcher said, unasked: %.200s"
#define WEFT_S_PMI_MAPPING                                                               \
    "PMI-1: the launcher does not say which rank runs where (PMI_process_mapping)"
#define WEFT_S_PMI_REFUSED "PMI-1: the launcher refuses this process: %.200s"
#define WEFT_S_PMI_SPACE   "PMI-1: the launcher's answer names no key-value space: %.200s"
#define WEFT_S_PMI_ENVIRONMENT                                                           \
    "%s: the environment has PMI_FD=%d PMI_RANK=%d PMI_SIZE=%d, which makes no sense: "  \
    "unset them, or start the program by mpiexec"
#define WEFT_S_PMI_KEY      "PMI-1: the launcher refuses key %s: %.200s"
#define WEFT_S_PMI2_ANSWER  "PMI-2: asked for %s, the launcher answered: %.200s"
#define WEFT_S_PMI2_REFUSED "PMI-2: the launcher refuses %s: %.200s"
#define WEFT_S_PMI2_PROCESS "PMI-2: the launcher refuses this process: %.200s"
#define WEFT_S_PMI2_RANK    "PMI-2: this is rank %d of %d, and the launcher says: %.200s"
#define WEFT_S_PMI2_JOB     "PMI-2: the launcher does not name the job: %.200s"
#define WEFT_S_PMI2_MAPPING                                                              \
    "PMI-2: the launcher does not say which rank runs where (PMI_process_mapping)"
#define WEFT_S_NEXT_PROGRAM                                                              \
    "this rank has run another MPI program before, and mpiexec cannot give this one "    \
    "memory of its own (%s): start it by an mpiexec of its own"
#define WEFT_S_PMIX_LIBRARY                                                              \
    "the launcher speaks PMIx, but its library cannot be loaded (%s): %s"
#define WEFT_S_PMIX_SYMBOL                                                               \
    "libpmix.so.2 has no %s: is it a PMIx library of version 3 or later?"
#define WEFT_S_PMIX_FAILED "%s over PMIx: %s"
#define WEFT_S_PMIX_SIZE   "PMIx: the launcher does not say how many ranks the job has"
#define WEFT_S_PMIX_NODE   "PMIx: the launcher does not say which ranks share this node"
#define WEFT_S_PMIX_MAP    "PMIx: the launcher does not say which rank runs where"
#define WEFT_S_SECRET_PLAIN                                                              \
    "the job's secret goes to other hosts through the launcher (%s), which may not "     \
    "encrypt it: whoever can read its connections can take part in the job"
#define WEFT_S_SECRET_NONE                                                               \
    "rank 0 has published no secret of the job through the launcher (%s)"
#define WEFT_S_SEGMENT_MAP  "cannot map the memory that ranks share, %zu bytes: %s%s"
#define WEFT_S_SEGMENT_MAKE "cannot make the memory that ranks share, %llu bytes: %s%s"
#define WEFT_S_SEGMENT_OPEN "cannot make the memory that ranks share: %s"
#define WEFT_S_SEGMENT_NO_FILE                                                           \
    "cannot make the memory that ranks share: memfd_create is refused, and %s: %s: "     \
    "allow memfd_create, or mount a larger /dev/shm"
#define WEFT_S_SEGMENT_USER                                                              \
    "%s belongs to another user, or another user can change it: it is not used"
#define WEFT_S_SEGMENT_NONE                                                              \
    "rank %d, the first of this node, has not published the job segment"
#define WEFT_S_SEGMENT_LISTEN "cannot listen for the ranks of this node: %s"
#define WEFT_S_RANDOM         "cannot draw random numbers: %s"

/* ---- networks ---- */

#define WEFT_S_NO_LIBFABRIC                                                              \
    "no network without libfabric, which cannot be loaded (%s): %s"
#define WEFT_S_OLD_LIBFABRIC "the libfabric that was found is older than %d.%d"
#define WEFT_S_NO_PROVIDER                                                               \
    "no provider of libfabric has connected endpoints with shared receive queues here "  \
    "(fi_info -t FI_EP_MSG shows them)"
#define WEFT_S_NO_RDM_PROVIDER                                                           \
    "no provider of libfabric has endpoints without connections here "                   \
    "(fi_info -t FI_EP_RDM shows them)"
#define WEFT_S_NO_DGRAM_PROVIDER                                                         \
    "no provider of libfabric has endpoints for datagrams here "                         \
    "(fi_info -t FI_EP_DGRAM shows them)"
#define WEFT_S_NO_TAGGED_PROVIDER                                                        \
    "no provider of libfabric matches messages in their order here (FI_TAGGED, "         \
    "FI_DIRECTED_RECV, FI_ORDER_SAS); WEFT_TRANSPORT=rdm needs none of these"
#define WEFT_S_NOT_TAGGED                                                                \
    "libfabric's provider %s cannot match messages for MPI: %s; use WEFT_TRANSPORT=rdm"
#define WEFT_S_TAGGED_TOO_LONG                                                           \
    "a message of %zu bytes is longer than the %zu that the network's matcher takes; "   \
    "use WEFT_TRANSPORT=shm+rdm, which has no limit"
#define WEFT_S_TAGGED_CHECKSUM                                                           \
    "WEFT_CHECKSUM=1 has no effect on messages that the network matches: use another "   \
    "WEFT_TRANSPORT than tagged and shm+tagged"
#define WEFT_S_PROVIDER "libfabric's provider %s: %s: %s"
#define WEFT_S_NO_SODIUM                                                                 \
    "connections between ranks are authenticated with libsodium, which cannot be "       \
    "loaded (%s): %s"
#define WEFT_S_SODIUM_SYMBOL "libsodium.so.23 has no %s"
#define WEFT_S_SODIUM_START  "libsodium does not start"
#define WEFT_S_NO_ADDRESS                                                                \
    "this host has no address for jobs (WEFT_NET=%s); mpiexec --report shows why"
#define WEFT_S_OPENED_AGAIN                                                              \
    "MPI could not be opened before, and is not opened again: the other ranks do not "   \
    "know of a second try"
#define WEFT_S_OTHER_NETWORK                                                             \
    "rank %u has opened the network %s, but rank %d the network %s: their nodes offer "  \
    "different ones; set WEFT_TRANSPORT, or FI_PROVIDER, so that all take the same"
#define WEFT_S_PEER_NO_ADDRESS "rank %u has published no address"
#define WEFT_S_UNDELIVERED                                                               \
    "%s: messages whose sends were over, or answers, are lost with them"
#define WEFT_S_NETWORK_NONSENSE                                                          \
    "what came over the network from rank %u makes no sense: %s; its memory is "         \
    "damaged, or it runs another version of Weft"
#define WEFT_S_UNREACHABLE                                                               \
    "rank %u cannot be reached: it does not share this node's memory, and no network "   \
    "is open"
#define WEFT_S_LISTEN       "cannot listen at %s, port %d: %s"
#define WEFT_S_LISTEN_PORTS "cannot listen at %s%s, ports %d to %d (WEFT_PORTS): %s"
#define WEFT_S_PORTS        "WEFT_PORTS=%s is no range of ports, as 47000-47999"
#define WEFT_S_WATCH        "cannot watch for connections: %s"
#define WEFT_S_STREAM       "no stream %u to %s: %s; long messages take fewer"
#define WEFT_S_PACKET       "a packet could not be received: %s"
#define WEFT_S_NO_RECEIVE   "no receive could be posted: %s"
#define WEFT_S_REJECTED                                                                  \
    "rejected a connection from outside this job (%s); further ones are only counted "   \
    "(pvar msg_rejected)"
#define WEFT_S_NO_DESCRIPTOR                                                             \
    "no descriptor is left for a connection (ulimit -n): pending connections are "       \
    "closed, and their callers ask again"
#define WEFT_S_DESCRIPTORS                                                               \
    "cannot list the descriptors of this process (/proc/self/fd): %s"
#define WEFT_S_CHANGED                                                                   \
    "a message of %llu bytes from rank %u of its communicator with tag %d, sequence "    \
    "%u, changed on its way: the block at offset %llu, up to %llu, arrived with "        \
    "checksum %08x instead of %08x"

/* ---- threads of the library ---- */

#define WEFT_S_NETWORK_THREAD "the network thread cannot be prepared: %s"
#define WEFT_S_NETWORK_THREAD_START                                                      \
    "the network thread cannot be started: is the limit of processes too low (ulimit "   \
    "-u)?"
#define WEFT_S_NETWORK_DESCRIPTOR "the network has no descriptor to wait for"
#define WEFT_S_PROGRESS_THREAD                                                           \
    "the progress thread cannot be started (%s): messages advance only inside MPI calls"
#define WEFT_S_WORK_THREAD                                                               \
    "no thread can be started for work that blocks (%s): it is done by threads of the "  \
    "program, inside MPI calls"

/* ---- messages ---- */

#define WEFT_S_READY                                                                     \
    "rank %u sent in ready mode with tag %d, but no receive was posted: post it before " \
    "MPI_Rsend is called"

/* ---- no memory inside the library ---- */

#define WEFT_S_OOM_PEER                                                                  \
    "out of memory: cannot note a new peer: start fewer ranks on this host, or raise "   \
    "the limit (ulimit -v, the job's memory)"
#define WEFT_S_OOM_ANSWER                                                                \
    "out of memory: cannot keep an answer to a peer: start fewer ranks on this host, "   \
    "or raise the limit (ulimit -v, the job's memory)"
#define WEFT_S_OOM_OFFER                                                                 \
    "out of memory: cannot keep the offer of a peer: start fewer ranks on this host, "   \
    "or raise the limit (ulimit -v, the job's memory)"
#define WEFT_S_OOM_REPLY                                                                 \
    "out of memory: cannot answer a peer: start fewer ranks on this host, or raise the " \
    "limit (ulimit -v, the job's memory)"
#define WEFT_S_OOM_RECEIVE                                                               \
    "out of memory: cannot receive a long message: start fewer ranks on this host, or "  \
    "raise the limit (ulimit -v, the job's memory)"
#define WEFT_S_OOM_DROP                                                                  \
    "out of memory: cannot drop a message: start fewer ranks on this host, or raise "    \
    "the limit (ulimit -v, the job's memory)"
#define WEFT_S_OOM_PARTITIONED                                                           \
    "out of memory: cannot start a partitioned receive: start fewer ranks on this "      \
    "host, or raise the limit (ulimit -v, the job's memory)"
#define WEFT_S_OOM_SEND                                                                  \
    "out of memory: cannot send a long message: start fewer ranks on this host, or "     \
    "raise the limit (ulimit -v, the job's memory)"
#define WEFT_S_OOM_PACK                                                                  \
    "out of memory: cannot pack a message: start fewer ranks on this host, or raise "    \
    "the limit (ulimit -v, the job's memory)"
#define WEFT_S_OOM_CHUNKS                                                                \
    "out of memory: cannot move a long message in chunks: start fewer ranks on this "    \
    "host, or raise the limit (ulimit -v, the job's memory)"
#define WEFT_S_OOM_STORE                                                                 \
    "out of memory: cannot store a message from the network: start fewer ranks on this " \
    "host, or raise the limit (ulimit -v, the job's memory)"

#endif
