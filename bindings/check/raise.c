#include "check/raise.h"

#include "base/log.h"
#include "core/error.h"
#include "core/user_error.h"
#include "engine/lock.h"
#include "io/file.h"
#include "rma/win.h"
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is being raised, so that it can be printed and acted upon in one place. */
struct raised {
    int class;
    const char *function;
    const char *object; /* "" if there is none */
    const char *cure;   /* "" if there is none */
    char text[512];
};

/* The last error that was returned, or given to a handler of the user, in a thread. */
struct last_error {
    int class;
    char sentence[MPI_MAX_ERROR_STRING];
};

/* Where each thread keeps its own. A thread-local variable would need the loader, which
 * the library does not need otherwise. */
static pthread_key_t last_error_key;
static bool has_last_error_key;

static void make_last_error_key(void)
{
    has_last_error_key = pthread_key_create(&last_error_key, free) == 0;
}

/* This thread's last error; NULL: it has none. */
static struct last_error *last_error(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_last_error_key);
    return has_last_error_key ? pthread_getspecific(last_error_key) : NULL;
}

/* Where this thread's last error is noted; NULL: there is no memory for it. */
static struct last_error *room_for_error(void)
{
    struct last_error *last = last_error();

    if (last == NULL && has_last_error_key) {
        last = calloc(1, sizeof(*last));
        if (last != NULL && pthread_setspecific(last_error_key, last) != 0) {
            free(last);
            last = NULL;
        }
    }
    return last;
}

/* The name of a class; of a code that the program added, its number and its text. */
static void write_name(int code, char *name, size_t size)
{
    const struct weft_error_row *row = weft_error_row(code);
    const char *text;
    int class;

    if (row != NULL) {
        snprintf(name, size, "%s", row->name);
        return;
    }
    weft_object_lock();
    if (weft_user_error_find(code, &class, &text)) {
        snprintf(name, size, "error code %d of class %d%s%s", code, class,
                 text[0] != '\0' ? ", " : "", text);
    } else {
        snprintf(name, size, "%d, which is no error code", code);
    }
    weft_object_unlock();
}

/* True in MPI_*_call_errhandler, which passes on an error of another call. */
static bool is_call_errhandler(const char *function)
{
    static const char end[] = "_call_errhandler";
    const size_t length = strlen(function);

    return length >= sizeof(end) - 1 &&
           strcmp(function + length - (sizeof(end) - 1), end) == 0;
}

/* The class of a code that the program added, or the class itself. */
static int class_of(int code)
{
    const char *text;
    int class = code;

    weft_object_lock();
    (void)weft_user_error_find(code, &class, &text);
    weft_object_unlock();
    return class;
}

/* The length of the name of the call if the text of a code is the sentence of an error of
 * this class: "MPI_Send: MPI_ERR_TYPE: what is wrong: what helps". Otherwise 0. */
static size_t call_in(const char *text, int class)
{
    const struct weft_error_row *row = weft_error_row(class);
    const size_t length = strcspn(text, ": ");
    char name[64];

    if (row == NULL || strncmp(text, "MPI_", 4) != 0) {
        return 0;
    }
    snprintf(name, sizeof(name), ": %s: ", row->name);
    return strncmp(text + length, name, strlen(name)) == 0 ? length : 0;
}

/*
 * A library above MPI, such as the Fortran library, can raise errors by
 * MPI_*_call_errhandler alone. If the text of its error code is the sentence of an error,
 * this function writes that sentence, with the object, and returns true. The object is
 * left out if it is MPI_COMM_SELF: calls without an object have its error handler.
 */
static bool write_foreign(const struct raised *e, char *text, size_t size)
{
    const bool is_named = strcmp(e->object, "MPI_COMM_SELF") != 0;
    const char *sentence;
    size_t call = 0;
    int class;

    if (!is_call_errhandler(e->function)) {
        return false;
    }
    weft_object_lock();
    if (weft_user_error_find(e->class, &class, &sentence)) {
        call = call_in(sentence, class);
    }
    if (call > 0) {
        snprintf(text, size, "%.*s%s%s%s", (int)call, sentence, is_named ? " on " : "",
                 is_named ? e->object : "", sentence + call);
    }
    weft_object_unlock();
    return call > 0;
}

/* The whole sentence: call, object, class, what is wrong, what helps. */
static void write_sentence(const struct raised *e, char *text, size_t size)
{
    char name[MPI_MAX_ERROR_STRING + 64];

    if (write_foreign(e, text, size)) {
        return;
    }
    write_name(e->class, name, sizeof(name));
    snprintf(text, size, "%s%s%s: %s: %s%s%s", e->function,
             e->object[0] != '\0' ? " on " : "", e->object, name, e->text,
             e->cure[0] != '\0' ? ": " : "", e->cure);
}

static _Noreturn void end_job(const struct raised *e)
{
    char text[1536];

    write_sentence(e, text, sizeof(text));
    weft_runtime_abort(class_of(e->class), text);
}

/* An earlier call has raised this error, and knows more of it. */
static bool is_passed_on(const struct raised *e)
{
    const struct last_error *last = last_error();

    return last != NULL && e->class == last->class && is_call_errhandler(e->function);
}

static void mention(const struct raised *e)
{
    struct last_error *last;
    char text[1536];

    write_sentence(e, text, sizeof(text));
    weft_log_info("%s", text);
    last = is_passed_on(e) ? NULL : room_for_error();
    if (last != NULL) {
        last->class = e->class;
        snprintf(last->sentence, sizeof(last->sentence), "%.*s",
                 (int)sizeof(last->sentence) - 1, text);
    }
}

const char *weft_raised_sentence(int class)
{
    const struct last_error *last = last_error();

    return class != MPI_SUCCESS && last != NULL && class == last->class ? last->sentence
                                                                        : NULL;
}

/* True: the handler is the user's, to be called by whoever knows its family. */
static bool is_for_user(const struct weft_errhandler *handler, const struct raised *e)
{
    if (handler == &weft_errors_are_fatal || handler == &weft_errors_abort) {
        end_job(e);
    }
    mention(e);
    return handler != &weft_errors_return;
}

static int run_comm_handler(struct weft_comm *comm, const struct raised *e)
{
    struct weft_errhandler *handler;
    MPI_Comm handle = comm->handle;
    int class = e->class;

    handler = weft_errhandler_use_at(&comm->errhandler);
    if (is_for_user(handler, e)) {
        handler->call.comm(&handle, &class);
    }
    weft_errhandler_release(handler);
    return e->class;
}

/* NULL: the handler of files that are not open. */
static int run_file_handler(struct weft_file *file, const struct raised *e)
{
    struct weft_errhandler *handler;
    MPI_File handle = file != NULL ? file->handle : MPI_FILE_NULL;
    int class = e->class;

    handler =
        weft_errhandler_use_at(file != NULL ? &file->errhandler : &weft_file_errhandler);
    if (is_for_user(handler, e)) {
        handler->call.file(&handle, &class);
    }
    weft_errhandler_release(handler);
    return e->class;
}

static bool is_open(void)
{
    bool is_open;

    weft_lock();
    is_open = weft_runtime_is_open();
    weft_unlock();
    return is_open;
}

static int raise_on_comm(struct weft_comm *comm, struct raised *e)
{
    if (comm == NULL && weft_world_state() != WEFT_WORLD_OPEN) {
        end_job(e);
    }
    if (comm == NULL) {
        comm = &weft_comm_self;
    } else {
        e->object = comm->name[0] != '\0' ? comm->name : "an unnamed communicator";
    }
    return run_comm_handler(comm, e);
}

int weft_raise_comm(struct weft_comm *comm, const char *function, int class,
                    const char *format, const char *cure, ...)
{
    struct raised e = {.class = class, .function = function, .object = "", .cure = cure};
    va_list args;

    va_start(args, cure);
    vsnprintf(e.text, sizeof(e.text), format, args);
    va_end(args);
    return raise_on_comm(comm, &e);
}

static int run_win_handler(struct weft_win *win, const struct raised *e)
{
    struct weft_errhandler *handler;
    MPI_Win handle = win->handle;
    int class = e->class;

    handler = weft_errhandler_use_at(&win->errhandler);
    if (is_for_user(handler, e)) {
        handler->call.win(&handle, &class);
    }
    weft_errhandler_release(handler);
    return e->class;
}

int weft_raise_win(struct weft_win *win, const char *function, int class,
                   const char *format, const char *cure, ...)
{
    struct raised e = {.class = class, .function = function, .object = "", .cure = cure};
    va_list args;

    va_start(args, cure);
    vsnprintf(e.text, sizeof(e.text), format, args);
    va_end(args);
    if (win == NULL) {
        return raise_on_comm(NULL, &e);
    }
    e.object = win->name != NULL ? win->name : "an unnamed window";
    return run_win_handler(win, &e);
}

/* A handler that is in use, for a session or for none. */
static int run_session_handler(struct weft_errhandler *handler, MPI_Session handle,
                               const struct raised *e)
{
    int class = e->class;

    if (is_for_user(handler, e)) {
        handler->call.session(&handle, &class);
    }
    weft_errhandler_release(handler);
    return e->class;
}

int weft_raise_session(struct weft_session *session, const char *function, int class,
                       const char *format, const char *cure, ...)
{
    struct raised e = {.class = class, .function = function, .object = "", .cure = cure};
    struct weft_errhandler *handler;
    va_list args;

    va_start(args, cure);
    vsnprintf(e.text, sizeof(e.text), format, args);
    va_end(args);
    if (session == NULL) {
        return raise_on_comm(NULL, &e);
    }
    e.object = "a session";
    handler = weft_errhandler_use_at(&session->errhandler);
    return run_session_handler(handler, session->handle, &e);
}

int weft_raise_on(struct weft_errhandler *handler, const char *function, int class,
                  const char *format, const char *cure, ...)
{
    struct raised e = {.class = class, .function = function, .object = "", .cure = cure};
    va_list args;

    va_start(args, cure);
    vsnprintf(e.text, sizeof(e.text), format, args);
    va_end(args);
    weft_errhandler_use(handler);
    return run_session_handler(handler, MPI_SESSION_NULL, &e);
}

int weft_raise_file(struct weft_file *file, const char *function, int class,
                    const char *format, const char *cure, ...)
{
    struct raised e = {
        .class = class,
        .function = function,
        .object = file != NULL ? file->name : "MPI_FILE_NULL",
        .cure = cure,
    };
    va_list args;

    va_start(args, cure);
    vsnprintf(e.text, sizeof(e.text), format, args);
    va_end(args);
    if (!is_open()) {
        end_job(&e);
    }
    return run_file_handler(file, &e);
}

int weft_raise(const char *function, int class, const char *format, const char *cure, ...)
{
    struct raised e = {.class = class, .function = function, .object = "", .cure = cure};
    va_list args;

    va_start(args, cure);
    vsnprintf(e.text, sizeof(e.text), format, args);
    va_end(args);
    return raise_on_comm(NULL, &e);
}

int weft_unbuilt_comm(MPI_Comm comm, const char *function)
{
    return weft_raise_comm(weft_comm_from_handle(comm), function, WEFT_E_UNBUILT);
}

int weft_unbuilt_file(MPI_File file, const char *function)
{
    return weft_raise_file(weft_file_from_handle(file), function, WEFT_E_UNBUILT);
}

int weft_unbuilt(const char *function)
{
    return weft_raise(function, WEFT_E_UNBUILT);
}
