/* errors.c - chapters 9.3 to 9.5: handlers by family; classes, codes and strings. */
#include "check.h"

#include <pthread.h>

static int last_used(void)
{
    int *value = NULL;
    int flag = 0;

    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag) ==
              MPI_SUCCESS &&
          flag);
    return *value;
}

static void text_is(int code, const char *expected)
{
    char text[MPI_MAX_ERROR_STRING] = "?";
    int length = -1;

    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS);
    CHECK(strcmp(text, expected) == 0 && length == (int)strlen(expected));
}

static void own_classes_and_codes(void)
{
    int class = 0;
    int code = 0;
    int standard = 0; /* a code of a class of the standard */
    int found = -1;

    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS && class > MPI_ERR_LASTCODE);
    CHECK(last_used() == class);
    text_is(class, "");
    CHECK(MPI_Add_error_code(class, &code) == MPI_SUCCESS && code != class);
    CHECK(MPI_Add_error_code(MPI_ERR_NO_MEM, &standard) == MPI_SUCCESS);
    CHECK(standard > code && last_used() == standard);
    CHECK(MPI_Error_class(class, &found) == MPI_SUCCESS && found == class);
    CHECK(MPI_Error_class(code, &found) == MPI_SUCCESS && found == class);
    CHECK(MPI_Error_class(standard, &found) == MPI_SUCCESS && found == MPI_ERR_NO_MEM);

    CHECK(MPI_Add_error_string(class, "the sea is rough") == MPI_SUCCESS);
    CHECK(MPI_Add_error_string(code, "the mast is broken") == MPI_SUCCESS);
    CHECK(MPI_Add_error_string(code, "the mast is gone") == MPI_SUCCESS);
    text_is(class, "the sea is rough");
    text_is(code, "the mast is gone");
    text_is(standard, "");

    IS_ERROR(MPI_Remove_error_class(class), MPI_ERR_ARG); /* has a code */
    IS_ERROR(MPI_Remove_error_class(code), MPI_ERR_ARG);
    IS_ERROR(MPI_Remove_error_code(code), MPI_ERR_ARG); /* has a string */
    IS_ERROR(MPI_Remove_error_code(class), MPI_ERR_ARG);
    CHECK(MPI_Remove_error_string(code) == MPI_SUCCESS);
    IS_ERROR(MPI_Remove_error_string(code), MPI_ERR_ARG);
    text_is(code, "");
    CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS);
    IS_ERROR(MPI_Error_class(code, &found), MPI_ERR_ARG);
    CHECK(last_used() == standard);
    CHECK(MPI_Remove_error_code(standard) == MPI_SUCCESS && last_used() == class);
    IS_ERROR(MPI_Remove_error_class(class), MPI_ERR_ARG); /* has a string */
    CHECK(MPI_Remove_error_string(class) == MPI_SUCCESS);
    CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS);
    CHECK(last_used() == MPI_ERR_LASTCODE);
    IS_ERROR(MPI_Remove_error_class(class), MPI_ERR_ARG);
}

/* Many that come and go cost nothing that stays. */
static void many_codes(void)
{
    enum { CODES = 200, TURNS = 500 };

    int codes[CODES];
    int class;

    for (int turn = 0; turn < TURNS; turn++) {
        CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS);
        for (int i = 0; i < CODES; i++) {
            CHECK(MPI_Add_error_code(class, &codes[i]) == MPI_SUCCESS);
        }
        CHECK(last_used() == MPI_ERR_LASTCODE + 1 + CODES);
        for (int i = 0; i < CODES; i++) {
            CHECK(MPI_Remove_error_code(codes[i]) == MPI_SUCCESS);
        }
        CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS);
    }
}

static void wrong_codes(void)
{
    static char long_text[MPI_MAX_ERROR_STRING + 1];
    int code;
    int class;

    memset(long_text, 'x', MPI_MAX_ERROR_STRING);
    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS);
    CHECK(MPI_Add_error_code(class, &code) == MPI_SUCCESS);
    IS_ERROR(MPI_Add_error_code(code, &code), MPI_ERR_ARG);
    IS_ERROR(MPI_Add_error_code(MPI_SUCCESS, &code), MPI_ERR_ARG);
    IS_ERROR(MPI_Add_error_code(-1, &code), MPI_ERR_ARG);
    IS_ERROR(MPI_Add_error_code(class, NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Add_error_class(NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Add_error_string(MPI_ERR_RANK, "mine"), MPI_ERR_ARG);
    IS_ERROR(MPI_Add_error_string(code, NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Add_error_string(code, long_text), MPI_ERR_ARG);
    IS_ERROR(MPI_Remove_error_string(MPI_ERR_RANK), MPI_ERR_ARG);
    IS_ERROR(MPI_Remove_error_class(MPI_ERR_RANK), MPI_ERR_ARG);
    CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS);
    CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS);
}

/* Every class of the standard has a text that says more than its name. */
static void standard_texts(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    int class;
    int count = 0;

    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    for (int code = 0; code <= MPI_ERR_LASTCODE; code++) {
        if (MPI_Error_string(code, text, &length) == MPI_SUCCESS) {
            CHECK(strncmp(text, "MPI_", 4) == 0 && strchr(text, ' ') != NULL);
            CHECK(MPI_Error_class(code, &class) == MPI_SUCCESS && class == code);
            count++;
        }
    }
    CHECK(count >= 60);
}

static void text_has(int code, const char *part)
{
    char text[MPI_MAX_ERROR_STRING] = "?";
    int length = -1;

    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS);
    CHECK(strstr(text, part) != NULL && length == (int)strlen(text));
}

/* ---- the sentence about the last error ---- */

static void ask_for_the_sentence(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    text_has(*code, "MPI_Send on MPI_COMM_WORLD: MPI_ERR_RANK: ");
}

/* Another thread has not met the error. */
static void *ask_for_the_meaning(void *nothing)
{
    text_is(MPI_ERR_RANK,
            "MPI_ERR_RANK: the rank lies outside the communicator or group");
    return nothing;
}

/* A program that gets errors returned can print what a fatal one says. */
static void sentences_of_returned_errors(void)
{
    static const char path[] = "/nonexistent folder/file";
    MPI_Errhandler handler;
    MPI_File file;
    pthread_t thread;
    int word = 0;

    IS_ERROR(MPI_Send(&word, 1, MPI_INT, 4711, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    text_has(MPI_ERR_RANK, "MPI_Send on MPI_COMM_WORLD: MPI_ERR_RANK: ");
    text_has(MPI_ERR_RANK, "4711");
    CHECK(pthread_create(&thread, NULL, ask_for_the_meaning, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_RANK) == MPI_SUCCESS);
    text_has(MPI_ERR_RANK, "4711");

    IS_ERROR(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
             MPI_ERR_NO_SUCH_FILE);
    text_has(MPI_ERR_NO_SUCH_FILE, path);
    text_is(MPI_ERR_RANK,
            "MPI_ERR_RANK: the rank lies outside the communicator or group");

    CHECK(MPI_Comm_create_errhandler(ask_for_the_sentence, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler) == MPI_SUCCESS);
    IS_ERROR(MPI_Send(&word, 1, MPI_INT, 4711, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
}

/* ---- handlers ---- */

static struct {
    int calls;
    int code;
    MPI_File file;
    MPI_Comm comm;
} seen;

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    seen.calls++;
    seen.code = *code;
    seen.comm = *comm;
}

static void on_file(MPI_File *file, int *code, ...)
{
    seen.calls++;
    seen.code = *code;
    seen.file = *file;
}

static void on_win(MPI_Win *win, int *code, ...)
{
    (void)win;
    (void)code;
}

static void on_session(MPI_Session *session, int *code, ...)
{
    (void)session;
    (void)code;
}

static void handlers_of_files(void)
{
    MPI_Errhandler handler;
    MPI_Errhandler got = MPI_ERRHANDLER_NULL;

    CHECK(MPI_File_get_errhandler(MPI_FILE_NULL, &got) == MPI_SUCCESS);
    CHECK(got == MPI_ERRORS_RETURN);
    CHECK(MPI_Errhandler_free(&got) == MPI_SUCCESS);
    CHECK(MPI_File_create_errhandler(on_file, &handler) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, handler) == MPI_SUCCESS);
    CHECK(MPI_File_get_errhandler(MPI_FILE_NULL, &got) == MPI_SUCCESS && got == handler);
    CHECK(MPI_Errhandler_free(&got) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);

    seen.calls = 0;
    CHECK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_QUOTA) == MPI_SUCCESS);
    CHECK(seen.calls == 1 && seen.code == MPI_ERR_QUOTA && seen.file == MPI_FILE_NULL);
    IS_ERROR(MPI_File_call_errhandler((MPI_File)&seen, MPI_ERR_IO), MPI_ERR_FILE);
    CHECK(seen.calls == 2 && seen.code == MPI_ERR_FILE);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    IS_ERROR(MPI_File_get_errhandler(MPI_FILE_NULL, NULL), MPI_ERR_ARG);
    CHECK(seen.calls == 2);
}

/* A handler fits the family that it was made for. */
static void families(void)
{
    MPI_Errhandler handlers[4];

    CHECK(MPI_Comm_create_errhandler(on_comm, &handlers[0]) == MPI_SUCCESS);
    CHECK(MPI_File_create_errhandler(on_file, &handlers[1]) == MPI_SUCCESS);
    CHECK(MPI_Win_create_errhandler(on_win, &handlers[2]) == MPI_SUCCESS);
    CHECK(MPI_Session_create_errhandler(on_session, &handlers[3]) == MPI_SUCCESS);
    for (int i = 0; i < 4; i++) {
        IS_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handlers[i]),
                 i == 0 ? MPI_SUCCESS : MPI_ERR_ERRHANDLER);
        IS_ERROR(MPI_File_set_errhandler(MPI_FILE_NULL, handlers[i]),
                 i == 1 ? MPI_SUCCESS : MPI_ERR_ERRHANDLER);
    }
    IS_ERROR(MPI_Win_create_errhandler(NULL, &handlers[2]), MPI_ERR_ARG);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    for (int i = 0; i < 4; i++) {
        CHECK(MPI_Errhandler_free(&handlers[i]) == MPI_SUCCESS);
    }
}

static void own_codes_reach_handlers(void)
{
    MPI_Errhandler handler;
    int class;
    int code;

    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS);
    CHECK(MPI_Add_error_code(class, &code) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_errhandler(on_comm, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    seen.calls = 0;
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, code) == MPI_SUCCESS);
    CHECK(seen.calls == 1 && seen.code == code && seen.comm == MPI_COMM_WORLD);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int early = 0; /* before MPI_Init */
    int class = 0;

    CHECK(MPI_Add_error_class(&early) == MPI_SUCCESS && early > MPI_ERR_LASTCODE);
    CHECK(MPI_Error_class(early, &class) == MPI_SUCCESS && class == early);
    CHECK(MPI_Remove_error_class(early) == MPI_SUCCESS);
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    own_classes_and_codes();
    many_codes();
    wrong_codes();
    standard_texts();
    sentences_of_returned_errors();
    handlers_of_files();
    families();
    own_codes_reach_handlers();
    return MPI_Finalize();
}
