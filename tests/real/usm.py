"""NumPy-like arrays by dpctl, through SYCL: shared memory of three kinds, queues out of order, SPIR-V. Prints numbers that must be the same each time."""
import warnings
warnings.simplefilter("ignore")
import dpctl
import dpctl.tensor as t
import numpy

queue = dpctl.SyclQueue(dpctl.get_devices(backend="opencl")[0])
assert not queue.is_in_order
n = 200000
for kind in "device", "shared", "host":
    x = t.asarray(numpy.arange(n, dtype="i4") % 1001, usm_type=kind, sycl_queue=queue)
    y = t.sort(t.flip(x * 3 - 7)) + t.cumulative_sum(x % 5)
    print(kind, int(t.sum(y)), int(t.max(y)), int(t.count_nonzero(y > 1000)), t.asnumpy(y[:: n // 7]).tolist())
z = t.reshape(t.arange(3600, dtype="i8", sycl_queue=queue), (60, 60))
print(int(t.sum(t.matmul(z, t.permute_dims(z, (1, 0))))), t.asnumpy(t.unique_values(z % 7)).tolist())
events = [queue.memcpy_async(t.empty(100, dtype="u1", sycl_queue=queue).usm_data, numpy.full(100, i, "u1"), 100) for i in range(20)]
for event in events:
    event.wait()
queue.wait()
