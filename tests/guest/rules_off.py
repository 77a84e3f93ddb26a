#!/usr/bin/env python3
"""Switch the rules of the agent off, one at a time, and see the guests fail.

    rules_off.py --build BUILD --scratch DIR [RULE...]
    rules_off.py --texts        only say whether the sources still have the text of each rule

A test that has never failed proves nothing. For each rule this copies the
sources to DIR, removes the rule, builds, runs the guests that guard it and
reports whether at least one of them failed; docs/developers/guest-tests.md keeps the
last result. BUILD is an ordinary build, from which the guest programs come.
Not part of ctest, but for --texts: it is run by hand when the agent changed.
"""
import argparse
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# rule: (file, text with the rule, text without it, guests that must notice); more edits may follow
RULES = {
    "own-threads-block-signals": [
        ("src/agent/run/monitor.c", "sigfillset(&all);", "sigemptyset(&all);", ["signals.c:process-directed"])],
    "private-descriptors": [
        ("src/agent/store/files.c", "opened.shared_table = syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) != 0;",
         "opened.shared_table = true;", ["descriptors.c:listed", "descriptors.c:all-closed"])],
    "shared-descriptors-are-verified": [
        ("src/agent/store/files.c", "opened.shared_table = syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) != 0;",
         "opened.shared_table = true;", ["descriptors.c"]),
        ("src/agent/store/files.c", "return !opened.shared_table || (identify", "return is || (identify", [])],
    "fork-is-noticed": [
        ("src/agent/run/agent.c", "    pthread_atfork(before_fork, after_fork, forked);\n", "", ["fork.c"]),
        ("src/agent/run/agent.c", "madvise(page, 4096, MADV_WIPEONFORK);", "", []),
        ("src/agent/run/agent.c", "== SONDE_NEW || a->pid != self) {", "== SONDE_NEW) {", [])],
    "final-flush": [
        ("src/agent/run/agent.c", "!sonde__monitor_flush(how, SONDE_EXIT_BOUND_MS + 2000))",
         "how && getppid() < 0)", ["exits.c:return", "exits.c:in-flight-return"])],
    "work-in-flight-is-waited-for": [
        ("src/agent/run/settle.c", "n < SONDE_EXIT_BOUND_MS * 5 &&", "n < 0 &&", ["exits.c:in-flight-return",
                                                                               "exits.c:in-flight-exit"])],
    "_exit-is-seen": [
        ("src/agent/preload/preload.c", "static _Noreturn void leave(int status)\n{\n    agent_at_exit();",
         "static _Noreturn void leave(int status)\n{", ["exits.c:_exit", "exits.c:in-flight-_exit"])],
    "quick_exit-is-seen": [
        ("src/agent/preload/preload.c", "    at_quick_exit(agent_at_exit); /* registered first, so it runs last */\n",
         "", ["exits.c:quick_exit"]),
        ("src/agent/run/agent.c", "    at_quick_exit(at_exit);\n", "", []),
        ("src/agent/preload/preload.c", "static _Noreturn void leave(int status)\n{\n    agent_at_exit();",
         "static _Noreturn void leave(int status)\n{", [])],
    "agent-stays-loaded": [
        ("CMakeLists.txt", "-Wl,--exclude-libs,ALL -Wl,-z,nodelete", "-Wl,--exclude-libs,ALL", ["dlopen.c"])],
    "thread-slots-are-reused": [
        ("src/agent/state/slots.c", "    sonde__agent.thread_free = t->slot;\n", "", ["threads-short.c"])],
    "the-samples-signal-is-given-back": [
        ("src/agent/preload/signals.c", "    if (set)\n        wants(number);\n", "", ["cpu.c:wants-the-signal"])],
    "threads-that-block-the-signal-are-left-alone": [
        ("src/agent/sample/sample_threads.c", "    if (blocks(tid)) {", "    if (tid == 0) {", ["cpu.c:all-blocked"])],
    "samples-come-in-user-mode-only": [
        ("src/agent/sample/sample_threads.c", ".exclude_kernel = 1,\n        .exclude_hv = 1,\n", "\n", ["cpu.c:waits"])],
    "stack-reuse-is-proved": [
        ("src/agent/stack/unwind.c", "if (UNLIKELY(cfa > hi || word(cfa - 8) != s->pc[i]))", "if (cfa > hi)", []),
        ("src/agent/stack/unwind.c", "    return word(t->base + e->cfa - 8) == e->pc;\n",
         "    return t->base + t->top > e->cfa && e->pc;\n", ["control-flow.c", "exceptions.cc"])],
    "profiling-is-hidden": [
        ("src/backends/opencl/queries.c",
         "queue && sonde__cl_queue_hidden(sonde__cl_queue(queue)))", "!queue)", ["queries.c:profiling-refused"])],
    "queue-properties-are-hidden": [
        ("src/backends/opencl/queries.c", "if (!sonde__cl_queue_hidden(queue) ||", "if (queue || !queue ||",
         ["queries.c:queue-properties"])],
    "event-references-are-hidden": [
        ("src/backends/opencl/queries.c", "count -= held;", "count += 1;", ["queries.c:references"])],
    "layers-are-repaired": [
        ("src/agent/preload/preload.c", "if (layers[i] == '\\0')", "if (layers[i] == '\\1')",
         ["surprises.c:own-layers-and-preload"])],
    "user-layers-are-kept": [
        ("src/cmds/record/program.c", 'put_list(e, r->variable, agent, own, ":");',
         'put(e, r->variable, agent);', ["surprises.c:own-layers-and-preload"])],
    "no-thread-without-a-runtime": [
        ("src/agent/preload/preload.c", "    layers_remember();\n    pthread_atfork",
         "    layers_remember();\n    static pthread_t thread;\n"
         "    pthread_create(&thread, NULL, (void *(*)(void *))(uintptr_t)sleep, (void *)100);\n    pthread_atfork",
         ["surprises.c:no-opencl"])],
    "no-foreign-symbols": [
        ("src/agent/preload/preload.c", "/* ---- the end of the process",
         "EXPORT int backtrace(void **a, int n);\nint backtrace(void **a, int n) { (void)a; return n; }\n"
         "/* ---- the end of the process", ["surprises.c:symbols"])],
    "fail-open": [
        ("src/agent/run/recording.c", "    atomic_store(&a->state, SONDE_DEAD);\n",
         "    atomic_store(&a->state, SONDE_DEAD);\n    abort();\n",
         ["limits.c", "surroundings.c:nobody-before"])],
    "little-stack": [
        ("src/agent/run/call.c", "    call->tsc = sonde__ticks();\n",
         "    volatile char big[65536];\n    for (int i = 0; i < 65536; i += 512) big[i] = 1;\n"
         "    call->tsc = sonde__ticks();\n", ["limits.c:thread-stack-32k", "limits.c:thread-stack-64k"])],
    "errno-is-kept": [
        ("src/agent/run/call.c", "    call->tsc = sonde__ticks();\n", "    errno = EIO;\n    call->tsc = sonde__ticks();\n",
         ["surprises.c:errno"])],
    "nothing-is-printed": [
        ("src/agent/run/agent.c", "static void at_exit(void)\n{", "static void at_exit(void)\n{\n"
         '    if (write(2, "x", 1) < 0) return;', ["plain.c"])],
}


def build(build_dir):
    command = ["cmake", "--build", build_dir, "-j", "2", "--target", "sonde", "sonde-agent", "sonde-preload"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        print(result.stdout[-1500:])
    return result.returncode == 0


def try_rule(options, rule, edits):
    """Build without the rule, run its guests; the names of those that failed, or None when it cannot be tried."""
    build_dir, originals = os.path.join(options.scratch, "build"), {}
    try:
        for path, old, new, _guests in edits:
            full = os.path.join(options.scratch, "source", path)
            with open(full, encoding="utf-8") as file:
                text = file.read()
            originals.setdefault(full, text)
            if old not in text:
                print(f"{rule}: {path} no longer has the text of this rule")
                return None
            with open(full, "w", encoding="utf-8") as file:
                file.write(text.replace(old, new))
        if not build(build_dir):
            return None
        return [name for edit in edits for guest in edit[3] for name in run_guest(options, build_dir, guest)]
    finally:
        for full, text in originals.items():
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)


def stale_rules():
    """Rules whose text is no longer in the sources: they could not be tried."""
    for rule, edits in RULES.items():
        for path, old, _new, _guests in edits:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                if old not in file.read():
                    yield f"{rule}: {path} no longer has: {old}"


def copy_sources(options):
    """The last commit, not the working tree, which may be half-way through something."""
    source = os.path.join(options.scratch, "source")
    os.makedirs(source, exist_ok=True)
    with subprocess.Popen(["git", "-C", ROOT, "archive", "HEAD"], stdout=subprocess.PIPE) as archive:
        subprocess.run(["tar", "-x", "-C", source], stdin=archive.stdout, check=True)
    subprocess.run(["cmake", "-S", source, "-B", os.path.join(options.scratch, "build"), "-DBUILD_TESTING=OFF",
                    "-DSONDE_WERROR=OFF"], stdout=subprocess.DEVNULL, check=True)


def run_guest(options, build_dir, guest):
    source, _, case = guest.partition(":")
    name = os.path.splitext(source)[0]
    here = os.path.dirname(os.path.abspath(__file__))
    command = [sys.executable, os.path.join(here, "run.py"), "--sonde", os.path.join(build_dir, "bin", "sonde"),
               "--counting", os.path.join(options.build, "tests", "libcounting.so"), "--work",
               os.path.join(options.scratch, "guests"), "--cache", os.path.join(options.build, "tests", "pocl-cache"),
               "--timeout", "20", "--only", case, os.path.join(ROOT, "tests", "programs", source),
               os.path.join(options.build, "tests", "programs", name)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return [f"{name}:{line.split()[1].rstrip(':')}" for line in result.stdout.splitlines() if line.startswith("FAIL")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--build")
    parser.add_argument("--scratch")
    parser.add_argument("rules", nargs="*", help=f"of: {' '.join(RULES)}")
    options = parser.parse_args()
    if options.texts:
        stale = list(stale_rules())
        print("\n".join(stale) or f"the sources have the texts of all {len(RULES)} rules")
        sys.exit(1 if stale else 0)
    if not options.build or not options.scratch:
        parser.error("--build and --scratch are needed")
    options.build, options.scratch = os.path.abspath(options.build), os.path.abspath(options.scratch)
    os.makedirs(options.scratch, exist_ok=True)
    copy_sources(options)
    unseen = 0
    for rule in options.rules or RULES:
        failed = try_rule(options, rule, RULES[rule])
        unseen += not failed
        print(f"{'seen to fail' if failed else 'NOT SEEN'}: {rule}: {', '.join(failed or [])}", flush=True)
    sys.exit(1 if unseen else 0)


if __name__ == "__main__":
    main()
