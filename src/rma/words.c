#include "rma/words.h"

#include "base/wait.h"

void weft_words_ring(struct weft_win_words *words)
{
    atomic_fetch_add_explicit(&words->bell, 1, memory_order_seq_cst);
    weft_wait_wake(&words->bell, &words->sleepers);
}
