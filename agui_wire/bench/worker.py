"""One measuring process: prepares contenders and runs them when told, a JSON object a line.

    python -m agui_wire.bench.worker HOME

    {"op": "prepare", "id", "axis", "name", "path", "url", "value", "cold"}
                                                                    -> {"events", "size", "seconds"}
    {"op": "run", "id", "loops"}                                    -> {"seconds"}
    {"op": "memory", "id"}                                          -> see `_memory`
    {"op": "forget", "id"}                                          -> {}
    {"op": "about"}                                                 -> versions, engine

Seconds are the processor's, which a busy machine disturbs less than the wall clock's. With `cold`
nothing is run before it is measured. An answer to what failed is {"error"}.
"""

from __future__ import annotations

import gc
import importlib
import json
import platform
import sys
import tracemalloc
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import process_time
from typing import Any

from .prepared import Context, Prepare, Prepared

__all__ = ["HOMES", "main", "table"]

HOMES: dict[str, tuple[tuple[str, str], ...]] = {
    "ours": (
        ("ours", "PREPARE"),
        ("plain", "PREPARE"),
        ("scaling", "PREPARE"),
        ("loopback", "PREPARE"),
    ),
    "sdk": (("sdk", "PREPARE"), ("loopback", "PREPARE_SDK")),
    "upb": (("upb", "PREPARE"),),
}
"""By kind of process, the tables of contenders that it loads."""

_PACKAGES = ("msgspec", "protobuf", "aiohttp", "orjson", "pydantic", "ag-ui-protocol")

# Batches of fewer passes are long enough without a pass to warm up.
_WARM_LOOPS = 4

Answer = dict[str, Any]


def table(home: str) -> dict[tuple[str, str], Prepare]:
    """The contenders of a kind of process, by axis and name."""
    found: dict[tuple[str, str], Prepare] = {}
    for module, name in HOMES[home]:
        found |= getattr(importlib.import_module(f"agui_wire.bench.{module}"), name)
    return found


class _Worker:
    def __init__(self, home: str) -> None:
        self._prepare = table(home)
        self._ready: dict[str, Prepared] = {}

    def prepare(self, request: Answer) -> Answer:
        make = self._prepare[request["axis"], request["name"]]
        path = request.get("path")
        context = Context(Path(path or ""), request["url"], request["value"])
        ready = make(context)
        self._ready[request["id"]] = ready
        seconds = 0.0
        if not request["cold"]:
            # Twice: the interpreter specialises what it has seen run.
            ready.run()
            seconds = _seconds(ready, 1)
        gc.collect()
        return {"events": ready.events, "size": ready.size, "seconds": seconds}

    def run(self, request: Answer) -> Answer:
        return {"seconds": _seconds(self._ready[request["id"]], request["loops"])}

    def memory(self, request: Answer) -> Answer:
        return _memory(self._ready[request["id"]].run)

    def forget(self, request: Answer) -> Answer:
        del self._ready[request["id"]]
        if not self._ready:
            gc.collect()
        return {}

    def about(self, request: Answer) -> Answer:
        from .. import __version__
        from ..codecs.protobuf import protobuf_engine

        versions = {"agui_wire": __version__}
        for package in _PACKAGES:
            try:
                versions[package] = version(package)
            except PackageNotFoundError:
                continue
        runtime = f"{platform.python_implementation()} {platform.python_version()}"
        return {"runtime": runtime, "engine": protobuf_engine(), "versions": versions}


def _seconds(ready: Prepared, count: int) -> float:
    run = ready.run
    loops = range(count)
    if count >= _WARM_LOOPS:
        # Another process has just had the caches; the baseline would gain from following itself.
        run()
    elsewhere = 0.0 if ready.elsewhere is None else ready.elsewhere()
    start = process_time()
    for _ in loops:
        run()
    taken = process_time() - start
    return taken if ready.elsewhere is None else taken + ready.elsewhere() - elsewhere


def _memory(run: Callable[[], Any]) -> Answer:
    """What one run takes and what of it stays while its result is held.

    `blocks` are the interpreter's live memory blocks; `held` and `peak` the bytes that
    tracemalloc sees; `resident` how far the process grew, where the system tells.
    """
    gc.collect()
    _reset_peak()
    resident = _resident("VmRSS")
    blocks = sys.getallocatedblocks()
    result = run()
    blocks = sys.getallocatedblocks() - blocks
    grown = None if resident is None else (_resident("VmHWM") or resident) - resident
    del result
    gc.collect()
    tracemalloc.start()
    result = run()
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    return {"blocks": blocks, "held": held, "peak": peak, "resident": grown}


def _reset_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _resident(name: str) -> int | None:
    """Bytes of a line of this process's status, where there is one."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return None


def _answer(worker: _Worker, request: Answer) -> Answer:
    operations: dict[str, Callable[[Answer], Answer]] = {
        "prepare": worker.prepare,
        "run": worker.run,
        "memory": worker.memory,
        "forget": worker.forget,
        "about": worker.about,
    }
    try:
        return operations[request["op"]](request)
    except ImportError as error:
        return {"error": f"not installed: {error.name or error}"}
    except Exception as error:  # a contender may fail in any way; the others go on
        return {"error": f"{type(error).__name__}: {error}"[:300]}


def main(home: str) -> None:
    """Answer requests from standard input until it ends."""
    worker = _Worker(home)
    # Nothing but answers on standard output.
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        out.write(json.dumps(_answer(worker, json.loads(line))) + "\n")
        out.flush()


if __name__ == "__main__":
    main(sys.argv[1])
