! wtime.f - MPI_WTIME and MPI_WTICK of mpif.h, where REAL and DOUBLE PRECISION have other
! sizes than the library's.
      PROGRAM TIMES
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INTEGER IERROR
      REAL FROM, TO
      CALL MPI_INIT(IERROR)
      FROM = MPI_WTIME()
      TO = PMPI_WTIME()
      IF (FROM .GT. 0 .AND. TO .GE. FROM .AND. TO - FROM .LT. 1E6
     &    .AND. MPI_WTICK() .GT. 0 .AND. MPI_WTICK() .LT. 1
     &    .AND. PMPI_WTICK() .EQ. MPI_WTICK()) THEN
        PRINT '(A)', 'passed'
      ELSE
        PRINT *, FROM, TO, MPI_WTICK(), PMPI_WTICK()
      END IF
      CALL MPI_FINALIZE(IERROR)
      END
