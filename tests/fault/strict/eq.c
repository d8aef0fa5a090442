/*
 * eq.c - the event queue: tcp's, with our objects in its events.
 *
 * The event FI_CONNECTED, once read, is what permits an endpoint to send.
 */
#include "strict.h"

#include <stdlib.h>

/* tcp's objects carry ours as their context. */
static struct fid *ours(const struct fid *tcp)
{
    return tcp == NULL ? NULL : tcp->context;
}

static void note_connected(struct fid *fid)
{
    if (fid != NULL && fid->fclass == FI_CLASS_EP) {
        strict_lock();
        ((struct strict_ep *)fid)->is_connected = true;
        strict_unlock();
    }
}

static ssize_t translate(ssize_t length, const uint32_t *event, void *buffer,
                         uint64_t flags)
{
    struct fi_eq_cm_entry *entry = buffer;
    int err;

    if (length < (ssize_t)sizeof(*entry)) {
        return length; /* nothing there, or an error, and no event */
    }
    entry->fid = ours(entry->fid);
    if (*event == FI_CONNECTED && (flags & FI_PEEK) == 0) {
        note_connected(entry->fid);
    }
    if (*event == FI_CONNREQ) {
        err = strict_info_from_tcp(entry->info);
        return err != 0 ? err : length;
    }
    return length;
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buffer, size_t length,
                       uint64_t flags)
{
    struct strict_eq *eq = (struct strict_eq *)fid;
    const ssize_t got = fi_eq_read(eq->tcp, event, buffer, length, flags);

    return translate(got, event, buffer, flags);
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buffer, size_t length,
                        int timeout, uint64_t flags)
{
    struct strict_eq *eq = (struct strict_eq *)fid;
    const ssize_t got = fi_eq_sread(eq->tcp, event, buffer, length, timeout, flags);

    return translate(got, event, buffer, flags);
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *entry,
                          uint64_t flags)
{
    struct strict_eq *eq = (struct strict_eq *)fid;
    const ssize_t length = fi_eq_readerr(eq->tcp, entry, flags);

    if (length > 0 && entry->fid != NULL) {
        entry->fid = ours(entry->fid);
        entry->context = entry->fid->context;
    }
    return length;
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno, const void *err_data,
                               char *buffer, size_t length)
{
    struct strict_eq *eq = (struct strict_eq *)fid;

    return fi_eq_strerror(eq->tcp, prov_errno, err_data, buffer, length);
}

static int eq_control(struct fid *fid, int command, void *arg)
{
    return fi_control(&((struct strict_eq *)fid)->tcp->fid, command, arg);
}

static int eq_close(struct fid *fid)
{
    struct strict_eq *eq = (struct strict_eq *)fid;
    const int err = fi_close(&eq->tcp->fid);

    if (err == 0) {
        free(eq);
    }
    return err;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = eq_close,
    .control = eq_control,
};

static struct fi_ops_eq eq_ops = {
    .size = sizeof(struct fi_ops_eq),
    .read = eq_read,
    .readerr = eq_readerr,
    .sread = eq_sread,
    .strerror = eq_strerror,
};

int strict_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
                   struct fid_eq **out, void *context)
{
    struct strict_eq *eq = calloc(1, sizeof(*eq));
    int err;

    if (eq == NULL) {
        return -FI_ENOMEM;
    }
    err = fi_eq_open(((struct strict_fabric *)fabric)->tcp, attr, &eq->tcp, &eq->fid.fid);
    if (err != 0) {
        free(eq);
        return err;
    }
    eq->fid.fid.fclass = FI_CLASS_EQ;
    eq->fid.fid.context = context;
    eq->fid.fid.ops = &fid_ops;
    eq->fid.ops = &eq_ops;
    *out = &eq->fid;
    return 0;
}
