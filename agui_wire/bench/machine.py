"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

__all__ = ["machine"]


def machine() -> dict[str, str]:
    """The machine in words: processor, cores, memory, system, load."""
    found = {
        "processor": _line("/proc/cpuinfo", "model name") or platform.processor() or "unknown",
        "architecture": platform.machine(),
        "cores": str(_cores()),
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}"
        f" ({platform.python_compiler()})",
    }
    memory = _line("/proc/meminfo", "MemTotal")
    if memory:
        found["memory"] = f"{int(memory.split()[0]) / 2**20:.0f} GiB"
    if hasattr(os, "getloadavg"):
        found["load at the start"] = f"{os.getloadavg()[0]:.1f}"
    return found


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _line(path: str, name: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""
