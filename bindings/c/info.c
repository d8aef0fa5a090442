/*
 * info.c - MPI-5.0 chapter 10: info objects; chapter 7.4.4: those of communicators.
 */
#include "binding.h"

#include "check/info.h"
#include "check/rc.h"
#include "core/hints.h"
#include "engine/lock.h"

#include <stdio.h>
#include <string.h>

/* For calls that make one: `rc` is what came of it. */
static int give(const char *function, struct weft_comm *comm, enum weft_rc rc,
                const struct weft_info *made, MPI_Info *out)
{
    if (rc == WEFT_OK) {
        *out = weft_info_handle(made);
    }
    return weft_raise_rc(comm, rc, function);
}

int PMPI_Info_create(MPI_Info *info)
{
    struct weft_info *made = NULL;
    enum weft_rc rc;
    int err = weft_check_out("MPI_Info_create", NULL, info, "info");

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    rc = weft_info_create(&made);
    weft_object_unlock();
    return give("MPI_Info_create", NULL, rc, made, info);
}
WEFT_WEAK_ALIAS(MPI_Info_create, PMPI_Info_create);

/* The arguments are not needed: the kernel knows them, and MPI_INFO_ENV has no others. */
int PMPI_Info_create_env(int argc, char *argv[], MPI_Info *info)
{
    struct weft_info *made = NULL;
    const struct weft_info *environment;
    enum weft_rc rc = WEFT_ERR_NOMEM;
    int err = weft_check_out("MPI_Info_create_env", NULL, info, "info");

    (void)argc;
    (void)argv;
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    environment = weft_info_from_handle(MPI_INFO_ENV);
    if (environment != NULL) {
        rc = weft_info_dup(environment, &made);
    }
    weft_object_unlock();
    return give("MPI_Info_create_env", NULL, rc, made, info);
}
WEFT_WEAK_ALIAS(MPI_Info_create_env, PMPI_Info_create_env);

int PMPI_Info_dup(MPI_Info info, MPI_Info *newinfo)
{
    struct weft_info *from;
    struct weft_info *made = NULL;
    enum weft_rc rc;
    int err = weft_check_info("MPI_Info_dup", NULL, info, &from);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Info_dup", NULL, newinfo, "newinfo");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    rc = weft_info_dup(from, &made);
    weft_object_unlock();
    return give("MPI_Info_dup", NULL, rc, made, newinfo);
}
WEFT_WEAK_ALIAS(MPI_Info_dup, PMPI_Info_dup);

/* One that may be changed. */
static int check_own(const char *function, MPI_Info handle, struct weft_info **out)
{
    if (handle == MPI_INFO_ENV) {
        return weft_raise(function, WEFT_E_INFO_ENV);
    }
    return weft_check_info(function, NULL, handle, out);
}

int PMPI_Info_free(MPI_Info *info)
{
    struct weft_info *gone;
    int err = weft_check_out("MPI_Info_free", NULL, info, "info");

    if (err == MPI_SUCCESS) {
        err = check_own("MPI_Info_free", *info, &gone);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    weft_info_free(gone);
    weft_object_unlock();
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Info_free, PMPI_Info_free);

static int check_value(const char *function, const char *value)
{
    if (value == NULL) {
        return weft_raise(function, WEFT_E_INFO_VALUE_NULL);
    }
    if (strnlen(value, MPI_MAX_INFO_VAL) == MPI_MAX_INFO_VAL) {
        return weft_raise(function, WEFT_E_INFO_VALUE_LONG, value, MPI_MAX_INFO_VAL - 1);
    }
    return MPI_SUCCESS;
}

int PMPI_Info_set(MPI_Info info, const char *key, const char *value)
{
    static const char function[] = "MPI_Info_set";
    struct weft_info *to;
    enum weft_rc rc;
    int err = check_own(function, info, &to);

    if (err == MPI_SUCCESS) {
        err = weft_check_info_key(function, key);
    }
    if (err == MPI_SUCCESS) {
        err = check_value(function, value);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    rc = weft_info_set(to, key, value);
    weft_object_unlock();
    return weft_raise_rc(NULL, rc, function);
}
WEFT_WEAK_ALIAS(MPI_Info_set, PMPI_Info_set);

int PMPI_Info_delete(MPI_Info info, const char *key)
{
    static const char function[] = "MPI_Info_delete";
    struct weft_info *from;
    bool was_there;
    int err = check_own(function, info, &from);

    if (err == MPI_SUCCESS) {
        err = weft_check_info_key(function, key);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    was_there = weft_info_delete(from, key);
    weft_object_unlock();
    return was_there ? MPI_SUCCESS : weft_raise(function, WEFT_E_INFO_NO_KEY, key);
}
WEFT_WEAK_ALIAS(MPI_Info_delete, PMPI_Info_delete);

int PMPI_Info_get_nkeys(MPI_Info info, int *nkeys)
{
    struct weft_info *from;
    int err = weft_check_info("MPI_Info_get_nkeys", NULL, info, &from);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Info_get_nkeys", NULL, nkeys, "nkeys");
    }
    if (err == MPI_SUCCESS) {
        weft_object_lock();
        *nkeys = weft_info_count(from);
        weft_object_unlock();
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Info_get_nkeys, PMPI_Info_get_nkeys);

int PMPI_Info_get_nthkey(MPI_Info info, int n, char *key)
{
    static const char function[] = "MPI_Info_get_nthkey";
    struct weft_info *from;
    int count;
    int err = weft_check_info(function, NULL, info, &from);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, key, "key");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    count = weft_info_count(from);
    if (n >= 0 && n < count) {
        snprintf(key, MPI_MAX_INFO_KEY, "%s", weft_info_key(from, n));
    }
    weft_object_unlock();
    return n >= 0 && n < count ? MPI_SUCCESS
                               : weft_raise(function, WEFT_E_INFO_NTH, n, count);
}
WEFT_WEAK_ALIAS(MPI_Info_get_nthkey, PMPI_Info_get_nthkey);

/* What reading a value needs: the object, the key, and where `flag` goes. */
static int check_read(const char *function, MPI_Info info, const char *key,
                      const int *flag, struct weft_info **from)
{
    int err = weft_check_info(function, NULL, info, from);

    if (err == MPI_SUCCESS) {
        err = weft_check_info_key(function, key);
    }
    return err != MPI_SUCCESS ? err : weft_check_out(function, NULL, flag, "flag");
}

/*
 * Copies the value, if there is one, with its end into a buffer of `size` bytes; *length
 * is that of the whole value.
 */
static int read_value(const struct weft_info *from, const char *key, char *buffer,
                      size_t size, int *length)
{
    const char *value;

    weft_object_lock();
    value = weft_info_get(from, key);
    if (value != NULL) {
        *length = (int)strlen(value);
        if (size > 0) {
            snprintf(buffer, size, "%s", value);
        }
    }
    weft_object_unlock();
    return value != NULL;
}

int PMPI_Info_get(MPI_Info info, const char *key, int valuelen, char *value, int *flag)
{
    static const char function[] = "MPI_Info_get";
    struct weft_info *from;
    int length;
    int err = check_read(function, info, key, flag, &from);

    if (err == MPI_SUCCESS && valuelen < 0) {
        err = weft_raise(function, WEFT_E_INFO_VALUELEN, valuelen);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, value, "value");
    }
    if (err == MPI_SUCCESS) {
        *flag = read_value(from, key, value, (size_t)valuelen + 1, &length);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Info_get, PMPI_Info_get);

int PMPI_Info_get_valuelen(MPI_Info info, const char *key, int *valuelen, int *flag)
{
    static const char function[] = "MPI_Info_get_valuelen";
    struct weft_info *from;
    int err = check_read(function, info, key, flag, &from);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, valuelen, "valuelen");
    }
    if (err == MPI_SUCCESS) {
        *flag = read_value(from, key, NULL, 0, valuelen);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Info_get_valuelen, PMPI_Info_get_valuelen);

int PMPI_Info_get_string(MPI_Info info, const char *key, int *buflen, char *value,
                         int *flag)
{
    static const char function[] = "MPI_Info_get_string";
    struct weft_info *from;
    int length;
    int err = check_read(function, info, key, flag, &from);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, buflen, "buflen");
    }
    if (err == MPI_SUCCESS && *buflen < 0) {
        err = weft_raise(function, WEFT_E_INFO_BUFLEN, *buflen);
    }
    if (err == MPI_SUCCESS && *buflen > 0) {
        err = weft_check_out(function, NULL, value, "value");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    *flag = read_value(from, key, value, (size_t)*buflen, &length);
    if (*flag) {
        *buflen = length + 1;
    }
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Info_get_string, PMPI_Info_get_string);

/* ---- communicators ---- */

int PMPI_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
    struct weft_comm *c;
    struct weft_info *from;
    int err = weft_check_comm("MPI_Comm_set_info", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_info_or_null("MPI_Comm_set_info", c, info, &from);
    }
    if (err == MPI_SUCCESS) {
        weft_lock();
        weft_object_lock();
        weft_hints_update(&c->hints, from);
        weft_object_unlock();
        weft_unlock();
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Comm_set_info, PMPI_Comm_set_info);

int PMPI_Comm_get_info(MPI_Comm comm, MPI_Info *info_used)
{
    struct weft_comm *c;
    struct weft_info *made = NULL;
    enum weft_rc rc;
    int err = weft_check_comm("MPI_Comm_get_info", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Comm_get_info", c, info_used, "info_used");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    rc = weft_hints_to_info(c->hints, &made);
    weft_object_unlock();
    return give("MPI_Comm_get_info", c, rc, made, info_used);
}
WEFT_WEAK_ALIAS(MPI_Comm_get_info, PMPI_Comm_get_info);
