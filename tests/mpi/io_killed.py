#!/usr/bin/env python3
"""io_killed.py MPIEXEC PROGRAM FILE ROUNDS - what is in a file whose writers were killed.

Each round runs the job, which has to end with an error, and looks at the file with PROGRAM check.
"""

import subprocess
import sys
from pathlib import Path


def main(mpiexec, program, file, rounds):
    for number in range(int(rounds)):
        Path(file).unlink(missing_ok=True)
        ranks = (2, 3, 5)[number % 3]
        job = subprocess.run([mpiexec, "-n", str(ranks), program, file, "write"],
                             capture_output=True, text=True, timeout=100, check=False)
        if job.returncode == 0:
            print("the job has ended well")
            return 1
        seen = subprocess.run([program, file, "check"], capture_output=True, text=True, check=False)
        if seen.returncode != 0:
            print(f"round {number}, {ranks} ranks: {seen.stderr}")
            return 1
    Path(file).unlink(missing_ok=True)
    print(f"{rounds} files have only what was written")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
