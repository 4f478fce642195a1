"""StreamWriter, merging, the outbox and the content codings, without a socket."""

from __future__ import annotations

import asyncio
import random
import zlib
from typing import Any

import pytest

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, EncodeError, ProtocolViolation
from agui_wire.events import (
    CustomEvent,
    RunErrorEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)
from agui_wire.http._coalesce import MAX_MERGED
from agui_wire.http._compress import acceptable_codings, choose_coding, compressor
from agui_wire.http._outbox import Outbox
from agui_wire.http._writer import StreamWriter

from .harness import FINISHED, STARTED, TEXT_END, TEXT_START, WIRES, delta, text_run


def written(writer: StreamWriter, *events: Any) -> list[list[Any]]:
    """What leaves for each event, decoded."""
    return [agui_wire.decode(writer.write(event), writer.content_type) for event in events]


def flushed(writer: StreamWriter) -> list[Any]:
    return agui_wire.decode(writer.flush(), writer.content_type)


@pytest.mark.parametrize("wire", WIRES)
def test_adjacent_deltas_of_one_id_become_one(wire: str) -> None:
    writer = StreamWriter(wire, coalesce=True)
    out = written(writer, STARTED, TEXT_START, delta("a"), delta("b"), delta(""), delta("c"))
    assert out == [[STARTED], [TEXT_START], [], [], [], []]
    assert writer.merging
    assert written(writer, TEXT_END, FINISHED) == [[delta("abc"), TEXT_END], [FINISHED]]
    assert not writer.merging
    assert flushed(writer) == []


def test_every_other_event_lets_the_delta_go_first() -> None:
    others = [
        delta("other id", "n"),
        ToolCallArgsEvent(tool_call_id="m", delta="other kind"),
        TextMessageContentEvent(message_id="m", delta="other tag", subagent_run_id="s"),
        TextMessageContentEvent(message_id="m", delta="metadata", metadata={"a": 1}),
        TextMessageContentEvent(message_id="m", delta="raw", raw_event={}),
        TextMessageChunkEvent(message_id="m", delta="other kind"),
        {"type": "CUSTOM", "name": "n", "value": None},
        TEXT_START,
    ]
    for other in others:
        writer = StreamWriter(AGUI_MEDIA_TYPE, coalesce=True)
        assert written(writer, delta("a"), delta("b")) == [[], []]
        (out,) = written(writer, other)
        assert out[0] == delta("ab")
        assert [*out, *flushed(writer)][1:] != []


def test_the_first_timestamp_stays() -> None:
    writer = StreamWriter(SSE_MEDIA_TYPE, coalesce=True)
    for n in range(3):
        writer.write(TextMessageContentEvent(message_id="m", delta=str(n), timestamp=n + 1))
    (event,) = flushed(writer)
    assert (event.delta, event.timestamp) == ("012", 1)


def test_a_merged_delta_is_bounded() -> None:
    writer = StreamWriter(SSE_MEDIA_TYPE, coalesce=True)
    out = [each for n in range(50) for each in written(writer, delta("x" * 1000))[0]]
    out += flushed(writer)
    assert sum(len(event.delta) for event in out) == 50_000
    assert all(len(event.delta) <= MAX_MERGED for event in out)
    assert len(out) == 4


@pytest.mark.parametrize("wire", WIRES)
def test_dicts_and_sdk_models_merge_with_structs(wire: str) -> None:
    core = pytest.importorskip("ag_ui.core")
    writer = StreamWriter(wire, coalesce=True)
    out = written(
        writer,
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"},
        {"type": "TEXT_MESSAGE_CONTENT", "message_id": "m", "delta": "b", "rawEvent": None},
        core.TextMessageContentEvent(message_id="m", delta="c"),
        delta("d"),
    )
    assert out == [[], [], [], []]
    assert flushed(writer) == [delta("abcd")]
    writer.write(core.TextMessageContentEvent(message_id="m", delta="c"))
    writer.write(core.TextMessageContentEvent(message_id="m", delta="d"))
    assert flushed(writer) == [delta("cd")]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("coalesce", [False, True])
def test_merging_changes_no_text_and_no_order(wire: str, coalesce: bool) -> None:
    """Any sequence of deltas, halves of emoji among them, between other events."""
    shuffled = random.Random(1)
    pieces = ["a", "\ud83d", "\ude00", "b\ud83d", "\ude00c", "", "é"]
    for _ in range(50):
        events: list[Any] = []
        texts = {"m": "", "n": ""}
        for _ in range(shuffled.randrange(40)):
            message_id = shuffled.choice("mn")
            piece = shuffled.choice(pieces)
            lone = texts[message_id][-1:] == "\ud83d"
            if lone != (piece[:1] == "\ude00"):
                continue
            texts[message_id] += piece
            events.append(delta(piece, message_id))
            if shuffled.random() < 0.2:
                events.append({"type": "CUSTOM", "name": str(len(events)), "value": dict(texts)})
        writer = StreamWriter(wire, coalesce=coalesce)
        body = b"".join(map(writer.write, events)) + writer.flush() + writer.fail("end")
        seen = {"m": "", "n": ""}
        names = []
        for event in agui_wire.decode(body, wire):
            if isinstance(event, TextMessageContentEvent):
                seen[event.message_id] += event.delta
            elif isinstance(event, CustomEvent):
                names.append(event.name)
                for message_id, text in event.value.items():
                    # A half waits for its partner; all that is whole came first.
                    assert len(seen[message_id]) >= len(_whole(text).rstrip("\ufffd"))
        for message_id, text in texts.items():
            assert seen[message_id] == _whole(text.removesuffix("\ud83d"))
        assert names == [e["name"] for e in events if isinstance(e, dict)]


def _whole(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def test_a_bad_delta_is_refused_when_it_comes_and_not_when_it_leaves() -> None:
    writer = StreamWriter(SSE_MEDIA_TYPE, coalesce=True, surrogates="raise")
    writer.write(delta("good"))
    with pytest.raises(EncodeError):
        writer.write(delta("\udc00"))
    with pytest.raises(EncodeError):
        writer.write(
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x", "timestamp": "1"}
        )
    assert agui_wire.decode(writer.fail("it broke"), SSE_MEDIA_TYPE) == [
        delta("good"),
        RunErrorEvent(message="it broke"),
    ]


@pytest.mark.parametrize("wire", WIRES)
def test_verify_refuses_before_anything_is_written(wire: str) -> None:
    writer = StreamWriter(wire, verify=True, coalesce=True)
    written(writer, STARTED, TEXT_START, delta("a"))
    with pytest.raises(ProtocolViolation) as caught:
        writer.write(delta("b", "unknown"))
    assert caught.value.id == "unknown"
    last = agui_wire.decode(writer.fail(str(caught.value)), wire)
    assert [event.type for event in last] == ["TEXT_MESSAGE_CONTENT", "RUN_ERROR"]


def test_fail_is_written_once_and_carries_any_text() -> None:
    writer = StreamWriter(AGUI_MEDIA_TYPE, surrogates="raise")
    (error,) = agui_wire.decode(writer.fail("half \ud800"), AGUI_MEDIA_TYPE)
    assert error.type == "RUN_ERROR"
    assert writer.ended
    assert writer.fail("again") == b""


async def test_the_outbox_gives_all_that_is_ready() -> None:
    outbox = Outbox(lambda: b"")
    for part in (b"a", b"", b"b", b"c"):
        outbox.put(part)
    assert await outbox.take() == b"abc"
    assert await outbox.take(0) == b""
    outbox.put(b"d")
    outbox.end()
    assert await outbox.take() == b"d"
    assert await outbox.take() is None


async def test_the_writer_waits_while_the_outbox_is_full() -> None:
    outbox = Outbox(lambda: b"", limit=10)
    assert outbox.put(b"x" * 10)
    waiting = asyncio.create_task(outbox.give_way())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    assert await outbox.take() == b"x" * 10
    await asyncio.wait_for(waiting, 10)


async def test_a_full_outbox_says_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agui_wire.http._outbox._PROMPT", 3600.0)
    outbox = Outbox(lambda: b"", limit=10)
    await outbox.give_way()
    assert not outbox.put(b"x" * 9)
    assert outbox.put(b"x")


async def test_a_closed_outbox_drops_everything_and_holds_nobody() -> None:
    outbox = Outbox(lambda: b"", limit=10)
    assert outbox.put(b"x" * 10)
    waiting = asyncio.create_task(outbox.give_way())
    await asyncio.sleep(0)
    outbox.close()
    await asyncio.wait_for(waiting, 10)
    outbox.put(b"x" * 100)
    await asyncio.wait_for(outbox.give_way(), 10)
    with pytest.raises(ConnectionResetError):
        await outbox.take()


async def test_a_writer_that_never_pauses_lets_others_run() -> None:
    """Nobody could stop it otherwise, least of all once nothing of it is taken any more."""
    for close in (False, True):
        outbox = Outbox(lambda: b"")
        if close:
            outbox.close()
        ticks: list[bool] = []
        asyncio.get_running_loop().call_soon(ticks.append, True)
        while not ticks:
            if outbox.put(b""):
                await outbox.give_way()


async def test_what_is_merged_leaves_when_it_is_due() -> None:
    outbox = Outbox(lambda: b"merged", merge_for=0.01)
    taking = asyncio.create_task(outbox.take(3600))
    await asyncio.sleep(0)
    outbox.put(b"", merging=True)
    assert await asyncio.wait_for(taking, 10) == b"merged"
    outbox.put(b"", merging=True)
    outbox.put(b"with the next", merging=False)
    assert await outbox.take() == b"with the next"
    assert await outbox.take(0.03) == b""


async def test_what_is_merged_waits_while_the_reader_is_busy() -> None:
    outbox = Outbox(lambda: b"merged", merge_for=3600)
    outbox.put(b"before", merging=True)
    assert await outbox.take() == b"before"
    assert await outbox.take(0.01) == b""


@pytest.mark.parametrize(
    ("header", "compression", "coding"),
    [
        ("gzip", "gzip", "gzip"),
        ("GZip ; q=0.5", "gzip", "gzip"),
        ("gzip;q=0", "gzip", None),
        ("", "auto", None),
        ("*", "gzip", "gzip"),
        ("*;q=0", "gzip", None),
        ("gzip;q=0, *", "gzip", None),
        ("identity", "auto", None),
        ("br, deflate", "auto", None),
        ("gzip, deflate, br, zstd", "auto", "zstd"),
        ("gzip, zstd;q=0.5", "auto", "gzip"),
        ("gzip", "zstd", None),
        ("zstd", "gzip", None),
        ("gzip;q=high", "gzip", None),
        ("gzip, zstd", None, None),
    ],
)
def test_the_coding_follows_accept_encoding(
    header: str, compression: str | None, coding: str | None
) -> None:
    assert choose_coding(header, compression) == coding


def test_codings_that_there_are() -> None:
    assert acceptable_codings(None) == ()
    assert acceptable_codings("auto") == ("zstd", "gzip")
    with pytest.raises(ValueError, match="compression"):
        acceptable_codings("br")


def test_zstd_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agui_wire.http._compress.zstd", None)
    assert acceptable_codings("auto") == ("gzip",)
    with pytest.raises(ImportError, match="zstd"):
        acceptable_codings("zstd")


def _inflater(coding: str) -> Any:
    if coding == "gzip":
        return zlib.decompressobj(31)
    from agui_wire.http._compress import zstd

    return zstd.ZstdDecompressor()


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@pytest.mark.parametrize("beats", ["before", "between", "only", "none"])
def test_nothing_waits_in_the_compressor(coding: str, beats: str) -> None:
    out, back = compressor(coding), _inflater(coding)
    if beats in ("before", "only"):
        for _ in range(3):
            assert back.decompress(out.heartbeat()) == b""
    if beats != "only":
        for event in text_run("hello", "x" * 100_000, "again"):
            data = agui_wire.encode(event, SSE_MEDIA_TYPE)
            assert back.decompress(out.write(data)) == data
            if beats == "between":
                assert back.decompress(out.heartbeat() * 3) == b""
    assert back.decompress(out.finish()) == b""
    assert back.eof
