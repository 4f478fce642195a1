"""The command `call`: one run of an agent, shown as it happens."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import uuid4

import click

from ..codecs import sse
from ..errors import AguiWireError, StreamError, TruncatedStream, UnexpectedResponse
from ..events import Event
from ..media_types import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, wire_of
from ..pipeline.assemble import MessageAssembler
from ..pipeline.consumer import StreamConsumer
from ..pipeline.request import read_run_input, write_run_input
from ..recording import json_line
from ._options import extra_http, print_error, print_warning

if TYPE_CHECKING:
    import aiohttp

__all__ = ["call"]

_ACCEPTS = {
    "protobuf": f"{AGUI_MEDIA_TYPE}, {SSE_MEDIA_TYPE}",
    "msgpack": f"{MSGPACK_MEDIA_TYPE}, {SSE_MEDIA_TYPE}",
    "sse": SSE_MEDIA_TYPE,
}
_RUN_ERROR, _BAD_STREAM, _HTTP_FAILURE = 1, 2, 3
_CONNECT_SECONDS = 30
_MAX_EXCERPT = 2048

Received = Callable[[int, "list[Event]"], None]


@click.command()
@click.argument("url")
@click.option("-m", "--message", help="What the user says.")
@click.option("--input", "input_file", type=click.File("rb"), help="A run input as JSON.")
@click.option(
    "--wire",
    type=click.Choice(list(_ACCEPTS)),
    default="protobuf",
    show_default=True,
    help="The wire to ask for; the agent may answer with SSE.",
)
@click.option("-H", "--header", "headers", multiple=True, help="A request header, 'Name: value'.")
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON lines.")
@click.option("--save", type=click.File("wb"), help="Record the body in this file.")
def call(
    url: str,
    message: str | None,
    input_file: BinaryIO | None,
    wire: str,
    headers: tuple[str, ...],
    as_json: bool,
    save: BinaryIO | None,
) -> None:
    """Run the agent at URL and show the run as it happens.

    The message goes behind those of the run input. The exit code is 1 where the run ends in
    RUN_ERROR, 2 for a bad stream, 3 where HTTP fails. Needs the extra `http`.
    """
    # Loaded by who uses it: the other commands start the faster.
    import asyncio

    from rich.console import Console

    from .view import RunView

    with extra_http():
        import aiohttp
    body = _run_input(input_file, message)
    request_headers = dict(map(_header, headers))
    request_headers |= {"Accept": _ACCEPTS[wire], "Content-Type": "application/json"}
    try:
        with ExitStack() as stack:
            view = None if as_json else stack.enter_context(RunView(Console()))
            received = _print_lines if view is None else view.received
            assembler = asyncio.run(_call(url, body, request_headers, save, received))
            if view is not None:
                view.finished(assembler)
    except StreamError as error:
        print_error(error)
        sys.exit(_BAD_STREAM)
    except (AguiWireError, aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
        print_error(error)
        sys.exit(_HTTP_FAILURE)
    sys.exit(_RUN_ERROR if assembler.outcome == "error" else 0)


async def _call(
    url: str,
    body: bytes,
    headers: dict[str, str],
    save: BinaryIO | None,
    received: Received,
) -> MessageAssembler:
    """Hand over the events as they come; gives what they amount to.

    The body is read here and not by AgentClient, which does not give out its bytes.
    """
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS)
    lost: Exception | None = None
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.post(url, data=BytesIO(body), headers=headers) as response,
    ):
        content_type = await _content_type(response)
        consumer = StreamConsumer(
            content_type, run_input=read_run_input(body), on_warning=print_warning
        )
        try:
            async for chunk in response.content.iter_any():
                if save is not None:
                    save.write(chunk)
                received(len(chunk), consumer.feed(chunk))
        except (aiohttp.ClientError, ConnectionError) as error:
            lost = error
    try:
        received(0, consumer.close())
    except TruncatedStream as error:
        received(0, list(error.events))
        if lost is None:
            raise
        raise TruncatedStream(f"the connection was lost: {error}") from lost
    return consumer.assembler


async def _content_type(response: aiohttp.ClientResponse) -> str:
    """The answer's content type. Raises UnexpectedResponse where it is no event stream."""
    content_type = response.headers.get("Content-Type", "")
    try:
        wire_of(content_type)
        if 200 <= response.status < 300:
            return content_type
    except ValueError:
        pass
    excerpt = await response.content.read(_MAX_EXCERPT)
    raise UnexpectedResponse(response.status, content_type, excerpt.decode("utf-8", "replace"))


def _run_input(file: BinaryIO | None, message: str | None) -> bytes:
    """The request's body: the run input in `file`, and the message."""
    run_input: dict[str, Any] = {"messages": []}
    try:
        if file is not None:
            run_input |= sse.decode_object(file.read())
        run_input.setdefault("threadId", str(uuid4()))
        run_input.setdefault("runId", str(uuid4()))
        if message is not None:
            said = {"id": str(uuid4()), "role": "user", "content": message}
            run_input["messages"] = [*run_input["messages"], said]
        return write_run_input(run_input)
    except (AguiWireError, TypeError) as error:
        raise click.BadParameter(str(error), param_hint="--input") from None


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise click.BadParameter(f"{text!r} is no 'Name: value'", param_hint="--header")
    return name.strip(), value.strip()


def _print_lines(size: int, events: list[Event]) -> None:
    for event in events:
        sys.stdout.buffer.write(json_line(event))
    sys.stdout.buffer.flush()
