"""The measuring processes, from the side of who gives them work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from .measure import Batch, loops_for
from .workloads import WorkloadFile

__all__ = ["ContenderFailed", "Running", "Server", "Worker", "Workers"]

_PURE = "AGUI_WIRE_PURE"


class ContenderFailed(Exception):
    """A contender could not do its work; the text says why."""


class Running(NamedTuple):
    """A contender that is ready in its process: what one pass over its workload is."""

    worker: Worker
    id: str
    events: int
    size: int
    seconds: float
    """What one pass took when it was warmed up."""

    def batch(self, batch_seconds: float) -> Batch:
        """Times as many passes as fill `batch_seconds`; gives processor seconds per event."""
        loops = loops_for(self.seconds, batch_seconds)

        def run() -> float:
            taken: float = self.worker.ask(op="run", id=self.id, loops=loops)["seconds"]
            return taken / loops / self.events

        return run

    def forget(self) -> None:
        """Lets go of it."""
        self.worker.ask(op="forget", id=self.id)


def _environment(pure: bool) -> dict[str, str]:
    # The package may not be installed.
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **({_PURE: "1"} if pure else {})}


class Worker:
    """One process, asked over its pipes: it works only while it is asked."""

    def __init__(self, command: list[str], *, pure: bool = False) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env=_environment(pure),
        )
        self._prepared = 0

    @property
    def ended(self) -> bool:
        """Whether the process broke down."""
        return self._process.poll() is not None

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answer to a request. Raises ContenderFailed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise ContenderFailed(f"its process ended ({self._process.wait()})")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ContenderFailed(answer["error"])
        return answer

    def prepare(
        self,
        axis: str,
        name: str,
        workload: WorkloadFile | None,
        *,
        url: str = "",
        value: int = 0,
        cold: bool = False,
    ) -> Running:
        """A contender made ready, and warm unless `cold`. Raises ContenderFailed."""
        self._prepared += 1
        key = str(self._prepared)
        path = None if workload is None else str(workload.path)
        answer = self.ask(
            op="prepare",
            id=key,
            axis=axis,
            name=name,
            path=path,
            url=url,
            value=value,
            cold=cold,
        )
        events = answer["events"] if workload is None else workload.events
        return Running(self, key, events, answer["size"], answer["seconds"])

    def close(self) -> None:
        """Ends the process."""
        _end(self._process)


def _end(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _python(home: str) -> list[str]:
    return [sys.executable, "-m", "agui_wire.bench.worker", home]


def _node() -> list[str]:
    node = shutil.which("node")
    if node is None:
        raise ContenderFailed("not installed: node")
    return [node, "--expose-gc", str(Path(__file__).with_name("worker.mjs"))]


_COMMANDS: dict[str, tuple[Callable[[], list[str]], bool]] = {
    "ours": (lambda: _python("ours"), False),
    "reference": (lambda: _python("ours"), True),
    "sdk": (lambda: _python("sdk"), False),
    "upb": (lambda: _python("upb"), False),
    "node": (_node, False),
}


class Workers:
    """The processes of all homes, each started when first asked for and ended together."""

    def __init__(self) -> None:
        self._started: dict[str, Worker] = {}

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for worker in self._started.values():
            worker.close()

    def get(self, home: str) -> Worker:
        """The process of a home. Raises ContenderFailed where there is none to start."""
        if home not in self._started or self._started[home].ended:
            self._started[home] = fresh(home)
        return self._started[home]


def fresh(home: str) -> Worker:
    """A process of a home of its own. Raises ContenderFailed where there is none to start."""
    command, pure = _COMMANDS[home]
    return Worker(command(), pure=pure)


class Server:
    """The loopback server of one side and workload; `url` is empty where it did not start."""

    def __init__(self, side: str, workload: WorkloadFile, *, pure: bool = False) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "agui_wire.bench.loopback", side, str(workload.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env=_environment(pure),
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def close(self) -> None:
        """Ends the process."""
        _end(self._process)
