"""NumPy's functions by dpnp, through SYCL: sorts, sums, products of matrices by MKL. Prints numbers that must be the same each time."""
import warnings
warnings.simplefilter("ignore")
import dpctl
import dpnp

queue = dpctl.SyclQueue(dpctl.get_devices(backend="opencl")[0])
assert not queue.is_in_order
n = 200000
for kind in "device", "shared", "host":
    x = dpnp.arange(n, dtype="i4", usm_type=kind, sycl_queue=queue) % 1001
    y = dpnp.sort(x * 3 - 7)[::-1] + dpnp.cumsum(x % 5)
    print(kind, int(y.sum()), int(y.max()), int(dpnp.count_nonzero(y > 1000)), dpnp.asnumpy(y[:: n // 7]).tolist())
a = dpnp.reshape(dpnp.arange(40000, dtype="f8", sycl_queue=queue), (200, 200)) % 17  # whole numbers: sums are exact in any order
b = dpnp.matmul(a, a.T)
print(int(b.sum()), int(dpnp.trace(b)), int(dpnp.max(b)), dpnp.asnumpy(dpnp.unique(a % 7)).tolist())
print(dpnp.asnumpy(dpnp.mean(b, axis=0)[:4]).round(3).tolist(), int(dpnp.argmax(b)), bool(dpnp.allclose(dpnp.linalg.inv(dpnp.eye(30) * 4.0), dpnp.eye(30) / 4)))
