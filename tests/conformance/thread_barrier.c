/*
 * thread_barrier.c - the barrier of MPICH's threaded test programs, asleep.
 *
 * Theirs polls a mutex until the last thread has come. With five ranks of five threads on
 * two processors that takes a slice for every thread that polls, and a program of some
 * hundred barriers does not end within its time limit on a busy machine. The linker puts
 * this one in its place (--wrap).
 */
#include <pthread.h>

int __real_MTest_thread_barrier(int threads);
int __wrap_MTest_thread_barrier(int threads);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_open = PTHREAD_COND_INITIALIZER;
static int came;
static unsigned generation;

/* A negative number stands for the threads that were started; only the original knows it.
 */
int __wrap_MTest_thread_barrier(int threads)
{
    unsigned mine;

    if (threads < 0) {
        return __real_MTest_thread_barrier(threads);
    }
    pthread_mutex_lock(&mutex);
    mine = generation;
    if (++came >= threads) {
        came = 0;
        generation++;
        pthread_cond_broadcast(&is_open);
    }
    while (mine == generation) {
        pthread_cond_wait(&is_open, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    return 0;
}
