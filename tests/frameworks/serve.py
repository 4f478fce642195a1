"""A framework's server, in its own environment: python -m tests.frameworks.serve NAME

It prints its port and ends when its input does. Under /plain is the documentation's example
without BinaryTransport, under /transport with it. POST /control/install and /control/uninstall
are those of `agui_wire.dropin`; /control/collect collects garbage, /control/cpu gives the
seconds that this process has used, and /control/versions what is installed here.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import socket
import sys
import time
from importlib.metadata import distributions
from typing import Any

import uvicorn

from agui_wire import dropin, protobuf_engine

from .examples import run


def versions() -> dict[str, str]:
    """The version of each distribution, and which protobuf engine of ours runs."""
    found = {
        each.metadata["Name"].lower().replace("_", "-"): each.version for each in distributions()
    }
    return {**found, "protobuf engine": protobuf_engine()}


CONTROLS = {
    "/control/install": lambda: run("dropin")["replaced"],
    "/control/uninstall": dropin.uninstall,
    "/control/collect": gc.collect,
    "/control/cpu": time.process_time,
    "/control/versions": versions,
}


class Switchboard:
    """Sends a request to the application that its path begins with."""

    def __init__(self, **apps: Any) -> None:
        self._apps = apps

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        control = CONTROLS.get(scope["path"])
        if control is None:
            _, name, path = scope["path"].split("/", 2)
            path = f"/{path}"
            inner = {**scope, "path": path, "raw_path": path.encode()}
            await self._apps[name](inner, receive, send)
            return
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(control()).encode()})


async def main(name: str) -> None:
    agents = importlib.import_module(f"tests.frameworks.agents.{name}")
    example = run(
        name, **{key: getattr(agents, key) for key in ("agent", "tools") if hasattr(agents, key)}
    )
    app = Switchboard(plain=example["server"], transport=example["app"])
    config = uvicorn.Config(app, log_level="warning", lifespan="off", ws="none", http="h11")
    server = uvicorn.Server(config)
    asyncio.get_running_loop().add_reader(sys.stdin, setattr, server, "should_exit", True)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        print(listener.getsockname()[1], flush=True)
        sys.stdout = sys.stderr  # nobody reads on, and some frameworks print
        await server.serve([listener])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
