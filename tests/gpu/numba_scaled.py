"""A kernel that Numba compiles while the program runs: five launches that read an array of threes."""
import numpy

numpy.row_stack = getattr(numpy, "row_stack", numpy.vstack)  # NumPy 2.4 has it no longer, and some versions of Numba ask for it
from numba import cuda  # noqa: E402

N, BLOCK = 4096, 256


@cuda.jit
def scaled(source, target, number):
    i = cuda.grid(1)
    target[i] = source[i] * number + i * i


def main():
    source = cuda.to_device(numpy.full(N, 3, numpy.int32))
    for number in range(5):
        target = cuda.device_array(N, numpy.int32)
        scaled[N // BLOCK, BLOCK](source, target, number)
        expected = 3 * number + numpy.arange(N, dtype=numpy.int64) ** 2
        assert (target.copy_to_host() == expected.astype(numpy.int32)).all()
    print("scaled is right")


main()
