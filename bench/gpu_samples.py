"""Turns Sonde's samples of the CPU side off and on again, from within the measured process; for the section samples of bench/gpu.py.

Sonde is not told: /proc/self/timers lists the timers that sample threads, and perf events are open files. Threads that
start while samples are off have theirs.
"""
import ctypes
import fcntl
import os
import re

TIMER_SETTIME = 223  # x86-64; Sonde's timers are the kernel's own, so that the C library does not know their numbers
EVENT_ON, EVENT_OFF = 0x2400, 0x2401  # PERF_EVENT_IOC_ENABLE, _DISABLE
libc, stopped = ctypes.CDLL(None, use_errno=True), {}


class Times(ctypes.Structure):
    _fields_ = [("interval", ctypes.c_long * 2), ("value", ctypes.c_long * 2)]


def set_timer(number, times):
    """What it was set to, or None where it is gone."""
    old = Times()
    return None if libc.syscall(TIMER_SETTIME, number, 0, ctypes.byref(times), ctypes.byref(old)) else old


def timers():
    with open("/proc/self/timers", encoding="ascii") as file:
        return [int(number) for number in re.findall(r"ID: (\d+)\nsignal: .*\nnotify: signal/tid", file.read())]


def events():
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}") == "anon_inode:[perf_event]":
                yield int(name)
        except OSError:
            pass  # the folder itself


def turn(on):
    """How many timers and perf events it is about."""
    if not on:
        for number in timers():
            old = set_timer(number, Times())
            if old and any(old.interval):
                stopped[number] = old.interval
    count = len(stopped)
    if on:
        for number, interval in stopped.items():
            set_timer(number, Times(interval, interval))
        stopped.clear()
    files = list(events())
    for file in files:
        fcntl.ioctl(file, EVENT_ON if on else EVENT_OFF, 0)
    return {"timers": count, "events": len(files)}
