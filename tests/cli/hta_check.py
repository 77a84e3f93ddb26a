"""hta_check.py FILE - what Holistic Trace Analysis makes of an export to JSON trace events.

Prints JSON in the last line: `kernels`, time by name in us; `types`, whether there is time of each; of launches by
cudaLaunchKernel how many, and their delay in us.
"""
import json
import sys

from hta.trace_analysis import TraceAnalysis

analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
launches = analysis.get_cuda_kernel_launch_stats(visualize=False)[0]
trace = analysis.t.get_trace(0)
calls = set(trace[trace["name"] == analysis.t.symbol_table.sym_index["cudaLaunchKernel"]]["correlation"])
launches = launches[launches["correlation"].isin(calls)]
breakdown = analysis.get_temporal_breakdown(visualize=False)
assert len(breakdown) == 1 and breakdown["kernel_time(us)"][0] > 0
print()
print(json.dumps({
    "kernels": dict(zip(kernels["name"], map(float, kernels["sum (us)"]))),
    "types": {t: bool(s > 0) for t, s in zip(types["kernel_type"], types["sum"]) if "overlapping" not in t},
    "launches": len(launches), "launch_delay_us": float(launches["launch_delay"].sum())}))
