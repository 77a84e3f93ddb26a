"""What is found of kernels that OpenCL programs (values.c, run.py) and CUDA programs (tests/gpu/programs/engines.cu) have alike, with the same numbers.

Of one launch with N elements. What is guessed and then counted ("frequent", "structured") is found of some engines only.
"""
N = 1000

# Kernel: (pattern, bytes that match, evidence).
KNOWN = {
    "read_zeros": [("single_zero", 4 * N, "all are zero")],
    "read_same": [("single_value", 4 * N, "all are 2.5")],
    "read_small": [("heavy_type", 4 * N, "-3 to 117: int8_t would do")],
    "read_wide": [("heavy_type", 8 * N, "1 to 1249.75: float would do")],
    "read_near": [("approximate", 4 * N, None)],  # what the evidence says of the mantissa differs
    "some_items": [("single_value", 4 * N // 10, "all are 7")],
}
GUESSED = {
    "read_zeros": [("structured", 4 * N, "all are 65537 * i")],
    "read_wide": [("structured", 8 * N, "all are 1.25 * i + 1")],
    "read_near": [("structured", 4 * N, None)],
}
