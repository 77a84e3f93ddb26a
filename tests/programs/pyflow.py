"""pyflow.py - Python's ways to leave and re-enter a stack: generators, asyncio, threads, exceptions, recursion.

case: generators generators => kernel=300 read=1 ; module=pyopencl ; check-unwinds
case: asyncio coroutines => kernel=300 read=1 ; module=pyopencl ; check-unwinds
case: threads threads => kernel=400 read=1 ; module=pyopencl
case: exceptions exceptions => kernel=300 read=1 ; module=pyopencl ; check-unwinds
case: recursion recursion => kernel=200 read=1 ; module=pyopencl ; check-unwinds
case: code-made-and-dropped made => kernel=300 read=1 ; module=pyopencl ; check-unwinds
case: callbacks callbacks => kernel=20 read=1 ; module=pyopencl
case: signal-handlers signals => kernel=200 read=1 ; module=pyopencl
"""
import asyncio
import gc
import os
import signal
import sys
import threading

sys.dont_write_bytecode = True
import pyguest  # noqa: E402

guest = pyguest.Guest()
kernel = guest.kernel()


def generators():
    def produce(count):
        for number in range(count):
            guest.launch(kernel)
            yield number

    def delegate(count):
        yield from produce(count)

    sources = [delegate(100), produce(100), delegate(100)]
    total = sum(sum(step) for step in zip(*sources))
    for source in sources:
        for rest in source:
            total += rest
    print("total", total)


def coroutines():
    async def worker(count):
        for _ in range(count):
            guest.launch(kernel)
            await asyncio.sleep(0)

    async def everything():
        await asyncio.gather(*(worker(100) for _ in range(3)))

    asyncio.run(everything())


def threads():
    def worker():
        own = guest.kernel()
        for _ in range(100):
            guest.launch(own)

    all_threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()


def exceptions():
    def fall(depth):
        try:
            guest.launch(kernel)
            if depth == 0:
                raise ValueError("bottom")
            fall(depth - 1)
        finally:
            guest.launch(kernel)

    caught = 0
    for _ in range(50):
        try:
            fall(2)
        except ValueError:
            caught += 1
    print("caught", caught)


def recursion():
    def down(depth):
        if depth:
            down(depth - 1)
        else:
            guest.launch(kernel)

    for depth in range(200):
        down(depth)


def made():
    """Code objects that die, so that the next one may get the same address."""
    for number in range(300):
        space = {"launch": guest.launch, "kernel": kernel}
        exec(f"def made_{number}():\n" + "\n" * (number % 7) + "    launch(kernel)\n", space)
        space[f"made_{number}"]()
        del space
        if number % 50 == 0:
            gc.collect()


def callbacks():
    import pyopencl as cl
    done = []
    for _ in range(20):
        event = guest.launch(kernel)
        event.set_callback(cl.command_execution_status.COMPLETE, done.append)
    guest.queue.finish()
    for _ in range(30000):
        if len(done) == 20:
            break
        threading.Event().wait(0.01)
    print("callbacks", len(done))


def signals():
    got = []
    signal.signal(signal.SIGUSR1, lambda number, frame: got.append(number))
    for number in range(200):
        guest.launch(kernel)
        if number % 20 == 0:
            os.kill(os.getpid(), signal.SIGUSR1)
    print("signals", len(got))


globals()[sys.argv[1]]()
print("ran", guest.ran())
