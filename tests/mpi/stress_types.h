/*
 * stress_types.h - a small library of datatypes, all made of bytes, so that a message
 * sent with one may be received with any other. Each knows where its bytes lie.
 */
#ifndef WEFT_TEST_STRESS_TYPES_H
#define WEFT_TEST_STRESS_TYPES_H

#include "check.h"

#include <stdbool.h>
#include <stdint.h>

enum { TYPE_BYTES_MAX = 64 };

struct stress_type {
    MPI_Datatype type;
    int bytes;                   /* of one element */
    int extent;                  /* from one element to the next */
    int offsets[TYPE_BYTES_MAX]; /* of its bytes, in their order */
};

enum { STRESS_TYPES = 6 };

static struct stress_type stress_types[STRESS_TYPES];

static void add_block(struct stress_type *t, int at, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        t->offsets[t->bytes++] = at + i;
    }
}

static void finish_type(struct stress_type *t, MPI_Datatype unsized, int extent)
{
    t->extent = extent;
    CHECK(MPI_Type_create_resized(unsized, 0, extent, &t->type) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&t->type) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&unsized) == MPI_SUCCESS);
}

static void make_vector(struct stress_type *t, int blocks, int length, int stride)
{
    MPI_Datatype made;

    CHECK(MPI_Type_vector(blocks, length, stride, MPI_BYTE, &made) == MPI_SUCCESS);
    for (int i = 0; i < blocks; i++) {
        add_block(t, i * stride, length);
    }
    finish_type(t, made, blocks * stride);
}

/* Not in the order of their addresses. */
static void make_indexed(struct stress_type *t)
{
    const int lengths[] = {3, 8, 1, 5};
    const int places[] = {20, 0, 12, 30};
    MPI_Datatype made;

    CHECK(MPI_Type_indexed(4, lengths, places, MPI_BYTE, &made) == MPI_SUCCESS);
    for (int i = 0; i < 4; i++) {
        add_block(t, places[i], lengths[i]);
    }
    finish_type(t, made, 37);
}

/* A struct of bytes and of vectors of bytes. */
static void make_struct(struct stress_type *t)
{
    const int lengths[] = {2, 2, 4};
    const MPI_Aint places[] = {1, 8, 32};
    MPI_Datatype inner;
    MPI_Datatype made;

    CHECK(MPI_Type_vector(2, 2, 4, MPI_BYTE, &inner) == MPI_SUCCESS); /* 6 bytes wide */
    {
        const MPI_Datatype types[] = {MPI_BYTE, inner, MPI_BYTE};

        CHECK(MPI_Type_create_struct(3, lengths, places, types, &made) == MPI_SUCCESS);
    }
    CHECK(MPI_Type_free(&inner) == MPI_SUCCESS);
    add_block(t, 1, 2);
    for (int i = 0; i < 2; i++) {
        add_block(t, 8 + 6 * i, 2);
        add_block(t, 12 + 6 * i, 2);
    }
    add_block(t, 32, 4);
    finish_type(t, made, 40);
}

static inline void stress_types_make(void)
{
    add_block(&stress_types[0], 0, 1);
    stress_types[0].extent = 1;
    stress_types[0].type = MPI_BYTE;
    make_vector(&stress_types[1], 1, 16, 16);
    make_vector(&stress_types[2], 8, 4, 8);
    make_vector(&stress_types[3], 3, 7, 11);
    make_indexed(&stress_types[4]);
    make_struct(&stress_types[5]);
}

static inline void stress_types_free(void)
{
    for (int i = 1; i < STRESS_TYPES; i++) {
        CHECK(MPI_Type_free(&stress_types[i].type) == MPI_SUCCESS);
    }
}

/* Elements for at least so many bytes, and the memory for them. */
static inline int stress_type_count(const struct stress_type *t, size_t bytes)
{
    return (int)((bytes + (size_t)t->bytes - 1) / (size_t)t->bytes);
}

static inline size_t stress_type_memory(const struct stress_type *t, size_t bytes)
{
    return (size_t)stress_type_count(t, bytes) * (size_t)t->extent;
}

/* Where byte number i of a message lies. */
static inline size_t stress_type_place(const struct stress_type *t, size_t i)
{
    if (t->bytes == 1) {
        return i;
    }
    return i / (size_t)t->bytes * (size_t)t->extent +
           (size_t)t->offsets[i % (size_t)t->bytes];
}

#endif
