"""ASGI applications under a real uvicorn, in the loop of the test."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

__all__ = ["serving"]


@asynccontextmanager
async def serving(app: Any, **options: Any) -> AsyncIterator[str]:
    """The URL of `app`, served while the block runs; `options` are uvicorn's."""
    options = {"log_config": None, "ws": "none", "lifespan": "off", "http": "h11", **options}
    config = uvicorn.Config(app, **options)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        await server.startup([listener])
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            await server.shutdown([listener])
