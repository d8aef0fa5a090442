/*
 * fail.c - rank 1 fails in the way that is asked for, while the others do something.
 *
 *   fail HOW [OTHERS]
 *
 *   segv, kill      dies by that signal, inside MPI
 *   two             dies by SIGSEGV while two of its threads are inside MPI
 *   exit-before     exit(3) before MPI_Init
 *   exit-after      exit(3) after MPI_Init
 *   leave           exit(0) after MPI_Init
 *   thread          MPI_Abort with code 5 from a second thread
 *   abort-N         MPI_Abort with code N
 *   mute            MPI_Abort with code 5, when the way to the launcher is closed
 *   scribble-header, scribble-slice, scribble-states
 *                   overwrites the header of the job segment, all of its own slice, or
 *                   the states of all slices, once the others have left MPI and wait,
 *                   and ends with code 6
 *   truncate        tries to shorten the job segment, and ends with code 6
 *   comm            calls MPI_Barrier on no communicator
 *   never           does what the others do
 *
 *   also            the others fail in the same way
 *   barrier         sit in MPI_Barrier
 *   pause           sleep
 *   flood           print as fast as they can
 *   ignore          ignore INT and TERM
 *   stopped         have stopped themselves
 *
 * A rank that is about to wait says "ready" first, on standard output.
 */
#include "mpi.h"
#include "wireup/segment.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VICTIM = 1, A_MOMENT_US = 10000 };

static void *abort_from_thread(void *unused)
{
    MPI_Abort(MPI_COMM_WORLD, 5);
    return unused;
}

static void *receive_for_ever(void *unused)
{
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return unused;
}

/* Two threads call MPI at a time, which is not allowed after MPI_Init. */
static void die_with_two_in_mpi(void)
{
    for (int i = 0; i < 2; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, receive_for_ever, NULL) != 0) {
            exit(98);
        }
        usleep(50 * A_MOMENT_US);
    }
    raise(SIGSEGV);
}

static void abort_in_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, abort_from_thread, NULL) != 0) {
        exit(98);
    }
    pause();
}

static struct weft_slice *slice_of(struct weft_segment_header *h, uint32_t rank)
{
    return (struct weft_slice *)(void *)((char *)h + h->slices_at +
                                         h->slice_bytes * rank);
}

static void scribble_states(struct weft_segment_header *h)
{
    for (uint32_t r = 0; r < h->local_size; r++) {
        slice_of(h, r)->state = WEFT_SLICE_ABORTED;
    }
}

/* What a program with a stray pointer may do to the memory that the job shares. */
static void scribble(const char *what)
{
    const int fd = atoi(getenv("WEFT_JOB"));
    struct weft_segment_header *h;
    struct stat st;

    if (fstat(fd, &st) != 0) {
        exit(97);
    }
    h = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (h == MAP_FAILED) {
        exit(97);
    }
    if (strcmp(what, "header") == 0) {
        memset(h, 0xff, sizeof(*h));
    } else if (strcmp(what, "slice") == 0) {
        memset(slice_of(h, VICTIM), 'A', (size_t)h->slice_bytes);
        slice_of(h, VICTIM)->code = 0;
        slice_of(h, VICTIM)->state = WEFT_SLICE_ABORTED;
    } else {
        scribble_states(h);
    }
    _exit(6);
}

/*
 * Until all others have left MPI, and wait: what is overwritten is in use before. They
 * tell by signals, because a message would leave its sender inside MPI for a moment. The
 * signal is blocked already (main).
 */
static void wait_for_others(int rank)
{
    sigset_t one;
    int victim = getpid();
    int size;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Bcast(&victim, 1, MPI_INT, VICTIM, MPI_COMM_WORLD);
    if (rank != VICTIM) {
        if (sigqueue(victim, SIGRTMIN, (union sigval){.sival_int = rank}) != 0) {
            exit(96);
        }
        return;
    }
    sigemptyset(&one);
    sigaddset(&one, SIGRTMIN);
    for (int i = 1; i < size; i++) {
        while (sigwaitinfo(&one, NULL) < 0) {
        }
    }
}

/* In all threads that there will be: it would end the process. */
static void block_signal(void)
{
    sigset_t one;

    sigemptyset(&one);
    sigaddset(&one, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
}

static void fail_inside(const char *how)
{
    if (strcmp(how, "segv") == 0) {
        raise(SIGSEGV);
    } else if (strcmp(how, "two") == 0) {
        die_with_two_in_mpi();
    } else if (strcmp(how, "kill") == 0) {
        raise(SIGKILL);
    } else if (strcmp(how, "exit-after") == 0) {
        exit(3);
    } else if (strcmp(how, "leave") == 0) {
        exit(0);
    } else if (strcmp(how, "thread") == 0) {
        abort_in_thread();
    } else if (strcmp(how, "mute") == 0) {
        close(atoi(getenv("PMI_FD")));
        MPI_Abort(MPI_COMM_WORLD, 5);
    } else if (strncmp(how, "abort-", 6) == 0) {
        MPI_Abort(MPI_COMM_WORLD, atoi(how + 6));
    } else if (strncmp(how, "scribble-", 9) == 0) {
        scribble(how + 9);
    } else if (strcmp(how, "truncate") == 0) {
        _exit(ftruncate(atoi(getenv("WEFT_JOB")), 4096) != 0 ? 6 : 7);
    } else if (strcmp(how, "comm") == 0) {
        MPI_Barrier(MPI_COMM_NULL);
    }
}

static void flood(void)
{
    for (;;) {
        puts("a line of a rank that does not know when to stop");
    }
}

static void wait_like(const char *others)
{
    if (strcmp(others, "flood") != 0) {
        puts("ready");
        fflush(stdout);
    }
    if (strcmp(others, "barrier") == 0) {
        MPI_Barrier(MPI_COMM_WORLD); /* rank 1 never comes */
    } else if (strcmp(others, "flood") == 0) {
        flood();
    } else if (strcmp(others, "stopped") == 0) {
        raise(SIGSTOP);
    }
    for (;;) {
        pause();
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "never";
    const char *others = argc > 2 ? argv[2] : "barrier";
    const char *rank_text = getenv("PMI_RANK");
    const bool is_scribbling = strncmp(how, "scribble-", 9) == 0;
    int rank;

    if (strcmp(others, "ignore") == 0) {
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
    }
    if (strcmp(how, "exit-before") == 0 && rank_text != NULL &&
        atoi(rank_text) == VICTIM) {
        exit(3);
    }
    if (is_scribbling) {
        block_signal();
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (is_scribbling) {
        wait_for_others(rank);
    }
    if (strcmp(others, "also") == 0) {
        MPI_Barrier(MPI_COMM_WORLD); /* all at once */
        fail_inside(how);
    } else if (rank == VICTIM && strcmp(how, "never") != 0) {
        usleep(A_MOMENT_US); /* the others are where they wait, more often than not */
        fail_inside(how);
    }
    wait_like(others);
}
