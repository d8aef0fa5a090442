/* instr: a fixed number of calls for an instruction counter to look at.
 * Two processes: rank 0 makes 640 MPI_Send of 8 bytes, in groups of 16; rank 1
 * leaves MPI until a group must have arrived, then makes 16 MPI_Recv, so that
 * neither call polls for long.  (Everything else uses other calls.)
 * One process: 640 MPI_Sendrecv with itself.
 * For example:  mpiexec -n 2 valgrind --tool=callgrind \
 *     --toggle-collect='*MPI_Send' ./instr     counts / 640 = per MPI_Send */
#include "bench.h"
enum { GROUPS = 40, GROUP = 16 };

int main(int argc, char **argv)
{
    bench_begin(&argc, &argv, 0);
    char in[8], out[8] = {0};
    MPI_Request r;
    if (np == 1) {
        for (int i = 0; i < GROUPS * GROUP; i++)
            MPI_Sendrecv(out, 8, MPI_BYTE, 0, 1, in, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    } else if (me < 2) {
        for (int g = -1; g < GROUPS; g++) {
            if (me == 1)
                away(0.02);
            for (int i = 0; i < GROUP && g >= 0; i++)
                if (me == 0)
                    MPI_Send(out, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
                else
                    MPI_Recv(in, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (me == 0)
                MPI_Irecv(in, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &r);
            else
                MPI_Isend(out, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
