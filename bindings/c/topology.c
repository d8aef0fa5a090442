/*
 * topology.c - MPI-5.0 chapter 8: which topology a communicator has; Cartesian ones.
 */
#include "binding.h"

#include "check/rc.h"
#include "check/topology.h"
#include "topo/dims.h"

#include <string.h>

int PMPI_Topo_test(MPI_Comm comm, int *status)
{
    struct weft_comm *c;
    int err = weft_check_comm("MPI_Topo_test", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Topo_test", c, status, "status");
    }
    if (err == MPI_SUCCESS) {
        *status = c->topology != NULL ? c->topology->kind : MPI_UNDEFINED;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Topo_test, PMPI_Topo_test);

int PMPI_Dims_create(int nnodes, int ndims, int dims[])
{
    static const char function[] = "MPI_Dims_create";

    if (nnodes <= 0) {
        return weft_raise(function, WEFT_E_TOPO_NNODES, nnodes);
    }
    if (ndims < 0) {
        return weft_raise(function, WEFT_E_TOPO_NDIMS, ndims);
    }
    if (ndims > 0 && dims == NULL) {
        return weft_raise(function, WEFT_E_NULL_ARGUMENT, "dims");
    }
    for (int d = 0; d < ndims; d++) {
        if (dims[d] < 0) {
            return weft_raise(function, WEFT_E_TOPO_DIM, d, dims[d]);
        }
    }
    if (!weft_dims_create(nnodes, ndims, dims)) {
        return weft_raise(function, WEFT_E_TOPO_DIVIDE, nnodes);
    }
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Dims_create, PMPI_Dims_create);

/* The handle of what was made; NULL: this process has no place in it. */
static int give_comm(const char *function, struct weft_comm *old, enum weft_rc rc,
                     const struct weft_comm *made, MPI_Comm *out)
{
    if (rc == WEFT_OK) {
        *out = made != NULL ? made->handle : MPI_COMM_NULL;
    }
    return weft_raise_rc(old, rc, function);
}

int PMPI_Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[],
                     int reorder, MPI_Comm *comm_cart)
{
    WEFT_RECORD(Cart_create, comm_old, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG,
                0);
    static const char function[] = "MPI_Cart_create";
    const struct weft_grid grid = {ndims, dims, periods};
    struct weft_comm *c;
    struct weft_comm *made = NULL;
    enum weft_rc rc;
    int err = weft_check_intra(function, comm_old, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, comm_cart, "comm_cart");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_grid(function, c, &grid);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_cart_create(function, c, &grid, reorder != 0, &made);
    return give_comm(function, c, rc, made, comm_cart);
}
WEFT_WEAK_ALIAS(MPI_Cart_create, PMPI_Cart_create);

int PMPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm)
{
    WEFT_RECORD(Cart_sub, comm, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG, 0);
    static const char function[] = "MPI_Cart_sub";
    struct weft_comm *c;
    struct weft_comm *made = NULL;
    enum weft_rc rc;
    int err = weft_check_topology(function, comm, MPI_CART, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_list(function, c, weft_cart_grid(c).ndims, remain_dims,
                              "remain_dims");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, newcomm, "newcomm");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_cart_sub(function, c, remain_dims, &made);
    return give_comm(function, c, rc, made, newcomm);
}
WEFT_WEAK_ALIAS(MPI_Cart_sub, PMPI_Cart_sub);

int PMPI_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int periods[],
                  int *newrank)
{
    static const char function[] = "MPI_Cart_map";
    const struct weft_grid grid = {ndims, dims, periods};
    struct weft_comm *c;
    int err = weft_check_intra(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, newrank, "newrank");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_grid(function, c, &grid);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    return weft_raise_rc(c, weft_cart_map(c, &grid, newrank), function);
}
WEFT_WEAK_ALIAS(MPI_Cart_map, PMPI_Cart_map);

int PMPI_Cartdim_get(MPI_Comm comm, int *ndims)
{
    static const char function[] = "MPI_Cartdim_get";
    struct weft_comm *c;
    int err = weft_check_topology(function, comm, MPI_CART, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, ndims, "ndims");
    }
    if (err == MPI_SUCCESS) {
        *ndims = weft_cart_grid(c).ndims;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Cartdim_get, PMPI_Cartdim_get);

/* An array of the user's for all dimensions of a grid. */
static int check_room(const char *function, struct weft_comm *comm, int room,
                      const void *list, const char *name)
{
    const int ndims = weft_cart_grid(comm).ndims;

    if (room < ndims) {
        return weft_raise_comm(comm, function, WEFT_E_TOPO_ROOM, room, ndims);
    }
    return weft_check_list(function, comm, ndims, list, name);
}

int PMPI_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])
{
    static const char function[] = "MPI_Cart_get";
    struct weft_comm *c;
    struct weft_grid grid;
    int err = weft_check_topology(function, comm, MPI_CART, &c);

    if (err == MPI_SUCCESS) {
        err = check_room(function, c, maxdims, dims, "dims");
    }
    if (err == MPI_SUCCESS) {
        err = check_room(function, c, maxdims, periods, "periods");
    }
    if (err == MPI_SUCCESS) {
        err = check_room(function, c, maxdims, coords, "coords");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    grid = weft_cart_grid(c);
    for (int d = 0; d < grid.ndims; d++) {
        dims[d] = grid.dims[d];
        periods[d] = grid.periods[d] != 0;
    }
    weft_grid_coords(&grid, c->rank, coords);
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Cart_get, PMPI_Cart_get);

int PMPI_Cart_rank(MPI_Comm comm, const int coords[], int *rank)
{
    static const char function[] = "MPI_Cart_rank";
    struct weft_comm *c;
    struct weft_grid grid;
    int found;
    int err = weft_check_topology(function, comm, MPI_CART, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_list(function, c, weft_cart_grid(c).ndims, coords, "coords");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, rank, "rank");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    grid = weft_cart_grid(c);
    found = weft_grid_rank(&grid, coords);
    if (found < 0) {
        return weft_raise_comm(c, function, WEFT_E_TOPO_COORDS);
    }
    *rank = found;
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Cart_rank, PMPI_Cart_rank);

int PMPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[])
{
    static const char function[] = "MPI_Cart_coords";
    struct weft_comm *c;
    struct weft_grid grid;
    int err = weft_check_topology(function, comm, MPI_CART, &c);

    if (err == MPI_SUCCESS && (rank < 0 || rank >= c->size)) {
        err = weft_raise_comm(c, function, WEFT_E_TOPO_RANK, rank, c->size - 1);
    }
    if (err == MPI_SUCCESS) {
        err = check_room(function, c, maxdims, coords, "coords");
    }
    if (err == MPI_SUCCESS) {
        grid = weft_cart_grid(c);
        weft_grid_coords(&grid, rank, coords);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Cart_coords, PMPI_Cart_coords);

int PMPI_Cart_shift(MPI_Comm comm, int direction, int disp, int *rank_source,
                    int *rank_dest)
{
    static const char function[] = "MPI_Cart_shift";
    struct weft_comm *c;
    struct weft_grid grid;
    int err = weft_check_topology(function, comm, MPI_CART, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, rank_source, "rank_source");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, rank_dest, "rank_dest");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    grid = weft_cart_grid(c);
    if (direction < 0 || direction >= grid.ndims) {
        return weft_raise_comm(c, function, WEFT_E_TOPO_DIRECTION, direction,
                               grid.ndims - 1);
    }
    *rank_source =
        weft_grid_shift(&grid, c->rank, direction, -(long long)disp, MPI_PROC_NULL);
    *rank_dest = weft_grid_shift(&grid, c->rank, direction, disp, MPI_PROC_NULL);
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Cart_shift, PMPI_Cart_shift);
