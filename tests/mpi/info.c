/* info.c - chapter 10: info objects, before MPI_Init too; chapter 7.4.4: hints. */
#include "check.h"

static void holds(MPI_Info info, const char *key, const char *value)
{
    char text[MPI_MAX_INFO_VAL] = "?";
    int length = MPI_MAX_INFO_VAL;
    int flag = -1;

    CHECK(MPI_Info_get_string(info, key, &length, text, &flag) == MPI_SUCCESS);
    if (value == NULL) {
        CHECK(flag == 0 && length == MPI_MAX_INFO_VAL && strcmp(text, "?") == 0);
    } else {
        CHECK(flag == 1 && length == (int)strlen(value) + 1 && strcmp(text, value) == 0);
    }
}

static void keys_are(MPI_Info info, const char *const *keys)
{
    char key[MPI_MAX_INFO_KEY];
    int count = -1;
    int n = 0;

    CHECK(MPI_Info_get_nkeys(info, &count) == MPI_SUCCESS);
    for (; keys[n] != NULL; n++) {
        CHECK(MPI_Info_get_nthkey(info, n, key) == MPI_SUCCESS);
        CHECK(strcmp(key, keys[n]) == 0);
    }
    CHECK(n == count);
}

/* The order of keys is that of their first setting. */
static void keep_keys_in_order(void)
{
    MPI_Info info;
    MPI_Info copy;

    CHECK(MPI_Info_create(&info) == MPI_SUCCESS);
    keys_are(info, (const char *[]){NULL});
    CHECK(MPI_Info_set(info, "zebra", "1") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "ape", "2") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "mole", "") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "zebra", "four words of text") == MPI_SUCCESS);
    keys_are(info, (const char *[]){"zebra", "ape", "mole", NULL});
    holds(info, "zebra", "four words of text");
    holds(info, "mole", "");
    holds(info, "Ape", NULL);

    CHECK(MPI_Info_dup(info, &copy) == MPI_SUCCESS && copy != info);
    CHECK(MPI_Info_delete(info, "ape") == MPI_SUCCESS);
    keys_are(info, (const char *[]){"zebra", "mole", NULL});
    keys_are(copy, (const char *[]){"zebra", "ape", "mole", NULL});
    for (int i = 0; i < 300; i++) {
        char key[16];

        snprintf(key, sizeof(key), "key %d", i);
        CHECK(MPI_Info_set(info, key, key) == MPI_SUCCESS);
    }
    holds(info, "key 299", "key 299");
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS && info == MPI_INFO_NULL);
    holds(copy, "ape", "2");
    CHECK(MPI_Info_free(&copy) == MPI_SUCCESS);
}

static void short_buffers(void)
{
    MPI_Info info;
    char text[16];
    int length;
    int flag = -1;

    CHECK(MPI_Info_create(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "key", "0123456789") == MPI_SUCCESS);
    memset(text, 'x', sizeof(text));
    length = 0;
    CHECK(MPI_Info_get_string(info, "key", &length, NULL, &flag) == MPI_SUCCESS);
    CHECK(flag == 1 && length == 11);
    length = 4;
    CHECK(MPI_Info_get_string(info, "key", &length, text, &flag) == MPI_SUCCESS);
    CHECK(flag == 1 && length == 11 && strcmp(text, "012") == 0 && text[4] == 'x');
    CHECK(MPI_Info_get(info, "key", 5, text, &flag) == MPI_SUCCESS);
    CHECK(flag == 1 && strcmp(text, "01234") == 0 && text[6] == 'x');
    CHECK(MPI_Info_get(info, "none", 5, text, &flag) == MPI_SUCCESS && flag == 0);
    CHECK(MPI_Info_get_valuelen(info, "key", &length, &flag) == MPI_SUCCESS);
    CHECK(flag == 1 && length == 10);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
}

/* What it tells is the same before and after MPI_Init. */
static void environment(const char *program)
{
    MPI_Info info;
    MPI_Info copy;
    char key[MPI_MAX_INFO_KEY];
    int count = -1;
    int same = -1;

    CHECK(MPI_Info_create_env(0, NULL, &info) == MPI_SUCCESS);
    holds(info, "command", program);
    holds(MPI_INFO_ENV, "command", program);
    CHECK(MPI_Info_get_nkeys(info, &count) == MPI_SUCCESS && count >= 4);
    CHECK(MPI_Info_get_nkeys(MPI_INFO_ENV, &same) == MPI_SUCCESS && same == count);
    CHECK(MPI_Info_get_nthkey(MPI_INFO_ENV, count - 1, key) == MPI_SUCCESS);
    CHECK(strcmp(key, "wdir") == 0);
    CHECK(MPI_Info_dup(MPI_INFO_ENV, &copy) == MPI_SUCCESS);
    holds(copy, "command", program);
    CHECK(MPI_Info_free(&copy) == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "command", "mine") == MPI_SUCCESS);
    holds(MPI_INFO_ENV, "command", program);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
}

static void wrong_arguments(void)
{
    static char long_key[MPI_MAX_INFO_KEY + 1];
    static char long_value[MPI_MAX_INFO_VAL + 1];
    char text[MPI_MAX_INFO_VAL];
    MPI_Info info;
    MPI_Info stale;
    MPI_Info environment_info = MPI_INFO_ENV;
    int n = 4;
    int flag;

    memset(long_key, 'k', MPI_MAX_INFO_KEY);
    memset(long_value, 'v', MPI_MAX_INFO_VAL);
    CHECK(MPI_Info_create(&info) == MPI_SUCCESS);
    IS_ERROR(MPI_Info_set(info, NULL, "v"), MPI_ERR_INFO_KEY);
    IS_ERROR(MPI_Info_set(info, "", "v"), MPI_ERR_INFO_KEY);
    IS_ERROR(MPI_Info_set(info, long_key, "v"), MPI_ERR_INFO_KEY);
    IS_ERROR(MPI_Info_set(info, "k", NULL), MPI_ERR_INFO_VALUE);
    IS_ERROR(MPI_Info_set(info, "k", long_value), MPI_ERR_INFO_VALUE);
    long_key[MPI_MAX_INFO_KEY - 1] = '\0';
    long_value[MPI_MAX_INFO_VAL - 1] = '\0';
    CHECK(MPI_Info_set(info, long_key, long_value) == MPI_SUCCESS);
    holds(info, long_key, long_value);
    CHECK(MPI_Info_get_nthkey(info, 0, text) == MPI_SUCCESS);
    CHECK(strcmp(text, long_key) == 0);
    IS_ERROR(MPI_Info_delete(info, "none"), MPI_ERR_INFO_NOKEY);
    IS_ERROR(MPI_Info_get_nthkey(info, 1, text), MPI_ERR_ARG);
    IS_ERROR(MPI_Info_get_nthkey(info, -1, text), MPI_ERR_ARG);
    IS_ERROR(MPI_Info_get(info, "k", -1, text, &flag), MPI_ERR_ARG);
    IS_ERROR(MPI_Info_get_string(info, "", &n, text, &flag), MPI_ERR_INFO_KEY);
    IS_ERROR(MPI_Info_get_string(info, long_key, NULL, text, &flag), MPI_ERR_ARG);
    IS_ERROR(MPI_Info_get_string(info, long_key, &n, NULL, &flag), MPI_ERR_ARG);
    stale = info;
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    IS_ERROR(MPI_Info_free(&stale), MPI_ERR_INFO);
    IS_ERROR(MPI_Info_set(stale, "k", "v"), MPI_ERR_INFO);
    IS_ERROR(MPI_Info_free(&info), MPI_ERR_INFO);
    IS_ERROR(MPI_Info_get_nkeys(MPI_INFO_NULL, &n), MPI_ERR_INFO);
    IS_ERROR(MPI_Info_set(MPI_INFO_ENV, "k", "v"), MPI_ERR_INFO);
    IS_ERROR(MPI_Info_delete(MPI_INFO_ENV, "wdir"), MPI_ERR_INFO);
    IS_ERROR(MPI_Info_free(&environment_info), MPI_ERR_INFO);
    IS_ERROR(MPI_Info_create(NULL), MPI_ERR_ARG);
}

static void hints_of_communicators(void)
{
    MPI_Info info;
    MPI_Info used;

    CHECK(MPI_Comm_get_info(MPI_COMM_WORLD, &used) == MPI_SUCCESS);
    holds(used, "mpi_assert_no_any_tag", "false");
    holds(used, "mpi_memory_alloc_kinds", "mpi,system");
    CHECK(MPI_Info_free(&used) == MPI_SUCCESS);

    CHECK(MPI_Info_create(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "mpi_assert_exact_length", "true") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "mpi_assert_no_any_source", "maybe") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "no_such_hint", "true") == MPI_SUCCESS);
    CHECK(MPI_Comm_set_info(MPI_COMM_WORLD, info) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_info(MPI_COMM_WORLD, MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_info(MPI_COMM_WORLD, &used) == MPI_SUCCESS);
    holds(used, "mpi_assert_no_any_tag", "true");
    holds(used, "mpi_assert_no_any_source", "false");
    holds(used, "mpi_assert_exact_length", "true");
    holds(used, "mpi_assert_allow_overtaking", "false");
    holds(used, "no_such_hint", NULL);
    CHECK(MPI_Info_free(&used) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_info(MPI_COMM_SELF, &used) == MPI_SUCCESS);
    holds(used, "mpi_assert_no_any_tag", "false");
    CHECK(MPI_Info_free(&used) == MPI_SUCCESS);

    CHECK(MPI_Info_set(info, "mpi_assert_no_any_tag", "false") == MPI_SUCCESS);
    CHECK(MPI_Comm_set_info(MPI_COMM_WORLD, info) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_info(MPI_COMM_WORLD, &used) == MPI_SUCCESS);
    holds(used, "mpi_assert_no_any_tag", "false");
    CHECK(MPI_Info_free(&used) == MPI_SUCCESS);
    used = info;
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    IS_ERROR(MPI_Comm_set_info(MPI_COMM_WORLD, used), MPI_ERR_INFO);
    IS_ERROR(MPI_Comm_get_info(MPI_COMM_NULL, &used), MPI_ERR_COMM);
    IS_ERROR(MPI_Comm_get_info(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    keep_keys_in_order();
    environment(argv[0]);
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    keep_keys_in_order();
    short_buffers();
    environment(argv[0]);
    wrong_arguments();
    hints_of_communicators();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    keep_keys_in_order();
    return 0;
}
