"""Calling an AG-UI agent with aiohttp."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import aiohttp
from aiohttp import compression_utils

from .._json import DEFAULT_MAX_DEPTH, DEFAULT_MAX_FRAME_SIZE
from ..media_types import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, wire_of
from ..pipeline.consumer import Middleware
from ..run_input import RunAgentInput
from ._compress import Compression, acceptable_codings
from ._run import Endpoint, Run, SyncRun

__all__ = ["AgentClient", "Run", "SyncRun"]

_SHORT_NAMES = {
    "protobuf": AGUI_MEDIA_TYPE,
    "msgpack": MSGPACK_MEDIA_TYPE,
    "sse": SSE_MEDIA_TYPE,
}


class AgentClient:
    """An agent behind a URL; each run is a request of its own, and shares nothing with others.

    - `session`: an aiohttp session to use; it is not closed. Without one each run has its own.
    - `headers`: sent with every run; those that the protocol needs are added.
    - `wires`: what to ask for, as media types or as "protobuf", "msgpack", "sse" (protobuf and
      SSE). SSE is always named. The answer's Content-Type alone decides how it is read.
    - `compression`: what to accept, "gzip", "zstd" or "auto"; None (the default) for nothing.
    - `connect_timeout`: seconds until the connection stands (30).
    - `stall_timeout`: seconds without a byte from the server, heartbeats included (None).
    - `total_timeout`: seconds for a whole run (None). For all three, None waits for ever.
    - `max_frame_size` in bytes, `max_depth` in JSON levels, `middleware`: as in StreamConsumer.

    Raises ValueError for a wire or a compression that there is not, ImportError for
    `compression="zstd"` without its library.
    """

    def __init__(
        self,
        url: str,
        *,
        session: aiohttp.ClientSession | None = None,
        headers: Mapping[str, str] | None = None,
        wires: Sequence[str] = (AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE),
        compression: Compression | None = None,
        connect_timeout: float | None = 30.0,
        stall_timeout: float | None = None,
        total_timeout: float | None = None,
        max_frame_size: int = DEFAULT_MAX_FRAME_SIZE,
        max_depth: int = DEFAULT_MAX_DEPTH,
        middleware: Iterable[Middleware] = (),
    ) -> None:
        if isinstance(wires, str):
            wires = (wires,)
        names = dict.fromkeys([*(_media_type(wire) for wire in wires), SSE_MEDIA_TYPE])
        ours = {
            "Accept": ", ".join(names),
            "Accept-Encoding": ", ".join(_readable(compression)) or "identity",
            "Content-Type": "application/json",
        }
        replaced = {name.lower() for name in ours}
        kept = {n: v for n, v in (headers or {}).items() if n.lower() not in replaced}
        self.url = url
        self._endpoint = Endpoint(
            url=url,
            headers={**kept, **ours},
            timeout=aiohttp.ClientTimeout(
                total=total_timeout, sock_connect=connect_timeout, sock_read=stall_timeout
            ),
            session=session,
            max_frame_size=max_frame_size,
            max_depth=max_depth,
            middleware=tuple(middleware),
        )

    def run(self, run_input: RunAgentInput | dict[str, Any]) -> Run:
        """A run to be entered with `async with` and read with `async for`.

        Raises EncodeError where the run input is malformed: it is not sent.
        """
        return Run(self._endpoint, run_input)

    def run_sync(self, run_input: RunAgentInput | dict[str, Any]) -> SyncRun:
        """A run as a plain iterator of its events, for scripts.

        Raises EncodeError as `run` does, RuntimeError in a running event loop and for a client
        with a session, which belongs to its own loop.
        """
        if self._endpoint.session is not None:
            raise RuntimeError("run_sync needs a client without a session")
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return SyncRun(self.run(run_input))
        raise RuntimeError("run_sync does not work inside an event loop: use run")


def _readable(compression: Compression | None) -> list[str]:
    """The codings that `compression` stands for, as far as this aiohttp reads them."""
    codings = acceptable_codings(compression)
    if getattr(compression_utils, "HAS_ZSTD", False):
        return list(codings)
    if compression == "zstd":
        raise ImportError("compression='zstd' needs an aiohttp that reads it, 3.13 or later")
    return [coding for coding in codings if coding != "zstd"]


def _media_type(wire: str) -> str:
    return _SHORT_NAMES.get(wire) or wire_of(wire)
