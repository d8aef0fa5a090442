#include "progress/lock.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void weft_lock(void)
{
    pthread_mutex_lock(&lock);
}

void weft_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
