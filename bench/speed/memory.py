"""The peak of memory of one call: what a fork of this process needs beyond what it began with."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import struct
from collections.abc import Callable


def peak(call: Callable[[], object]) -> int | None:
    """Bytes; None where it cannot be told (no fork, no /proc, or the call failed there)."""
    if not hasattr(os, "fork") or not os.path.exists("/proc/self/statm"):
        return None
    give_back()
    out, into = os.pipe()
    child = os.fork()
    if child == 0:  # never returns
        try:
            before = resident()
            call()
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            os.write(into, struct.pack("q", max(most - before, 0)))
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as told:
        found = told.read(8)
    os.waitpid(child, 0)
    return struct.unpack("q", found)[0] if len(found) == 8 else None


def give_back() -> None:
    """Memory that was freed, but kept for later: what is used again would not be counted."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)


def resident() -> int:
    """Bytes of this process in memory now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
