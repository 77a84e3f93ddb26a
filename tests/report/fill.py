"""fill.py - three fills of a buffer and a read, with nothing but Python's own library: any Python 3 runs it."""
import ctypes


def check(status):
    if status:
        raise SystemExit("OpenCL gave %d" % status)


def step(cl, queue, buffer, value):
    word = ctypes.c_uint(value)
    check(cl.clEnqueueFillBuffer(queue, buffer, ctypes.byref(word), ctypes.c_size_t(4), ctypes.c_size_t(0), ctypes.c_size_t(4096),
                                 0, None, None))


def main():
    cl = ctypes.CDLL("libOpenCL.so.1")
    status, platform, device = ctypes.c_int(0), ctypes.c_void_p(), ctypes.c_void_p()
    for name in ("clCreateContext", "clCreateCommandQueue", "clCreateBuffer"):
        getattr(cl, name).restype = ctypes.c_void_p
    check(cl.clGetPlatformIDs(1, ctypes.byref(platform), None))
    check(cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xffffffff), 1, ctypes.byref(device), None))
    context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(status)))
    queue = ctypes.c_void_p(cl.clCreateCommandQueue(context, device, ctypes.c_ulong(0), ctypes.byref(status)))
    buffer = ctypes.c_void_p(cl.clCreateBuffer(context, ctypes.c_ulong(1), ctypes.c_size_t(4096), None, ctypes.byref(status)))
    for value in range(3):
        step(cl, queue, buffer, value)
    data = (ctypes.c_uint * 1024)()
    check(cl.clEnqueueReadBuffer(queue, buffer, 1, ctypes.c_size_t(0), ctypes.c_size_t(4096), data, 0, None, None))
    print("read", data[0], data[1023])


main()
