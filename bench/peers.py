"""What analyze.py asks of others: kernels with their times, and how busy each queue was. One reader per call."""
import json, sys


def answer(frame):
    """frame: name, kind, lane, start, dur in ns."""
    kernels = frame[frame.kind == "kernel"].groupby("name").dur.agg(["count", "sum", "mean", lambda d: d.quantile(0.95)])
    frame = frame.sort_values(["lane", "start"])
    end = frame.start + frame.dur
    before = end.groupby(frame.lane).cummax().groupby(frame.lane).shift()  # the latest end of those before
    gap = (frame.start - before).clip(lower=0).fillna(0)
    lanes = frame.groupby("lane").agg(first=("start", "min"))
    lanes["last"] = end.groupby(frame.lane).max()
    lanes["idle"] = gap.groupby(frame.lane).sum()
    lanes["longest"] = gap.groupby(frame.lane).max()
    lanes["busy"] = lanes["last"] - lanes["first"] - lanes["idle"]
    print(kernels, lanes)


def from_csv(path):
    import pandas
    frame = pandas.read_csv(path, usecols=["name", "kind", "lane", "start_ns", "duration_ns"])
    answer(frame.rename(columns={"start_ns": "start", "duration_ns": "dur"}))


def from_chrome(path):
    import pandas
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    frame = pandas.DataFrame([e for e in events if e.get("ph") == "X"], columns=["name", "cat", "tid", "ts", "dur"])
    answer(frame.rename(columns={"cat": "kind", "tid": "lane", "ts": "start"}))


def from_perfetto(path):
    from perfetto.trace_processor import TraceProcessor
    trace = TraceProcessor(trace=path)
    for query in ("select name, count(*), sum(dur), avg(dur) from slice group by name",
                  "select track_id, min(ts), max(ts + dur), sum(dur) from slice group by track_id"):
        for row in trace.query(query):
            print(row)
    trace.close()


{"csv": from_csv, "chrome": from_chrome, "perfetto": from_perfetto}[sys.argv[1]](sys.argv[2])
