/*
 * memory.c - registrations: which there are, and whether a buffer lies in one.
 *
 * A descriptor is no pointer but a place in the table and the number of the registration
 * that holds it, so that one that was closed is told from its successor, and any other
 * value is found out without being followed.
 */
#include "strict.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define ACCESS (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

static struct strict_mr *live[STRICT_REGISTRATIONS];
static uintptr_t registered; /* how many ever were */

static bool is_enabled(const struct strict_mr *mr)
{
    return mr->fid.key != FI_KEY_NOTAVAIL;
}

static struct strict_mr *find(const void *desc)
{
    struct strict_mr *mr = live[(uintptr_t)desc % STRICT_REGISTRATIONS];

    return mr != NULL && mr->fid.mem_desc == desc && is_enabled(mr) ? mr : NULL;
}

struct strict_mr *strict_mr_check(const struct strict_domain *domain, const char *call,
                                  const void *buffer, size_t length, const void *desc,
                                  uint64_t access)
{
    const uintptr_t start = (uintptr_t)buffer;
    struct strict_mr *mr;

    if (desc == NULL) {
        strict_violation(call, "buffer %p of %zu bytes has no descriptor", buffer,
                         length);
    }
    mr = find(desc);
    if (mr == NULL) {
        strict_violation(call,
                         "buffer %p of %zu bytes: descriptor %p is of no live "
                         "registration",
                         buffer, length, desc);
    }
    if (mr->domain != domain) {
        strict_violation(call, "buffer %p of %zu bytes is registered in another domain",
                         buffer, length);
    }
    if (start < mr->base || length > mr->length ||
        start - mr->base > mr->length - length) {
        strict_violation(call,
                         "buffer %p of %zu bytes leaves its registration, %p of %zu",
                         buffer, length, (void *)mr->base, mr->length);
    }
    if ((mr->access & access) == 0) {
        strict_violation(
            call, "buffer %p of %zu bytes: registered for %#llx, not for %#llx", buffer,
            length, (unsigned long long)mr->access, (unsigned long long)access);
    }
    return mr;
}

/* Is every page of it mapped? */
static bool is_allocated(uintptr_t start, size_t length)
{
    unsigned char pages[1024];
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t end = start + length;
    uintptr_t at = start & ~(page - 1);

    while (at < end) {
        const uintptr_t most = sizeof(pages) * page;
        const uintptr_t step = end - at < most ? end - at : most;

        if (mincore((void *)at, step, pages) != 0) {
            return false;
        }
        at += most;
    }
    return true;
}

/* The table's first free place, or STRICT_REGISTRATIONS. */
static size_t free_place(void)
{
    size_t place = 0;

    while (place < STRICT_REGISTRATIONS && live[place] != NULL) {
        place++;
    }
    return place;
}

static int mr_close(struct fid *fid)
{
    struct strict_mr *mr = (struct strict_mr *)fid;
    int err;

    strict_lock();
    if (mr->used != 0) {
        strict_violation("fi_close",
                         "registration %p of %zu bytes is in use by %u posted "
                         "buffers",
                         (void *)mr->base, mr->length, mr->used);
    }
    err = fi_close(&mr->tcp->fid);
    if (err == 0) {
        live[(uintptr_t)mr->fid.mem_desc % STRICT_REGISTRATIONS] = NULL;
    }
    strict_unlock();
    if (err == 0) {
        free(mr);
    }
    return err;
}

static bool needs_endpoint(void)
{
    return (strict_face()->mr_mode & FI_MR_ENDPOINT) != 0;
}

static int mr_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    struct strict_mr *mr = (struct strict_mr *)fid;

    if (!needs_endpoint() || other->fclass != FI_CLASS_EP || flags != 0) {
        return -FI_EINVAL;
    }
    if (!((struct strict_ep *)other)->is_enabled) {
        strict_violation("fi_mr_bind", "endpoint %p is not enabled", (void *)other);
    }
    mr->is_bound = true;
    return 0;
}

static int mr_control(struct fid *fid, int command, void *arg)
{
    struct strict_mr *mr = (struct strict_mr *)fid;

    (void)arg;
    if (command != FI_ENABLE || !mr->is_bound) {
        return -FI_EINVAL;
    }
    mr->fid.key = mr->key;
    return 0;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = mr_close,
    .bind = mr_bind,
    .control = mr_control,
};

/* As if the limit of locked memory left room for so many: STRICT_MOST. */
static size_t most_registrations(void)
{
    const char *most = getenv("STRICT_MOST");

    return most != NULL ? (size_t)strtoul(most, NULL, 10) : STRICT_REGISTRATIONS;
}

/* Where peers name addresses but the provider below knows only offsets, offsets count
 * from address 0: what lies before the memory is not refused then. */
static int register_below(struct strict_mr *mr)
{
    const struct strict_face *face = strict_face();
    const bool is_whole =
        face->type == FI_EP_RDM && (face->mr_mode & FI_MR_VIRT_ADDR) != 0;

    return fi_mr_reg(mr->domain->tcp, is_whole ? NULL : (void *)mr->base,
                     is_whole ? mr->base + mr->length : mr->length, mr->access, 0,
                     mr->key, 0, &mr->tcp, &mr->fid.fid);
}

/* With the lock held: gives `mr` a place and a descriptor. */
static int enter(struct strict_mr *mr)
{
    const size_t place = free_place();
    int err;

    if (place == STRICT_REGISTRATIONS || place >= most_registrations()) {
        return -FI_ENOMEM;
    }
    if (getrandom(&mr->key, sizeof(mr->key), 0) != sizeof(mr->key)) {
        return -FI_EIO;
    }
    err = register_below(mr);
    if (err != 0) {
        return err;
    }
    registered++;
    mr->fid.key = needs_endpoint() ? FI_KEY_NOTAVAIL : mr->key;
    mr->fid.mem_desc = (void *)(registered * STRICT_REGISTRATIONS + place);
    live[place] = mr;
    return 0;
}

static int mr_reg(struct fid *fid, const void *buffer, size_t length, uint64_t access,
                  uint64_t offset, uint64_t requested_key, uint64_t flags,
                  struct fid_mr **out, void *context)
{
    struct strict_mr *mr;
    int err;

    (void)requested_key; /* the provider chooses */
    if (fid->fclass != FI_CLASS_DOMAIN || length == 0 || access == 0 ||
        (access & ~ACCESS) != 0 || offset != 0 || flags != 0) {
        return -FI_EINVAL;
    }
    if (!is_allocated((uintptr_t)buffer, length)) {
        return -FI_EFAULT;
    }
    mr = calloc(1, sizeof(*mr));
    if (mr == NULL) {
        return -FI_ENOMEM;
    }
    mr->fid.fid.fclass = FI_CLASS_MR;
    mr->fid.fid.context = context;
    mr->fid.fid.ops = &fid_ops;
    mr->domain = (struct strict_domain *)fid;
    mr->base = (uintptr_t)buffer;
    mr->length = length;
    mr->access = access;
    strict_lock();
    err = enter(mr);
    strict_unlock();
    if (err != 0) {
        free(mr);
        return err;
    }
    *out = &mr->fid;
    return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count,
                   uint64_t access, uint64_t offset, uint64_t requested_key,
                   uint64_t flags, struct fid_mr **out, void *context)
{
    if (count != 1) {
        return -FI_EINVAL;
    }
    return mr_reg(fid, iov->iov_base, iov->iov_len, access, offset, requested_key, flags,
                  out, context);
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                      struct fid_mr **out)
{
    if (attr->iface != FI_HMEM_SYSTEM) {
        return -FI_EINVAL;
    }
    return mr_regv(fid, attr->mr_iov, attr->iov_count, attr->access, attr->offset,
                   attr->requested_key, flags, out, attr->context);
}

struct fi_ops_mr strict_mr_ops = {
    .size = sizeof(struct fi_ops_mr),
    .reg = mr_reg,
    .regv = mr_regv,
    .regattr = mr_regattr,
};
