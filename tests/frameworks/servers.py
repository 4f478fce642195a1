"""The frameworks' servers as processes, seen from outside."""

from __future__ import annotations

import itertools
import json
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError

from .install import ENVIRONMENTS, REQUIREMENTS, python_of

__all__ = ["NAMES", "Server", "run_input", "serving"]

NAMES = list(REQUIREMENTS)

# Where a framework serves its agent, if not at the root.
PATHS = {"llama_index": "run"}

# Some frameworks keep what was said in a thread, so each run has a thread of its own.
_threads = itertools.count(100_000)


def run_input(prompt: str = "Where to in May?") -> dict[str, Any]:
    """The body of a request in a new thread."""
    return {
        "threadId": f"thread-{next(_threads)}",
        "runId": "r",
        "state": {},
        "messages": [{"id": "u1", "role": "user", "content": prompt}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }


class Server:
    """A running server of one framework."""

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        self._root = f"http://127.0.0.1:{port}"

    def url(self, kind: str) -> str:
        """Where the agent is: `plain`, or behind BinaryTransport, `transport`."""
        return f"{self._root}/{kind}/{PATHS.get(self.name, '')}"

    def control(self, verb: str) -> Any:
        """What a verb of serve.py gives, such as `install`."""
        return json.loads(self._post(f"{self._root}/control/{verb}", b"", "*/*")[1])

    def body(self, kind: str, accept: str, given: dict[str, Any]) -> tuple[str, bytes]:
        """The content type and the whole body of a run."""
        return self._post(self.url(kind), json.dumps(given).encode(), accept)

    def _post(self, url: str, body: bytes, accept: str) -> tuple[str, bytes]:
        headers = {"Accept": accept, "Content-Type": "application/json"}
        request = urllib.request.Request(url, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.headers["content-type"], response.read()
        except HTTPError as error:
            with error:
                raise RuntimeError(f"{url}: {error.code} {error.read()!r}") from error


@contextmanager
def serving(name: str) -> Iterator[Server]:
    """A framework's server while the block runs. Raises RuntimeError where it does not start."""
    command = [str(python_of(name)), "-m", "tests.frameworks.serve", name]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as log,
        subprocess.Popen(
            command,
            cwd=ENVIRONMENTS.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        port = process.stdout.readline()
        if not port:
            log.seek(0)
            raise RuntimeError(f"{name} did not start: {log.read()}")
        try:
            yield Server(name, int(port))
        finally:
            process.stdin.close()
