"""ranks.py - messages of Python objects, which mpi4py pickles and looks for before it receives them; it says itself what it does, as ranks.c."""
import os
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
me, size = comm.Get_rank(), comm.Get_size()
sent = {}


def give(what, to):
    count, total = sent.get(to, (0, 0))
    sent[to] = count + 1, total + len(MPI.pickle.dumps(what))
    comm.send(what, dest=to)  # LINE send


def late():
    until = time.monotonic() + 0.02
    while time.monotonic() < until:
        pass


def ring():
    for i in range(5):
        if me == 0:
            late()
        if me % 2:
            assert comm.recv(source=(me - 1) % size) == {"step": i, "from": (me - 1) % size}  # LINE receive
            give({"step": i, "from": me}, (me + 1) % size)
        else:
            give({"step": i, "from": me}, (me + 1) % size)
            assert comm.recv(source=(me - 1) % size) == {"step": i, "from": (me - 1) % size}


def main():
    ring()
    text = "".join(f"pair {me} {to} {count} {total}\n" for to, (count, total) in sent.items())
    os.write(1, text.encode())  # at once: the launcher mixes what ranks write


main()
