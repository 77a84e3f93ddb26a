"""pyprocesses.py - multiprocessing and subprocess: children that use OpenCL and leave by os._exit.

case: fork-before-opencl fork => kernel=90 read=3 ; module=pyopencl
case: spawn spawn => kernel=90 read=3 ; module=pyopencl
case: subprocess subprocess => kernel=60 read=2 ; module=pyopencl
case: pool pool => kernel=30 read=1 ; module=pyopencl
"""
import multiprocessing
import os
import subprocess
import sys

sys.dont_write_bytecode = True


def work(count=30):
    """Everything in the calling process: imported late, so that a forked child starts clean."""
    import pyguest
    guest = pyguest.Guest()
    kernel = guest.kernel()
    for _ in range(count):
        guest.launch(kernel)
    print("ran", guest.ran(), flush=True)


def leave_at_once():
    work()
    os._exit(3)


def children(method):
    context = multiprocessing.get_context(method)
    for _ in range(2):
        child = context.Process(target=leave_at_once)
        child.start()
        child.join()
        print("child ended with", child.exitcode, flush=True)
    work()


def main(kind):
    if kind in ("fork", "spawn"):
        children(kind)
    elif kind == "subprocess":
        result = subprocess.run([sys.executable, __file__, "work"], check=False)
        print("child ended with", result.returncode, flush=True)
        work()
    elif kind == "pool":
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(abs, range(-3, 0)), flush=True)
        work()
    else:
        work()


if __name__ == "__main__":
    main(sys.argv[1])
