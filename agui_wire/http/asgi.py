"""AG-UI for any ASGI application and server; nothing of a framework is imported.

`BinaryTransport(app)` gives an application that streams AG-UI events over SSE the binary wires;
`agent_app(agent)` is an application that serves an agent.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, Literal

from .._json import DEFAULT_MAX_FRAME_SIZE
from .._warnings import OnWarning
from ..media_types import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, negotiate
from ._transcode import SseTranscoder

if TYPE_CHECKING:
    from ._asgi_agent import Agent
    from ._pump import ErrorMessage

__all__ = ["BinaryTransport", "agent_app"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

# RFC 9110 section 5.6.1: list members, where commas inside quoted strings do not count.
_MEMBER = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\[\s\S]?)*(?:"|\Z))+')
_OURS = (AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE)

_REPLACED = (
    b"content-type",
    b"content-length",
    b"content-encoding",
    b"cache-control",
    b"x-accel-buffering",
    b"vary",
)


def agent_app(
    agent: Agent,
    *,
    max_body_size: int = 10 * 1024 * 1024,
    error_message: ErrorMessage = "The agent failed.",
    keep_alive: float | None = 15.0,
    on_disconnect: Literal["cancel", "detach"] = "cancel",
    coalesce: float | None = None,
    verify: bool = False,
    **encoder_options: Any,
) -> ASGIApp:
    """An ASGI application that serves an agent on every path, under asyncio.

    `agent(run_input)` is an async generator, or a coroutine that returns an async iterator of
    events. Before the run starts, failures are HTTP statuses with a JSON body: 400 for a body
    that is no run input (it names the path), 415 for another content type than
    application/json, 413 for more than `max_body_size` bytes (10 MiB), 405 for another method
    than POST, 500 where `agent` raises before it gives an iterator.

    After that, where the agent raises, stops without a terminal event or yields what cannot be
    encoded, the stream ends with one RUN_ERROR; `error_message` is what it says, or makes that
    of the exception, whose traceback goes to the logger `agui_wire`. When the client is gone,
    the iterator is closed at once and awaited ("cancel"), or runs to its end unheard ("detach").

    `keep_alive` is how many idle seconds pass before a comment is sent on SSE, None for never;
    the binary wires have no heartbeat. `coalesce` lets adjacent deltas of one kind and id wait
    so many seconds to leave as one. `verify` holds the agent to the sequence rules: what breaks
    them becomes the RUN_ERROR. `encoder_options` are those of EventEncoder.
    """
    from ._asgi_agent import AgentApp

    return AgentApp(
        agent,
        max_body_size=max_body_size,
        error_message=error_message,
        keep_alive=keep_alive,
        on_disconnect=on_disconnect,
        coalesce=coalesce,
        verify=verify,
        **encoder_options,
    )


class BinaryTransport:
    """ASGI middleware: an application that answers `text/event-stream` speaks protobuf and
    MessagePack to the clients that name them in Accept. The application is not changed.

    It sees a client that accepts SSE and no compression. The SSE that it writes is read piece by
    piece and each piece leaves as frames, in one write that is awaited: backpressure and a
    disconnect reach the application. The first event decides what a body is: where that is no
    AG-UI event, the answer passes untouched; a body that goes wrong later ends in one RUN_ERROR,
    and so does one that stops without a terminal event, or whose application raises. Headers
    wait for that first event. Comments are dropped: the binary wires have no heartbeat.

    What else there is passes untouched: other scopes, HEAD, clients that do not ask, answers
    that are not 2xx, of another content type or with a Content-Encoding of their own.
    `Content-Encoding: identity` keeps compressing middleware in front from holding events back.

    `max_frame_size` bounds one event in bytes; `wildcards`, `lossy_int` and `on_warning` are as
    in EventEncoder.
    """

    # Each option by its name: type checkers compare them with what Starlette passes on.
    def __init__(
        self,
        app: ASGIApp,
        *,
        wildcards: bool = False,
        max_frame_size: int = DEFAULT_MAX_FRAME_SIZE,
        lossy_int: Literal["raise", "round", "string"] = "raise",
        on_warning: OnWarning | None = None,
    ) -> None:
        self._app = app
        self._wildcards = wildcards
        self._max_frame_size = max_frame_size
        self._lossy_int = lossy_int
        self._on_warning = on_warning

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI interface."""
        accept = "" if scope["type"] != "http" else header(scope, b"accept")
        if (
            not accept
            or scope["method"] == "HEAD"
            or negotiate(accept, wildcards=self._wildcards) == SSE_MEDIA_TYPE
        ):
            await self._app(scope, receive, send)
            return
        transcoder = SseTranscoder(
            accept,
            wildcards=self._wildcards,
            max_frame_size=self._max_frame_size,
            lossy_int=self._lossy_int,
            on_warning=self._on_warning,
        )
        answer = _Answer(send, transcoder, self._max_frame_size, tells_by_error=_since_2_4(scope))
        try:
            await self._app(_seen_inside(scope, accept), receive, answer.send)
        except Exception:
            await answer.abandoned("The agent failed.")
            raise
        else:
            await answer.abandoned("The agent ended the run without RUN_FINISHED or RUN_ERROR.")
        finally:
            transcoder.tell()


class _Answer:
    """One answer on its way out: held until its first event, then passed on or transcoded."""

    def __init__(
        self, send: Send, transcoder: SseTranscoder, max_held: int, *, tells_by_error: bool
    ) -> None:
        self._out = send
        self._tells_by_error = tells_by_error
        self._transcoder = transcoder
        self._max_held = max_held
        self._held: list[Message] = []
        self._held_bytes = 0
        self._transcoding = False
        self._passing = False
        self._ended = False
        self._gone = False

    async def send(self, message: Message) -> None:
        """Takes the application's messages."""
        kind = message["type"]
        if self._ended:
            # To the application, a body cut short is a client that is gone. Servers before ASGI
            # 2.4 tell it by `receive`, which they do on their own once the body has ended.
            if self._tells_by_error:
                raise OSError("the response has ended")
        elif self._passing:
            await self._send(message)
        elif kind == "http.response.start":
            self._passing = not _can_transcode(message)
            await (self._send(message) if self._passing else self._hold(message))
        elif kind == "http.response.body" and (self._held or self._transcoding):
            await self._take(message)
        elif self._held:
            await self._release(message)
        else:
            await self._send(message)

    async def abandoned(self, reason: str) -> None:
        """The application is done: ends a body that it left without an end."""
        if self._transcoding and not self._ended and not self._gone:
            await self._send_frames(self._transcoder.fail(reason), more=False)

    async def _take(self, message: Message) -> None:
        more: bool = message.get("more_body", False)
        frames = self._transcoder.feed(message.get("body", b""))
        if not more:
            frames += self._transcoder.close()
        if self._transcoder.is_agui:
            if not self._transcoding:
                self._transcoding = True
                start, self._held = self._held[0], []
                await self._send(_rewritten(start, self._transcoder.content_type))
            await self._send_frames(frames, more=more and not self._transcoder.ended)
        elif self._transcoder.is_agui is None and more and self._held_bytes < self._max_held:
            await self._hold(message)
        else:
            await self._release(message)

    async def _hold(self, message: Message) -> None:
        self._held.append(message)
        self._held_bytes += len(message.get("body", b""))

    async def _release(self, message: Message) -> None:
        self._passing = True
        held, self._held = self._held, []
        for each in [*held, message]:
            await self._send(each)

    async def _send_frames(self, frames: bytes, *, more: bool) -> None:
        self._ended = not more
        # Sent when empty too: sending is how an application learns that the client is gone.
        await self._send({"type": "http.response.body", "body": frames, "more_body": more})

    async def _send(self, message: Message) -> None:
        try:
            await self._out(message)
        except BaseException:
            self._gone = True
            raise


def header(scope: Scope, name: bytes) -> str:
    """A request's header, its lines joined with commas; empty where there is none."""
    return ",".join(value.decode("latin-1") for key, value in scope["headers"] if key == name)


def _since_2_4(scope: Scope) -> bool:
    version = scope.get("asgi", {}).get("spec_version", "2.0").split(".")
    return tuple(map(int, version)) >= (2, 4)


def _seen_inside(scope: Scope, accept: str) -> Scope:
    """The request as the application is to see it: one that asks for SSE, uncompressed."""
    others = [
        member.strip()
        for member in _MEMBER.findall(accept)
        if member.partition(";")[0].strip().lower() not in _OURS
    ]
    inside = ", ".join([SSE_MEDIA_TYPE, *filter(None, others)])
    headers = [
        (name, value)
        for name, value in scope["headers"]
        if name not in (b"accept", b"accept-encoding")
    ]
    return {**scope, "headers": [*headers, (b"accept", inside.encode("latin-1"))]}


def _can_transcode(start: Message) -> bool:
    given: Headers = start.get("headers", [])
    headers = {name.lower(): value.lower() for name, value in given}
    status: int = start["status"]
    media_type: bytes = headers.get(b"content-type", b"").partition(b";")[0].strip()
    return (
        200 <= status < 300
        and media_type == SSE_MEDIA_TYPE.encode()
        and headers.get(b"content-encoding", b"identity") == b"identity"
    )


def _rewritten(start: Message, content_type: str) -> Message:
    """The start of an SSE answer as that of a binary one."""
    headers: Headers = []
    vary: list[bytes] = []
    for name, value in start.get("headers", ()):
        if name.lower() == b"vary":
            vary.append(value)
        elif name.lower() not in _REPLACED:
            headers.append((name, value))
    message = {**start, "headers": headers + stream_headers(content_type, vary)}
    # The body may end before the application's, which then sends none.
    message.pop("trailers", None)
    return message


def stream_headers(content_type: str, vary: list[bytes]) -> Headers:
    """What every stream of ours says, so that nothing on its way rewrites it or holds it back."""
    members = [member.strip() for value in vary for member in value.split(b",")]
    if not {b"*", b"accept"} & {member.lower() for member in members}:
        members.append(b"Accept")
    headers = [
        (b"content-type", content_type.encode()),
        (b"vary", b", ".join(filter(None, members))),
        (b"cache-control", b"no-cache, no-transform"),
        (b"x-accel-buffering", b"no"),
    ]
    if content_type != SSE_MEDIA_TYPE:
        headers.append((b"content-encoding", b"identity"))
    return headers
