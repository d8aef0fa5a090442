"""strangers.py - a job over connections goes on, whoever else connects to its ports.

A job of four exchanges messages and looks at every byte (job.c). Meanwhile its ports,
found in /proc, are scanned, fed with garbage and half a request, kept open in silence, and
given requests of a job with another secret, which the kernel drops. Then requests come that
have the right token, as recorded ones do: with garbage, with a wrong tag, with a right tag
whose confirm never comes or is wrong. Then the job connects all with all. The data stay
right, the job ends well, each process says one line at most, counts strangers, and has no
descriptor left of them. All of it is on the loopback and bounded.

    strangers.py MPIEXEC JOB
"""

import hashlib
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RANKS = 4
SILENT = 100  # connections to each rank that say nothing
REFUSED = 10 + 15  # of those with the token, at least: garbage, and another job's
PATIENCE = 150
HEAP_MOST = 1 << 30
LINE = "rejected a connection from outside this job"

HANDSHAKE = Path(os.environ["WEFT_SOURCE"]) / "src/transport/ofi/handshake.h"
VERSION = int(re.search(r"WEFT_HANDSHAKE_VERSION = (\d+)", HANDSHAKE.read_text())[1])
# The version of what travels later.
PACKETS = int(re.search(r"WEFT_WIRE_VERSION = (\d+)",
                        (Path(os.environ["WEFT_SOURCE"]) / "src/engine/wire.h").read_text())[1])
ASK, ANSWER, CONFIRM = 1, 2, 3
MARK = 0xC3
INDEX = 12345  # what we call the listener


def claim(is_so, about):
    if not is_so:
        raise AssertionError(about)


# ---- the handshake, once more, from handshake.h ----

def process(job, rank):
    return job << 32 | rank


def tag(secret, step, caller, listener, stream, nonce_a, nonce_b=bytes(16), packets=0,
        index=0):
    covered = (b"weft handshake" + bytes([step, VERSION, stream])
               + struct.pack("<QQ", caller, listener) + nonce_a + nonce_b
               + struct.pack("<BI", packets, index))
    return hashlib.blake2b(covered, key=secret, digest_size=16).digest()


def ask(secret, caller, listener, nonce=None, stream=0):
    nonce = nonce or os.urandom(16)
    return (bytes([VERSION, stream]) + struct.pack("<Q", caller) + nonce
            + tag(secret, ASK, caller, listener, stream, nonce))


def confirm(secret, caller, listener, nonce_a, nonce_b, stream=0, named=None,
            packets=PACKETS):
    """`named`: the stream that stands in the clear, where it is another."""
    return (bytes([MARK]) + struct.pack("<Q", caller)
            + bytes([stream if named is None else named, VERSION, packets])
            + struct.pack("<I", INDEX)
            + tag(secret, CONFIRM, caller, listener, stream, nonce_a, nonce_b, packets, INDEX))


def request(data):
    """As libfabric's tcp asks for a connection: version 3, type 0, length, zeros, a one.
    The data begin with the token of who is asked."""
    return struct.pack(">BBHIQQ", 3, 0, len(data), 0, 0, 0) + struct.pack("=Q", 1) + data


# ---- what strangers do ----

def connect(port):
    made = socket.create_connection(("127.0.0.1", port), timeout=20)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def say(port, data):
    """Sends it, and returns what comes back until the other end closes."""
    answer = b""
    with connect(port) as made:
        try:
            made.sendall(data)
            while more := made.recv(4096):
                answer += more
        except OSError:  # it has closed already
            pass
    return answer


def say_in_vain(port, data):
    """Sends it, and goes; what the kernel drops is never answered."""
    with connect(port) as made:
        made.sendall(data)


def refusal(answer):
    """The private data of a reject."""
    claim(len(answer) > 32 and answer[1] == 6, f"not a reject: {answer!r}")
    return answer[32:]


def scan(port):
    for _ in range(50):
        connect(port).close()


def garbage(port, token):
    for length in (1, 8, 16, 31, 32, 33, 74, 100, 500, 70000):
        say_in_vain(port, os.urandom(length))
        say_in_vain(port, bytes(length))
        say_in_vain(port, request(os.urandom(min(length, 256))))
        say_in_vain(port, request(token + bytes(248))[:min(length, 287)])
        say_in_vain(port, request(token + bytes(248)) + bytes(length))
        claim(refusal(say(port, request(token + os.urandom(min(length, 248)))))[:1] != b"\0",
              "garbage behind the token")
    claim(refusal(say(port, request(token)))[:1] != b"\0", "nothing behind the token")


def silence(port, token):
    """Connections that say nothing, or half a request; the caller keeps them."""
    kept = [connect(port) for _ in range(SILENT)]
    for made in kept[::4]:
        made.sendall(request(token + bytes(42))[:32])
    return kept


def of_another_job(port, rank, token, job):
    other = os.urandom(32)
    listener = process(job, rank)
    say_in_vain(port, request(os.urandom(8) + ask(other, process(job, 0), listener)))
    for caller in range(RANKS):
        for _ in range(5):
            if caller != rank:
                said = refusal(say(port, request(
                    token + ask(other, process(job, caller), listener))))
                claim(said[:1] == b"\x04", f"another job's is refused with {said!r}")
    for data in (confirm(other, process(job, 1), listener, bytes(16), bytes(16)), bytes([MARK]),
                 bytes([MARK]) + bytes(200)):
        claim(refusal(say(port, request(token + data)))[:1] != b"\0",
              "a confirm of another job")


def recorded(port, rank, token, secret, job):
    """Right asks, again and again; confirms that are right for another answer."""
    listener = process(job, rank)
    for caller in (process(job, other) for other in range(RANKS)):
        if caller == listener:
            continue
        for stream in (0, 3):
            nonce = os.urandom(16)
            again = request(token + ask(secret, caller, listener, nonce, stream))
            said = refusal(say(port, again))
            if said[:1] == b"\x07":
                continue  # they are connected
            claim(said[:1] == b"\0", f"a right ask is refused with {said!r}")
            claim(said[2] == PACKETS, f"its packets are of version {said[2]}")
            right = (secret, caller, listener, nonce, said[7:23], stream)
            # of the job, but what it would send is of another version
            said = refusal(say(port, request(token + confirm(*right, packets=PACKETS + 1))))
            claim(said[:1] == b"\x08", f"a confirm of other packets: {said!r}")
            # of this answer, but for a stream that was not answered, or does not exist
            for other in (stream + 1, 200):
                said = refusal(say(port, request(token + confirm(*right, named=other))))
                claim(said[:1] == b"\x04", f"a confirm as stream {other}'s: {said!r}")
            for _ in range(5):
                claim(refusal(say(port, again))[:1] == b"\0", "an ask once more")
                claim(refusal(say(port, request(token + confirm(*right))))[:1] == b"\x04",
                      "an old confirm")
        said = refusal(say(port, request(token + ask(secret, caller, listener, stream=8))))
        claim(said[:1] == b"\x05", f"a stream that there is not is refused with {said!r}")


# ---- the job ----

def port_of(pid):
    """Where a process listens."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}")))
        except OSError:
            pass  # closed meanwhile
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and words[9] in inodes:
            return int(words[1].split(":")[1], 16)
    raise AssertionError(f"process {pid} listens nowhere")


def secret_and_job_of(pid):
    fd = Path(f"/proc/{pid}/environ").read_bytes().split(b"WEFT_JOB=")[1].split()[0]
    with open(f"/proc/{pid}/fd/{fd.decode()}", "rb") as segment:
        header = segment.read(512)
    return header[112 + 128:112 + 128 + 32], struct.unpack_from("=I", header, 24)[0]


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def memory_of(pid):
    """What a process that we have started has written to its heap."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        words = line.split()
        if words[1].startswith("rw") and (len(words) < 6 or words[5] == "[heap]"):
            begin, end = (int(word, 16) for word in words[0].split("-"))
            if end - begin > HEAP_MOST:  # a sanitizer's own
                continue
            with open(f"/proc/{pid}/mem", "rb") as memory:
                memory.seek(begin)
                yield memory.read(end - begin)


def token_of(pid, port):
    """What a rank has published with its port, which its keeper remembers; somebody who
    records packets finds it there."""
    for part in memory_of(parent_of(pid)):
        found = re.search(rb"127\.0\.0\.1/%d[^;]{0,99};([0-9a-f]{16})" % port, part)
        if found:
            return bytes.fromhex(found[1].decode())
    raise AssertionError(f"no token was published with port {port}")


def attack(ports, pids):
    kept = []
    secret, job = secret_and_job_of(pids[0])
    for rank, port in sorted(ports.items()):
        token = token_of(pids[rank], port)
        scan(port)
        garbage(port, token)
        kept += silence(port, token)
        of_another_job(port, rank, token, job)
        recorded(port, rank, token, secret, job)
    return kept


def main(mpiexec, job):
    with tempfile.TemporaryDirectory() as folder:
        stop = Path(folder) / "stop"
        variables = dict(os.environ, WEFT_TRANSPORT="msg", WEFT_LOG="warn")
        running = subprocess.Popen([mpiexec, "--timeout", str(PATIENCE), "-n", str(RANKS),
                                    job, stop], env=variables, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        try:
            pids = {}
            while len(pids) < RANKS:
                words = running.stdout.readline().split()
                claim(words[:1] == ["pid"], f"no word of the job: {words}")
                pids[int(words[1])] = int(words[2])
            ports = {rank: port_of(pid) for rank, pid in pids.items()}
            began = time.monotonic()
            kept = attack(ports, pids)
            print(f"strangers for {time.monotonic() - began:.1f} s, {len(kept)} are silent")
            stop.touch()
            out, err = running.communicate(timeout=PATIENCE)
        finally:
            running.kill()
        for made in kept:
            made.close()
    hold(running.returncode, out, err)


def hold(code, out, err):
    claim(code == 0, f"code {code}\n{out}{err}")
    said = re.findall(r"^end (\d) strangers (\d+) connections (\d+) more (-?\d+)$", out,
                      re.MULTILINE)
    claim(len(said) == RANKS, out)
    for rank, strangers, connections, more in said:
        claim(int(strangers) >= REFUSED, f"rank {rank} counted {strangers} strangers")
        claim(int(connections) == RANKS - 1, f"rank {rank}: {connections} connections")
        claim(int(more) <= 0, f"rank {rank} has {more} descriptors more")
    lines = err.splitlines()
    claim(len(lines) == RANKS and all(LINE in line for line in lines), err)
    print(out, end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
