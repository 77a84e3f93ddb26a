"""What the CPU side must find in Python: heavy and light use CPU time 3 : 1, each below a function of its own."""
import ctypes
import sys
import time


def spin(seconds):
    begin = time.thread_time()
    x = 0
    while time.thread_time() - begin < seconds:
        for i in range(2000):
            x = (x * 3 + i) & 0xffff
    return time.thread_time() - begin


def heavy(seconds):
    return spin(3 * seconds)


def light(seconds):
    return spin(seconds)


def open_device():
    """The first call of the runtime, from Python: the agent starts and meets the interpreter."""
    cl = ctypes.CDLL("libOpenCL.so.1")
    platform, device, status = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    cl.clGetPlatformIDs(1, ctypes.byref(platform), None)
    cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xffffffff), 1, ctypes.byref(device), None)
    cl.clCreateContext.restype = cl.clCreateCommandQueue.restype = cl.clCreateBuffer.restype = ctypes.c_void_p
    context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(status)))
    queue = ctypes.c_void_p(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), ctypes.byref(status)))
    buffer = ctypes.c_void_p(cl.clCreateBuffer(context, ctypes.c_uint64(1), ctypes.c_size_t(64), None, ctypes.byref(status)))
    data = ctypes.create_string_buffer(64)
    for _ in range(3):
        cl.clEnqueueWriteBuffer(queue, buffer, 1, ctypes.c_size_t(0), ctypes.c_size_t(64), data, 0, None, None)
    return cl, queue


def main():
    kept = open_device()
    found = {"heavy": 0, "light": 0}
    for _ in range(10):
        found["heavy"] += heavy(float(sys.argv[1]) / 40)
        found["light"] += light(float(sys.argv[1]) / 40)
    for name, seconds in found.items():
        print(name, int(seconds * 1e9))
    del kept


if __name__ == "__main__":
    main()
