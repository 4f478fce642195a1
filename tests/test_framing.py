"""FrameReader: where frames begin and end, limits, and what is copied."""

from __future__ import annotations

import tracemalloc
from array import array
from collections.abc import Iterable
from typing import Any

import pytest

from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    SSE_MEDIA_TYPE,
    FrameReader,
    FrameTooLarge,
    StreamError,
    TruncatedStream,
)
from tests.streams import BINARY_WIRES, WIRES, in_pieces, prefixed, refusal_of, two_pieces

MIB = 1024 * 1024


def frames_of(wire: str, chunks: Iterable[bytes], **options: Any) -> list[bytes]:
    reader = FrameReader(WIRES[wire], **options)
    found = [bytes(item) for chunk in chunks for item in reader.feed(chunk)]
    return found + [bytes(item) for item in reader.close()]


def feed_all(reader: FrameReader, chunks: Iterable[bytes]) -> None:
    """Feeds chunks that complete no frame."""
    for chunk in chunks:
        assert reader.feed(chunk) == []


def data_of(chunks: Iterable[bytes]) -> list[bytes]:
    """The data of each event of an SSE stream."""
    reader = FrameReader(SSE_MEDIA_TYPE)
    found = [item for chunk in chunks for item in reader.feed(chunk)]
    return [bytes(reader.payload(item)) for item in found + reader.close()]


# Name, stream, the data of its events.
SSE_STREAMS: list[tuple[str, bytes, list[bytes]]] = [
    ("nothing", b"", []),
    ("lf", b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
    ("crlf", b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    ("cr", b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
    ("lf then cr", b"data: a\n\rdata: b\n\r", [b"a", b"b"]),
    ("lf then crlf", b"data: a\n\r\ndata: b\n\r\n", [b"a", b"b"]),
    ("crlf then lf", b"data: a\r\n\ndata: b\r\n\n", [b"a", b"b"]),
    ("crlf then cr", b"data: a\r\n\rdata: b\r\n\r", [b"a", b"b"]),
    ("cr then crlf", b"data: a\r\r\ndata: b\r\r\n", [b"a", b"b"]),
    ("one line end is no blank line", b"data: a\r\ndata: b\r\n\r\n", [b"a\nb"]),
    ("mixed lines of one event", b"data: a\rdata: b\r\ndata: c\n\n", [b"a\nb\nc"]),
    ("blank lines before", b"\n\r\n\r\n\ndata: a\n\n", [b"a"]),
    ("blank lines between", b"data: a\n\n\n\r\n\r\rdata: b\n\n\n", [b"a", b"b"]),
    ("bom", b"\xef\xbb\xbfdata: a\n\ndata: b\n\n", [b"a", b"b"]),
    ("bom and comment", b"\xef\xbb\xbf: hi\ndata: a\n\n", [b"a"]),
    ("bom and blank line", b"\xef\xbb\xbf\n\ndata: a\n\n", [b"a"]),
    ("no space", b"data:a\n\n", [b"a"]),
    ("only one space is taken", b"data:  a \n\n", [b" a "]),
    ("also after another field", b"id: 1\ndata:  a \n\n", [b" a "]),
    ("nothing but a bom", b"\xef\xbb\xbf", []),
    ("a colon in the data", b"data: a:b: c\n\n", [b"a:b: c"]),
    ("several data lines", b"data: a\ndata:\ndata:b\n\n", [b"a\n\nb"]),
    ("comment block", b": ping\n\ndata: a\n\n: ping\n\n", [b"a"]),
    ("comment between lines", b"data: a\n: ping\n:\ndata: b\n\n", [b"a\nb"]),
    ("comment before data", b": ping\ndata: a\n\n", [b"a"]),
    ("other fields", b"event: x\nid: 7\nretry: 10\nfuture\ndata: a\nid\n\n", [b"a"]),
    ("retry and id blocks", b"retry: 10\n\nid: 7\n\ndata: a\n\n", [b"a"]),
    ("a field that begins like data", b"data2: x\ndata : y\nxdata: z\n\ndata: a\n\n", [b"a"]),
    ("data in a value", b": data: x\nid:data: y\n\ndata: a\n\n", [b"a"]),
    ("empty data", b"data:\n\ndata: \n\ndata\n\n", [b"", b"", b""]),
    (
        "other line separators",
        "data: a\u2028b\u0085c\x0b\x0cd\x1ce\n\n".encode(),
        ["a\u2028b\u0085c\x0b\x0cd\x1ce".encode()],
    ),
    ("no blank line at the end", b"data: a\n\ndata: b\n", [b"a", b"b"]),
    ("no line end at the end", b"data: a\n\ndata: b", [b"a", b"b"]),
    ("cr at the end", b"data: a\r", [b"a"]),
    ("two lines at the end", b"data: a\ndata: b", [b"a\nb"]),
    ("comment at the end", b"data: a\n\n: pin", [b"a"]),
    ("a field at the end", b"data: a\n\nretry: 1", [b"a"]),
    ("a half field after whole data", b"data: a\nid", [b"a"]),
]


@pytest.mark.parametrize(
    ("stream", "data"), [row[1:] for row in SSE_STREAMS], ids=[row[0] for row in SSE_STREAMS]
)
def test_sse_data(stream: bytes, data: list[bytes]) -> None:
    assert data_of([stream]) == data
    assert data_of(in_pieces(stream, 1)) == data
    for chunks in two_pieces(stream):
        assert data_of(chunks) == data
        assert data_of([chunks[0], b"", chunks[1]]) == data


@pytest.mark.parametrize(
    ("end", "late"),
    [(b"\n\n", 0), (b"\r\n\r\n", 1), (b"\r\r", 0), (b"\n\r", 0), (b"\r\n\n", 0), (b"\r\r\n", 1)],
)
def test_a_complete_event_is_not_held_back(end: bytes, late: int) -> None:
    """It comes with the last byte that it needs; the LF of a CRLF may come later."""
    event = b"data: a" + end
    needed = len(event) - late
    for cut in range(needed):
        reader = FrameReader(SSE_MEDIA_TYPE)
        assert reader.feed(event[:cut]) == []
        (frame,) = reader.feed(event[cut:needed])
        assert bytes(frame) == event[:needed]
        (frame,) = reader.feed(event[needed:] + event)
        assert bytes(frame) == event
        assert reader.close() == []


def test_sse_frames_are_the_stream_but_for_blocks_without_data() -> None:
    stream = b": hi\n\nid: 1\ndata: a\r\n\r\nretry: 5\n\ndata: b\n\n"
    assert frames_of("sse", [stream]) == [b"id: 1\ndata: a\r\n\r\n", b"data: b\n\n"]


@pytest.mark.parametrize(
    "rest", [b"d", b"da", b"dat", b"data", b"data:", b"data: ", b"id: 1\nda", b"id: 1\ndata:"]
)
def test_sse_cut_before_the_data_is_truncated(rest: bytes) -> None:
    for chunks in two_pieces(b"data: a\n\n" + rest):
        reader = FrameReader(SSE_MEDIA_TYPE)
        assert len([item for chunk in chunks for item in reader.feed(chunk)]) == 1
        with pytest.raises(TruncatedStream) as info:
            reader.close()
        assert refusal_of(info.value)[2:] == (1, 9)


def test_sse_cut_behind_a_bom_is_truncated() -> None:
    for rest in (b"d", b"data", b"data:"):
        reader = FrameReader(SSE_MEDIA_TYPE)
        assert reader.feed(b"\xef\xbb\xbf" + rest) == []
        with pytest.raises(TruncatedStream):
            reader.close()


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r\n", b"\n\r\n", b"\r\r", b"\n\r"])
def test_sse_frames_are_the_same_wherever_the_stream_is_cut(end: bytes) -> None:
    event = b"data: a" + end
    for chunks in two_pieces(event * 3):
        found = frames_of("sse", chunks)
        if end.endswith(b"\r\n") and chunks[0].endswith(event[:-1]):
            # Given at its CR; the LF came later and is dropped.
            torn = found.pop(len(chunks[0]) // len(event))
            assert torn == event[:-1]
        assert set(found) == {event}


@pytest.mark.parametrize("wire", BINARY_WIRES)
def test_binary_frames_are_the_stream(wire: str) -> None:
    frames = [prefixed(payload) for payload in (b"", b"a", b"bc" * 100, b"", b"d" * 300)]
    stream = b"".join(frames)
    assert frames_of(wire, [stream]) == frames
    for size in (1, 2, 3, 5, 199):
        assert frames_of(wire, in_pieces(stream, size)) == frames
    for chunks in two_pieces(stream):
        assert frames_of(wire, [chunks[0], b"", chunks[1]]) == frames


def test_payload_is_what_follows_the_prefix() -> None:
    reader = FrameReader(AGUI_MEDIA_TYPE)
    (frame,) = reader.feed(prefixed(b"inside"))
    assert bytes(reader.payload(frame)) == b"inside"
    assert bytes(reader.payload(bytes(frame))) == b"inside"
    with pytest.raises(StreamError, match="prefix"):
        reader.payload(b"\x00\x00")


@pytest.mark.parametrize("content_type", ["text/plain", "", "application/json", "event-stream"])
def test_a_type_that_is_no_wire_is_the_callers_error(content_type: str) -> None:
    with pytest.raises(ValueError, match="no AG-UI wire"):
        FrameReader(content_type)


@pytest.mark.parametrize("wire", BINARY_WIRES)
def test_an_end_inside_a_frame_is_truncation(wire: str) -> None:
    frames = prefixed(b"first") + prefixed(b"second")
    for stop in range(len(frames)):
        for chunks in ([frames[:stop]], in_pieces(frames[:stop], 1)):
            reader = FrameReader(WIRES[wire])
            found = [item for chunk in chunks for item in reader.feed(chunk)]
            assert len(found) == (stop >= 9)
            if stop in (0, 9):
                assert reader.close() == []
                continue
            with pytest.raises(TruncatedStream) as info:
                reader.close()
            assert refusal_of(info.value)[2:] == ((0, 0) if stop < 9 else (1, 9))
            with pytest.raises(TruncatedStream):
                reader.feed(b"x")
            with pytest.raises(TruncatedStream):
                reader.close()


@pytest.mark.parametrize("wire", BINARY_WIRES)
@pytest.mark.parametrize("prefix", [b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\xa0\x00\x00"])
def test_a_length_over_the_limit_is_refused_by_its_prefix(wire: str, prefix: bytes) -> None:
    for chunks in ([prefix], in_pieces(prefix, 1), [prefix[:3], prefix[3:] + b"rest"]):
        reader = FrameReader(WIRES[wire])
        for chunk in chunks[:-1]:
            assert reader.feed(chunk) == []
        tracemalloc.start()
        try:
            with pytest.raises(FrameTooLarge) as info:
                reader.feed(chunks[-1])
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 64 * 1024
        assert info.value.size == 4 + int.from_bytes(prefix, "big")
        assert info.value.limit == 10 * MIB
        with pytest.raises(FrameTooLarge):
            reader.close()


@pytest.mark.parametrize("wire", WIRES)
def test_the_limit_is_the_largest_frame_that_passes(wire: str) -> None:
    frame = b"data: 789\n\n" if wire == "sse" else prefixed(b"5678901")
    limit = len(frame)
    for chunks in ([frame * 2], *two_pieces(frame * 2), in_pieces(frame * 2, 1)):
        assert frames_of(wire, chunks, max_frame_size=limit) == [frame, frame]
        reader = FrameReader(WIRES[wire], max_frame_size=limit - 1)
        with pytest.raises(FrameTooLarge) as info:
            feed_all(reader, chunks)
        assert (info.value.size, info.value.limit) == (limit, limit - 1)
        assert refusal_of(info.value)[2:] == (0, 0)


@pytest.mark.parametrize("wire", WIRES)
def test_frames_before_one_that_is_too_large_come_out_first(wire: str) -> None:
    small = b"data: a\n\n" if wire == "sse" else prefixed(b"a")
    large = b"data: " + b"b" * 100 + b"\n\n" if wire == "sse" else prefixed(b"b" * 100)
    reader = FrameReader(WIRES[wire], max_frame_size=20)
    assert [bytes(item) for item in reader.feed(small + small + large + small)] == [small, small]
    for chunk in (small, None, b""):
        with pytest.raises(FrameTooLarge) as info:
            reader.close() if chunk is None else reader.feed(chunk)
        assert refusal_of(info.value)[2:] == (2, 2 * len(small))


def test_an_sse_event_is_measured_over_all_its_lines() -> None:
    line = b"data: " + b"x" * 10 + b"\n"
    for filler in (line, b": " + b"x" * 14 + b"\n", b"id: 1\r\n", b"future: x\r"):
        reader = FrameReader(SSE_MEDIA_TYPE, max_frame_size=1000)
        with pytest.raises(FrameTooLarge) as info:
            feed_all(reader, [filler] * 1000)
        assert info.value.size == 1001


def test_the_verdict_on_size_does_not_depend_on_where_a_crlf_is_cut() -> None:
    event = b"data: a\r\n\r\n"
    for limit in range(8, 13):
        outcomes: set[int | str] = set()
        for chunks in ([event], *two_pieces(event), in_pieces(event, 1)):
            try:
                outcomes.add(len(frames_of("sse", chunks, max_frame_size=limit)))
            except FrameTooLarge as error:
                outcomes.add(str(error))
        assert len(outcomes) == 1, limit


def test_an_sse_event_that_never_ends_is_refused_at_the_limit() -> None:
    reader = FrameReader(SSE_MEDIA_TYPE, max_frame_size=MIB)
    chunk = b"data: " + b"x" * 65530
    tracemalloc.start()
    try:
        with pytest.raises(FrameTooLarge):
            feed_all(reader, [chunk] * 100)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * MIB


@pytest.mark.parametrize("wire", WIRES)
def test_a_large_frame_under_a_raised_limit(wire: str) -> None:
    inside = b"x" * (11 * MIB)
    frame = b"data: " + inside + b"\n\n" if wire == "sse" else prefixed(inside)
    for chunks in ([frame], in_pieces(frame, 4096)):
        reader = FrameReader(WIRES[wire], max_frame_size=12 * MIB)
        tracemalloc.start()
        try:
            (found,) = [item for chunk in chunks for item in reader.feed(chunk)]
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert found == frame
        assert reader.payload(found) == inside
        # One copy, grown in place; none where the frame is inside one chunk.
        assert peak < (MIB if len(chunks) == 1 else 2 * len(frame))
    with pytest.raises(FrameTooLarge):
        FrameReader(WIRES[wire]).feed(frame)


class Counted(bytearray):
    """A buffer that counts the bytes that are appended to it."""

    appended = 0

    def __iadd__(self, other: Any) -> Counted:  # type: ignore[misc]
        Counted.appended += len(other)
        self.extend(other)
        return self


@pytest.mark.parametrize("wire", WIRES)
def test_many_small_chunks_cost_linear_work(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """32 MiB in 4 KiB pieces: every byte is buffered once, and only the buffer is searched."""
    monkeypatch.setattr("agui_wire._framing.bytearray", Counted, raising=False)
    Counted.appended = 0
    inside = b"x" * (32 * MIB)
    frame = b"data: " + inside + b"\n\n" if wire == "sse" else prefixed(inside)
    reader = FrameReader(WIRES[wire], max_frame_size=64 * MIB)
    (found,) = [item for chunk in in_pieces(frame, 4096) for item in reader.feed(chunk)]
    assert len(found) == len(frame)
    assert Counted.appended == len(frame)


@pytest.mark.parametrize("wire", WIRES)
def test_frames_inside_one_chunk_of_bytes_are_views_of_it(wire: str) -> None:
    frame = b"data: a\n\n" if wire == "sse" else prefixed(b"a")
    chunk = frame * 3
    reader = FrameReader(WIRES[wire])
    frames = reader.feed(chunk)
    assert len(frames) == 3
    assert all(item.obj is chunk for item in frames)
    assert reader.payload(frames[1]).obj is chunk
    # A frame that straddles two chunks is a buffer of its own; the next is a view again.
    cut = chunk[:-3]
    assert [item.obj is cut for item in reader.feed(cut)] == [True, True]
    rest = chunk[-3:] + chunk
    assert [item.obj is rest for item in reader.feed(rest)] == [False, True, True, True]


def test_frames_are_read_only() -> None:
    stream = prefixed(b"abc")
    for chunks in ([stream], in_pieces(stream, 2), [bytearray(stream)]):
        reader = FrameReader(MSGPACK_MEDIA_TYPE)
        (frame,) = [item for chunk in chunks for item in reader.feed(chunk)]
        assert frame.readonly


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "view",
    [bytearray, memoryview, lambda data: memoryview(data).toreadonly()],
    ids=["bytearray", "memoryview", "read-only memoryview"],
)
def test_a_buffer_may_change_after_it_was_fed(wire: str, view: Any) -> None:
    frame = b"data: abc\n\n" if wire == "sse" else prefixed(b"abc")
    for cut in (0, 1, 4, 6):
        buffer = bytearray(frame[cut:] + frame)
        data: bytearray | memoryview = buffer if view is bytearray else view(buffer)
        reader = FrameReader(WIRES[wire])
        reader.feed(frame[:cut])
        frames = reader.feed(data)
        assert len(frames) == 2
        if isinstance(data, memoryview):
            data.release()
        for index in range(len(buffer)):
            buffer[index] = 0xFF
        buffer.clear()
        assert [bytes(item) for item in frames] == [frame, frame]


def test_views_of_other_shapes_are_read_as_their_bytes() -> None:
    frame = prefixed(b"ab" * 6)
    doubled = bytes(byte for byte in frame for _ in range(2))
    for view in (memoryview(array("I", frame)), memoryview(doubled)[::2]):
        (found,) = FrameReader(AGUI_MEDIA_TYPE).feed(view)
        assert bytes(found) == frame
