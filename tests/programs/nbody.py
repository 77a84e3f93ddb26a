"""nbody.py - an ordinary pyopencl program: arrays, a kernel with several arguments, copies, events.

case: run => counted ; module=pyopencl
case: with-profiling profile => counted ; module=pyopencl
"""
import sys

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void step(global float4 *p, global float4 *v, float dt) {
    int i = get_global_id(0), n = get_global_size(0);
    float4 a = 0;
    for (int j = 0; j < n; j++) {
        float4 d = p[j] - p[i];
        d.w = 0;
        float r = dot(d, d) + 0.01f;
        a += d / (r * sqrt(r));
    }
    v[i] += dt * a;
    barrier(CLK_GLOBAL_MEM_FENCE);
    p[i] += dt * v[i];
}
"""


def main():
    platform = cl.get_platforms()[0]
    context = cl.Context(platform.get_devices())
    profile = len(sys.argv) > 1
    flags = cl.command_queue_properties.PROFILING_ENABLE if profile else 0
    queue = cl.CommandQueue(context, properties=flags)
    program = cl.Program(context, SOURCE).build()
    start = np.arange(256, dtype=np.float32).reshape(64, 4) / 64
    places = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=start)
    speeds = cl.Buffer(context, cl.mem_flags.READ_WRITE, start.nbytes)
    cl.enqueue_fill_buffer(queue, speeds, np.float32(0), 0, start.nbytes)
    step = program.step
    known = 0
    for _ in range(50):
        event = step(queue, (64,), (64,), places, speeds, np.float32(0.001))
        if profile:
            event.wait()
            known += event.profile.end > event.profile.start
    result = np.empty_like(start)
    cl.enqueue_copy(queue, result, places)
    queue.finish()
    print("sum", result.astype(np.float64).sum().round(3), "times known", known)
    mapped, _ = cl.enqueue_map_buffer(queue, places, cl.map_flags.READ, 0, (64, 4), np.float32)
    print("first", mapped[0].round(3))
    mapped.base.release(queue)
    queue.finish()


main()
