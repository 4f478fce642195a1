"""Cross-origin requests, for agents that browsers call from another origin (Fetch standard)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Union

from aiohttp import web

__all__ = ["Origins", "cors_headers", "preflight"]

Origins = Union[str, Collection[str], None]
"""The origins that may call: "*" for all, several, or None for none."""

_MAX_AGE = "600"


def cors_headers(request: web.Request, origins: Origins) -> dict[str, str]:
    """What a response says to a browser about who may read it; `Vary` is left to the caller."""
    if origins is None:
        return {}
    if origins == "*":
        return {"Access-Control-Allow-Origin": "*"}
    origin = request.headers.get("Origin", "")
    allowed = (origins,) if isinstance(origins, str) else origins
    return {"Access-Control-Allow-Origin": origin} if origin and origin in allowed else {}


def preflight(request: web.Request, origins: Origins) -> web.Response:
    """The answer to the OPTIONS request that a browser sends before the POST."""
    headers = cors_headers(request, origins)
    if headers:
        asked = request.headers.get("Access-Control-Request-Headers")
        headers["Access-Control-Allow-Methods"] = "POST"
        headers["Access-Control-Allow-Headers"] = asked or "Content-Type, Accept"
        headers["Access-Control-Max-Age"] = _MAX_AGE
    headers["Vary"] = "Origin, Access-Control-Request-Headers"
    return web.Response(status=204, headers=headers)
