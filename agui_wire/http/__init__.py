"""aiohttp server and client (extra `http`), and `asgi`, which needs nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import AgentClient, Run, SyncRun
    from .conversation import Conversation
    from .server import agent_handler, event_stream_response

__all__ = [
    "AgentClient",
    "Conversation",
    "Run",
    "SyncRun",
    "agent_handler",
    "event_stream_response",
]

_HOMES = {
    "AgentClient": ".client",
    "Conversation": ".conversation",
    "Run": ".client",
    "SyncRun": ".client",
    "agent_handler": ".server",
    "event_stream_response": ".server",
}


def __getattr__(name: str) -> Any:
    # aiohttp is loaded by who uses it: `agui_wire.http.asgi` does not.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(home, __name__)
    except ModuleNotFoundError as error:
        if error.name != "aiohttp":
            raise
        message = f"agui_wire.http.{name} needs aiohttp: pip install 'agui-wire[http]'"
        raise ModuleNotFoundError(message, name="aiohttp") from None
    return getattr(module, name)
