/*
 * failed_job.h - a job of which a transport needs no more than the list of those who have
 * failed. weft_segment_fail() adds to it; a count of 0 empties it.
 */
#ifndef WEFT_TEST_FAILED_JOB_H
#define WEFT_TEST_FAILED_JOB_H

#include "wireup/wireup.h"

enum { FAILED_MOST = 8 };

static struct {
    struct weft_segment_header header; /* not read */
    _Atomic uint32_t count;
    uint32_t rank[FAILED_MOST];
} failed_area;

static struct weft_job failed_job = {
    .segment =
        {
            .header = &failed_area.header,
            .failed_at = sizeof(struct weft_segment_header),
            .job_size = FAILED_MOST,
        },
};

#endif
