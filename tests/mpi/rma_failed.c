/*
 * rma_failed.c - chapter 12: rank 1 ends without MPI_Finalize while it holds a lock of a
 * window, while it is inside an epoch, and while operations on its memory are under way.
 * Nobody hangs: who depends on it gets MPI_ERR_PROC_ABORTED, the others go on.
 *
 *     mpiexec --keep-going -n N rma_failed CASE [kill | exit | fatal]
 *
 * As in failed.c.
 */
#include "victim.h"

enum { PART = LONG / 4, RANKS = 64 };

static MPI_Win win;
static MPI_Comm living; /* all but the victim */
static char buffer[PART];
static char result[PART];

static void done(int err)
{
    CHECK(err == MPI_SUCCESS);
}

/* The victim goes on when all others have come here: what they did before has no error.
 */
static void ready(void)
{
    for (int i = 1; i < size && is_victim(); i++) {
        int word;

        done(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
    }
    if (!is_victim()) {
        done(MPI_Send(&rank, 1, MPI_INT, VICTIM, TAG, MPI_COMM_WORLD));
    }
}

/* A window of `memory`, by which errors are returned unless they are to be fatal. */
static void open_window(void)
{
    done(MPI_Comm_split(MPI_COMM_WORLD, is_victim(), 0, &living));
    done(MPI_Win_create(memory, LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    if (!is_fatal) {
        done(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    }
    ready();
}

/* No one that lives uses the window any more. All members take part in freeing it, so
 * that fails; the window is gone. */
static void free_window(void)
{
    done(MPI_Barrier(living));
    done(MPI_Comm_free(&living));
    check_error(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
}

static MPI_Group group_of(int count, const int *ranks)
{
    MPI_Group world;
    MPI_Group group;

    done(MPI_Comm_group(MPI_COMM_WORLD, &world));
    done(MPI_Group_incl(world, count, ranks, &group));
    done(MPI_Group_free(&world));
    return group;
}

/* All but the victim. */
static MPI_Group group_of_others(void)
{
    MPI_Group world;
    MPI_Group group;

    done(MPI_Comm_group(MPI_COMM_WORLD, &world));
    done(MPI_Group_excl(world, 1, (int[]){VICTIM}, &group));
    done(MPI_Group_free(&world));
    return group;
}

static int put_to(int target)
{
    return MPI_Put(&rank, 1, MPI_INT, target, rank * (MPI_Aint)sizeof(int), 1, MPI_INT,
                   win);
}

/* The window still reaches those that live, and a lock there is granted. */
static void use_rank_0(void)
{
    int word = -1;

    done(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    done(put_to(0));
    done(MPI_Win_flush(0, win));
    done(MPI_Get(&word, 1, MPI_INT, 0, rank * (MPI_Aint)sizeof(int), 1, MPI_INT, win));
    done(MPI_Win_unlock(0, win));
    CHECK(word == rank);
}

/* The same, and nobody goes before the others are done: the window is not freed. */
static void use_and_leave(void)
{
    use_rank_0();
    done(MPI_Barrier(living));
    done(MPI_Comm_free(&living));
}

/* ---- locks ---- */

/* It has the lock of rank 0's memory, for which the others wait. */
static void holder(void)
{
    open_window();
    if (is_victim()) {
        done(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        done(put_to(0));
    }
    done(MPI_Barrier(MPI_COMM_WORLD));
    ready();
    if (is_victim()) {
        die_after(50);
    }
    use_and_leave();
}

/* It waits for that lock, between others. */
static void waiter(void)
{
    pthread_t killer;

    open_window();
    if (rank == 0) {
        done(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    }
    done(MPI_Barrier(MPI_COMM_WORLD));
    ready();
    if (is_victim()) {
        CHECK(pthread_create(&killer, NULL, kill_soon, NULL) == 0);
        done(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    }
    if (rank == 0) {
        sleep_ms(100);
        done(MPI_Win_unlock(0, win));
    }
    use_and_leave();
}

/* The lock is that of its own memory. */
static void lock_of_it(void)
{
    open_window();
    if (rank == 0) {
        done(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, VICTIM, 0, win));
    }
    done(MPI_Barrier(MPI_COMM_WORLD));
    ready();
    if (is_victim()) {
        die_after(50);
    }
    if (rank == 0) {
        wait_for_death();
        may_fail(put_to(VICTIM));
        check_error(MPI_Win_flush(VICTIM, win));
        check_error(MPI_Win_unlock(VICTIM, win));
    }
    check_error(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, VICTIM, 0, win));
    check_error(MPI_Win_lock(MPI_LOCK_SHARED, VICTIM, 0, win));
    use_rank_0();
    free_window();
}

/* ---- fences ---- */

/* It is inside an epoch: rank 0 has put something there, the others have not. */
static void fence(void)
{
    open_window();
    done(MPI_Win_fence(0, win));
    ready();
    if (is_victim()) {
        die_after(50);
    }
    may_fail(put_to(rank == 0 ? VICTIM : 0));
    check_error(MPI_Win_fence(0, win));
    may_fail(put_to(rank == 0 ? VICTIM : 0));
    check_error(MPI_Win_fence(0, win));
    check_error(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, win));
    free_window();
}

/* ---- post, start, complete, wait ---- */

/* It never posts. The last rank has posted to all others: where they give up, it does not
 * wait for them. */
static void start(void)
{
    const int last = size - 1;
    MPI_Group group;

    open_window();
    if (is_victim()) {
        die_after(50);
    }
    if (rank == last && size > 2) {
        int others[8];
        int count = 0;

        for (int r = 0; r < last; r++) {
            if (r != VICTIM) {
                others[count++] = r;
            }
        }
        group = group_of(count, others);
        done(MPI_Win_post(group, 0, win));
        done(MPI_Win_wait(win));
    } else {
        group = group_of(size > 2 ? 2 : 1, (int[]){VICTIM, last});
        done(MPI_Win_start(group, 0, win));
        check_error(MPI_Win_complete(win));
    }
    done(MPI_Group_free(&group));
    wait_for_death();
    use_rank_0();
    free_window();
}

/* It has posted, and dies before the others complete. */
static void complete(void)
{
    MPI_Group group;

    open_window();
    if (is_victim()) {
        group = group_of_others();
        done(MPI_Win_post(group, 0, win));
        ready();
        die();
    }
    group = group_of(1, (int[]){VICTIM});
    done(MPI_Win_start(group, 0, win));
    done(put_to(VICTIM));
    ready();
    wait_for_death();
    may_fail(put_to(VICTIM));
    check_error(MPI_Win_complete(win));
    done(MPI_Win_start(group, 0, win));
    check_error(MPI_Win_complete(win));
    done(MPI_Group_free(&group));
    use_rank_0();
    free_window();
}

/* The last rank completes twice, late, and puts another number each time. */
static void complete_twice(MPI_Group group, int number)
{
    for (int epoch = 0; epoch < 2; epoch++) {
        const int value = number + epoch;

        done(MPI_Win_start(group, 0, win));
        sleep_ms(20);
        done(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        done(MPI_Win_complete(win));
    }
}

/* The end of an epoch that was posted to the dead, too, and another one without it, if
 * there is somebody to complete that. */
static void wait_twice(MPI_Group group, int number)
{
    int value;

    check_error(MPI_Win_wait(win));
    if (size > 2) {
        done(MPI_Win_post(group, 0, win));
        done(MPI_Win_wait(win));
        memcpy(&value, memory, sizeof(value));
        CHECK(value == number + 1);
    }
}

/* Rank 0 has posted to the victim and to the last rank: before the victim dies, and again
 * when it is dead. Each time it is told of the failure, and what the last rank completes
 * then does not end the next epoch. */
static void post(void)
{
    const int last = size - 1;
    MPI_Group both;
    MPI_Group alone;

    open_window();
    both = group_of(size > 2 ? 2 : 1, (int[]){VICTIM, last});
    alone = group_of(1, (int[]){rank == 0 ? last : 0});
    if (rank == 0) {
        done(MPI_Win_post(both, 0, win));
    }
    ready();
    if (is_victim()) {
        die_after(50);
    }
    wait_for_death();
    for (int round = 0; round < 2; round++) {
        if (rank == 0 && round > 0) {
            done(MPI_Win_post(both, 0, win));
        }
        if (rank == 0) {
            wait_twice(alone, 10 * round + 5);
        } else if (rank == last) {
            complete_twice(alone, 10 * round + 5);
        }
    }
    done(MPI_Group_free(&both));
    done(MPI_Group_free(&alone));
    use_rank_0();
    free_window();
}

/* It has started, and never completes: some wait, some test. */
static void wait_or_test(void)
{
    MPI_Group group;
    int flag = 0;
    int err = MPI_SUCCESS;

    open_window();
    if (is_victim()) {
        group = group_of_others();
        done(MPI_Win_start(group, 0, win));
        for (int r = 0; r < size; r++) {
            done(r != VICTIM ? put_to(r) : MPI_SUCCESS);
        }
        ready();
        die_after(50);
    }
    group = group_of(1, (int[]){VICTIM});
    done(MPI_Win_post(group, 0, win));
    ready();
    if (rank % 4 == 0) {
        err = MPI_Win_wait(win);
    }
    while (rank % 4 != 0 && err == MPI_SUCCESS) {
        err = MPI_Win_test(win, &flag);
        CHECK(err != MPI_SUCCESS || !flag);
    }
    check_error(err);
    done(MPI_Group_free(&group));
    use_rank_0();
    free_window();
}

/* ---- operations ---- */

/* One of each kind, much or little, from a displacement on. */
static int operate_at(int target, MPI_Aint at, int bytes)
{
    int err = MPI_Put(buffer, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, win);

    if (err == MPI_SUCCESS) {
        err = MPI_Get(result, bytes, MPI_BYTE, target, at + PART, bytes, MPI_BYTE, win);
    }
    if (err == MPI_SUCCESS) {
        err = MPI_Accumulate(buffer, bytes / 4, MPI_INT32_T, target, at + PART, bytes / 4,
                             MPI_INT32_T, MPI_SUM, win);
    }
    if (err == MPI_SUCCESS) {
        err = MPI_Win_flush_local(target, win);
    }
    if (err == MPI_SUCCESS) {
        err = MPI_Get_accumulate(buffer, bytes / 4, MPI_INT32_T, result, bytes / 4,
                                 MPI_INT32_T, target, at + PART, bytes / 4, MPI_INT32_T,
                                 MPI_BXOR, win);
    }
    return err == MPI_SUCCESS ? MPI_Win_flush(target, win) : err;
}

static int operate(int target, int bytes)
{
    return operate_at(target, 0, bytes);
}

/* Everybody and the victim do all kinds to each other, until it is gone; those that live
 * reach each other then. */
static void operations(void)
{
    const int next = (rank + 1) % size;
    const int other = next == VICTIM ? (rank + 2) % size : next;
    pthread_t killer;
    int err = MPI_SUCCESS;

    open_window();
    done(MPI_Win_lock_all(0, win));
    if (is_victim()) {
        CHECK(pthread_create(&killer, NULL, kill_soon, NULL) == 0);
    }
    for (int round = 0; err == MPI_SUCCESS; round++) {
        const int target = is_victim() ? round % size : VICTIM;

        err = operate(target, round % 2 == 0 ? PART : 64);
    }
    check_error(err);
    may_fail(operate(VICTIM, 64));
    done(operate(other, PART));
    may_fail(MPI_Win_unlock_all(win)); /* unless its lock was not taken yet */
    use_rank_0();
    free_window();
}

/* A dynamic window: the victim attaches and detaches until it is gone, while others
 * operate on what it has attached all the time, and then on each other. */
static void attached(void)
{
    static MPI_Aint bases[RANKS];
    const int next = (rank + 1) % size;
    const int other = next == VICTIM ? (rank + 2) % size : next;
    static char spare[64];
    pthread_t killer;
    int err = MPI_SUCCESS;

    CHECK(size <= RANKS);
    done(MPI_Comm_split(MPI_COMM_WORLD, is_victim(), 0, &living));
    done(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    if (!is_fatal) {
        done(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    }
    done(MPI_Win_attach(win, memory, LONG));
    done(MPI_Get_address(memory, &bases[rank]));
    done(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, bases, 1, MPI_AINT,
                       MPI_COMM_WORLD));
    ready();
    done(MPI_Win_lock_all(0, win));
    if (is_victim()) {
        CHECK(pthread_create(&killer, NULL, kill_soon, NULL) == 0);
    }
    for (int round = 0; err == MPI_SUCCESS; round++) {
        if (!is_victim()) {
            err = operate_at(VICTIM, bases[VICTIM], round % 2 == 0 ? PART : 64);
        } else if (round % 2 == 0) {
            done(MPI_Win_attach(win, spare, sizeof(spare)));
        } else {
            done(MPI_Win_detach(win, spare));
        }
    }
    check_error(err);
    may_fail(operate_at(VICTIM, bases[VICTIM], 64));
    done(operate_at(other, bases[other], PART));
    may_fail(MPI_Win_unlock_all(win));
    free_window();
}

/* Puts or gets alone, which go straight to memory where that is reached, to a target
 * outside MPI. The origin finds out in an operation, or in the flush of this round. */
static int move(int round, bool is_put)
{
    const int bytes = round % 4 == 0 ? PART : 64;
    int err = MPI_SUCCESS;

    for (int i = 0; i < 100 && err == MPI_SUCCESS; i++) {
        const MPI_Aint at = i * (PART / 100);

        err = is_put ? MPI_Put(buffer, bytes, MPI_BYTE, VICTIM, at, bytes, MPI_BYTE, win)
                     : MPI_Get(result, bytes, MPI_BYTE, VICTIM, at, bytes, MPI_BYTE, win);
    }
    if (err == MPI_SUCCESS && round % 3 == 1) {
        err = MPI_Win_flush_local(VICTIM, win);
    }
    if (err == MPI_SUCCESS) {
        err = round % 3 == 2 ? MPI_Win_flush_all(win) : MPI_Win_flush(VICTIM, win);
    }
    return err;
}

static void move_until_gone(bool is_put)
{
    pthread_t killer;
    int err = MPI_SUCCESS;

    open_window();
    done(MPI_Win_lock_all(0, win));
    if (is_victim()) {
        CHECK(pthread_create(&killer, NULL, kill_soon, NULL) == 0);
        sleep_ms(10000);
    }
    for (int round = 0; err == MPI_SUCCESS; round++) {
        err = move(round, is_put);
    }
    check_error(err);
    wait_for_death();
    check_error(move(0, is_put));
    check_error(move(2, is_put));
    may_fail(MPI_Win_unlock_all(win));
    use_rank_0();
    free_window();
}

static void puts_alone(void)
{
    move_until_gone(true);
}

static void gets_alone(void)
{
    move_until_gone(false);
}

/* One of each kind, all of which must end; those that do not begin are MPI_REQUEST_NULL.
 */
static int begin_all(MPI_Request r[4])
{
    enum { COUNT = PART / 4 };

    int err = MPI_Rput(buffer, PART, MPI_BYTE, VICTIM, 0, PART, MPI_BYTE, win, &r[0]);

    if (err == MPI_SUCCESS) {
        err = MPI_Rget(result, PART, MPI_BYTE, VICTIM, 0, PART, MPI_BYTE, win, &r[1]);
    }
    if (err == MPI_SUCCESS) {
        err = MPI_Raccumulate(buffer, COUNT, MPI_INT32_T, VICTIM, PART, COUNT,
                              MPI_INT32_T, MPI_SUM, win, &r[2]);
    }
    if (err == MPI_SUCCESS) {
        err =
            MPI_Rget_accumulate(NULL, 0, MPI_INT32_T, memory, COUNT, MPI_INT32_T, VICTIM,
                                PART, COUNT, MPI_INT32_T, MPI_NO_OP, win, &r[3]);
    }
    return err;
}

/* With requests; also those that are begun when it is known. */
static void requests(void)
{
    enum { KINDS = 4 };

    MPI_Request r[KINDS];
    MPI_Status statuses[KINDS];
    pthread_t killer;
    int err = MPI_SUCCESS;

    open_window();
    done(MPI_Win_lock_all(0, win));
    if (is_victim()) {
        CHECK(pthread_create(&killer, NULL, kill_soon, NULL) == 0);
        sleep_ms(10000);
    }
    while (err == MPI_SUCCESS) {
        int end;

        for (int i = 0; i < KINDS; i++) {
            r[i] = MPI_REQUEST_NULL;
        }
        err = begin_all(r);
        may_fail(err);
        end = MPI_Waitall(KINDS, r, statuses);
        for (int i = 0; i < KINDS; i++) {
            CHECK(r[i] == MPI_REQUEST_NULL);
            if (end == MPI_ERR_IN_STATUS) {
                may_fail(statuses[i].MPI_ERROR);
            }
        }
        err = err == MPI_SUCCESS ? end : err;
        err = err == MPI_SUCCESS ? MPI_Win_flush(VICTIM, win) : err;
    }
    wait_for_death();
    err = MPI_Rget(result, 8, MPI_BYTE, VICTIM, 0, 8, MPI_BYTE, win, &r[0]);
    check_error(err == MPI_SUCCESS ? MPI_Wait(&r[0], MPI_STATUS_IGNORE) : err);
    may_fail(MPI_Win_unlock_all(win));
    use_rank_0();
    free_window();
}

/* ---- making and freeing ---- */

static void end_made(int err, MPI_Win *made)
{
    may_fail(err);
    if (err == MPI_SUCCESS) {
        done(MPI_Win_set_errhandler(*made, MPI_ERRORS_RETURN));
        may_fail(MPI_Win_free(made));
    }
}

static void make(void)
{
    MPI_Win made;
    void *base;

    if (is_victim()) {
        die_after(50);
    }
    check_error(MPI_Win_create(memory, LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made));
    end_made(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made), &made);
    end_made(MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made),
             &made);
    end_made(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &made), &made);
}

static void free_it(void)
{
    open_window();
    if (is_victim()) {
        die_after(50);
    }
    free_window();
}

/* Puts to rank 0, and says how that ended. */
static int class_of_put(void)
{
    int class = MPI_SUCCESS;
    int err = MPI_Put(buffer, PART, MPI_BYTE, 0, 0, PART, MPI_BYTE, win);

    err = err == MPI_SUCCESS ? MPI_Win_flush(0, win) : err;
    done(MPI_Error_class(err, &class));
    return class;
}

/* Rank 0 frees the window at once, the others still use its part: that memory is refused,
 * or was there still. It is rank 0's alone when MPI_Win_free has returned. */
static void freed_early(void)
{

    open_window();
    done(MPI_Win_lock_all(0, win));
    if (is_victim()) {
        die_after(50);
    }
    wait_for_death();
    if (rank == 0) {
        may_fail(MPI_Win_unlock_all(win));
        check_error(MPI_Win_free(&win));
        memset(memory, 11, LONG);
    }
    if (rank != 0) {
        int class = MPI_SUCCESS;

        for (int i = 0; i < 100 && class == MPI_SUCCESS; i++) {
            class = class_of_put();
        }
        CHECK(class == MPI_SUCCESS || class == MPI_ERR_RMA_RANGE);
    }
    done(MPI_Barrier(living));
    if (rank != 0) {
        CHECK(class_of_put() == MPI_ERR_RMA_RANGE);
        may_fail(MPI_Win_unlock_all(win));
        check_error(MPI_Win_free(&win));
    }
    done(MPI_Barrier(living));
    for (int i = 0; i < LONG && rank == 0; i++) {
        CHECK(memory[i] == 11);
    }
    done(MPI_Comm_free(&living));
}

static const struct gone_case cases[] = {
    {"holder", holder},     {"waiter", waiter},
    {"lock", lock_of_it},   {"fence", fence},
    {"start", start},       {"complete", complete},
    {"wait", wait_or_test}, {"operations", operations},
    {"requests", requests}, {"post", post},
    {"make", make},         {"free", free_it},
    {"early", freed_early}, {"attached", attached},
    {"puts", puts_alone},   {"gets", gets_alone},
};

int main(int argc, char **argv)
{
    return run_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
