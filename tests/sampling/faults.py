"""What counters of the CPU must find in Python: heavy and light touch fresh pages 3 : 1, each in the same function below."""
import mmap
import resource
import sys

import work


def touch(pages):
    """Faults by getrusage; 4 KB pages, which madvise keeps them."""
    area = mmap.mmap(-1, pages * 4096)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for i in range(pages):
        area[i * 4096] = 1
    took = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before
    area.close()
    return took


def heavy(pages):
    return touch(3 * pages)


def light(pages):
    return touch(pages)


def main():
    kept = work.open_device()
    work.spin(0.2)
    found = {"heavy": 0, "light": 0}
    for _ in range(10):
        found["heavy"] += heavy(int(sys.argv[1]))
        found["light"] += light(int(sys.argv[1]))
    for name, faults in found.items():
        print(name, faults)
    del kept


if __name__ == "__main__":
    main()
