"""Finding frames in a stream of bytes, for the length-prefixed wires and for SSE.

Both splitters take any chunking in time linear in the bytes that arrive: a frame inside one
chunk is a view of that chunk, and only what straddles chunks is buffered, once.
"""

from __future__ import annotations

import re
import struct
from typing import Protocol

from .errors import FrameTooLarge, MalformedFrame, StreamError, TruncatedStream

PREFIX_SIZE = 4
_read_length = struct.Struct(">I").unpack_from

_TEXT_STARTS = (b"data:", b"{", b"<", b"event:", b"id:", b"retry:", b":", b"HTTP/", b"\xef\xbb\xbf")

# A line end, then an empty line. `\r(?!\n)` keeps CRLF one line end.
_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n?|\n)")
# The same in a chunk without CR, many times faster.
_LF_BLANK_LINE = re.compile(rb"\n\n")
_CR = re.compile(rb"\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_HAS_DATA = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])data(?=[:\r\n]|\Z)")
_BOM = b"\xef\xbb\xbf"


class Splitter(Protocol):
    """Cuts chunks into frames."""

    starts: list[int]
    """Byte offsets in the stream of the frames that the last call gave."""

    offset: int
    """Byte offset in the stream behind the last frame."""

    @property
    def idle(self) -> bool:
        """Whether nothing is held of a frame, or waited for, that began in an earlier chunk."""
        ...

    def split(self, chunk: memoryview) -> list[memoryview]:
        """The frames that `chunk` completes; a fault is kept in `fault` for the caller."""
        ...

    def finish(self) -> list[memoryview]:
        """What the end of the stream completes. Raises TruncatedStream inside a frame."""
        ...

    def skip(self, frames: int, size: int) -> None:
        """Count frames that another reader took from the stream."""
        ...

    fault: StreamError | None


class PrefixedSplitter:
    """Frames of a 4-byte big-endian length and that many bytes.

    A length over the limit is refused as soon as its prefix is there, before anything of the
    frame is kept.
    """

    def __init__(self, max_frame_size: int) -> None:
        self.starts: list[int] = []
        self.fault: StreamError | None = None
        self._limit = max_frame_size
        self.offset = 0
        self._held = bytearray()
        self._index = 0

    def split(self, chunk: memoryview) -> list[memoryview]:
        frames: list[memoryview] = []
        self.starts = []
        size = len(chunk)
        position = self._complete_held(chunk, frames) if self._held else 0
        while self.fault is None and size - position >= PREFIX_SIZE:
            (length,) = _read_length(chunk, position)
            stop = position + PREFIX_SIZE + length
            if stop - position > self._limit:
                self._refuse(stop - position, bytes(chunk[position : position + PREFIX_SIZE]))
            elif stop > size:
                break
            else:
                self._emit(chunk[position:stop], frames)
                position = stop
        if self.fault is None and position < size:
            self._held += chunk[position:]
        return frames

    def _complete_held(self, chunk: memoryview, frames: list[memoryview]) -> int:
        """Ends the frame that an earlier chunk began, if `chunk` holds the rest of it."""
        position = 0
        if len(self._held) < PREFIX_SIZE:
            position = min(PREFIX_SIZE - len(self._held), len(chunk))
            self._held += chunk[:position]
            if len(self._held) < PREFIX_SIZE:
                return position
        size = PREFIX_SIZE + _read_length(self._held)[0]
        if size > self._limit:
            self._refuse(size, bytes(self._held))
        else:
            stop = min(position + size - len(self._held), len(chunk))
            self._held += chunk[position:stop]
            position = stop
            if len(self._held) == size:
                frame, self._held = self._held, bytearray()
                self._emit(memoryview(frame).toreadonly(), frames)
        return position

    def _emit(self, frame: memoryview, frames: list[memoryview]) -> None:
        frames.append(frame)
        self.starts.append(self.offset)
        self.offset += len(frame)
        self._index += 1

    def _refuse(self, size: int, prefix: bytes) -> None:
        hint = text_hint(prefix) if self.offset == 0 else ""
        self.fault = FrameTooLarge(
            size, self._limit, hint, event_index=self._index, offset=self.offset
        )

    @property
    def idle(self) -> bool:
        return not self._held

    def skip(self, frames: int, size: int) -> None:
        self._index += frames
        self.offset += size

    def finish(self) -> list[memoryview]:
        self.starts = []
        if not self._held:
            return []
        hint = text_hint(bytes(self._held[:16])) if self.offset == 0 else ""
        if len(self._held) < PREFIX_SIZE:
            part, size = " of its length prefix", PREFIX_SIZE
        else:
            part, size = "", PREFIX_SIZE + _read_length(self._held)[0]
        raise TruncatedStream(
            f"the stream ended inside a frame: {len(self._held)} of {size} bytes{part}"
            f" arrived{hint}",
            event_index=self._index,
            offset=self.offset,
        )


def text_hint(start: bytes) -> str:
    """What to say when a "binary" stream begins like text."""
    if start.startswith(_TEXT_STARTS) or any(text.startswith(start) for text in _TEXT_STARTS):
        shown = start[:16].decode("ascii", "replace")
        return f"; its first bytes read as text ({shown!r}): the peer sent no binary frames"
    return ""


class SseSplitter:
    """Events of an SSE stream (WHATWG HTML 9.2.6), each with its blank line.

    Blocks without a data field (comments, retry, id) are no frames. An event whose blank line
    ends in CR is given at once; an LF that follows in a later chunk belongs to it and is dropped.
    """

    def __init__(self, max_frame_size: int) -> None:
        self.starts: list[int] = []
        self.fault: StreamError | None = None
        self._limit = max_frame_size
        self.offset = 0
        self._held = bytearray()
        self._index = 0
        self._after_cr = False

    def split(self, chunk: memoryview) -> list[memoryview]:
        frames: list[memoryview] = []
        self.starts = []
        position = 0
        if self._after_cr and len(chunk):
            self._after_cr = False
            if chunk[0] == 0x0A:
                position = 1
                self.offset += 1
        blank_line = _BLANK_LINE if _CR.search(chunk) else _LF_BLANK_LINE
        if self._held:
            position = self._complete_held(chunk, position, blank_line, frames)
        while self.fault is None and not self._held:
            end = blank_line.search(chunk, position)
            if end is None:
                break
            stop = end.end()
            self._after_cr = stop == len(chunk) and chunk[stop - 1] == 0x0D
            self._emit(chunk[position:stop], frames)
            position = stop
        if self.fault is None and position < len(chunk):
            self._check_size(len(self._held) + len(chunk) - position)
            if self.fault is None:
                self._held += chunk[position:]
        return frames

    def _complete_held(
        self,
        chunk: memoryview,
        position: int,
        blank_line: re.Pattern[bytes],
        frames: list[memoryview],
    ) -> int:
        """Ends the event that an earlier chunk began, if `chunk` holds its blank line."""
        # A blank line that begins in what is held has a CRLF there at most, and three bytes here.
        tail = bytes(self._held[-2:])
        seam = _BLANK_LINE.search(tail + bytes(chunk[position : position + 3]))
        if seam is not None and seam.start() < len(tail):
            stop = position + seam.end() - len(tail)
        else:
            found = blank_line.search(chunk, position)
            if found is None:
                return position
            stop = found.end()
        self._after_cr = stop == len(chunk) and chunk[stop - 1] == 0x0D
        frame, self._held = self._held, bytearray()
        frame += chunk[position:stop]
        self._emit(memoryview(frame).toreadonly(), frames)
        return stop

    def _emit(self, block: memoryview, frames: list[memoryview]) -> None:
        if len(block) > self._limit:
            # An LF that completes a CRLF may come after the event is given, so it never counts.
            self._check_size(len(block) - block.tobytes().endswith(b"\r\n"))
        if self.fault is None:
            if bytes(block[:5]) == b"data:" or _HAS_DATA.search(block):
                frames.append(block)
                self.starts.append(self.offset)
                self._index += 1
            self.offset += len(block)

    def _check_size(self, size: int) -> None:
        # Where the event would have ended is unknown: it is refused at the byte past the limit.
        if size > self._limit:
            self.fault = FrameTooLarge(
                self._limit + 1,
                self._limit,
                " (an event without an end so far)",
                event_index=self._index,
                offset=self.offset,
            )

    @property
    def idle(self) -> bool:
        return not self._held and not self._after_cr

    def skip(self, frames: int, size: int) -> None:
        self._index += frames
        self.offset += size

    def finish(self) -> list[memoryview]:
        self.starts = []
        held, self._held = self._held, bytearray()
        frame = memoryview(held).toreadonly()
        has_data = _HAS_DATA.search(held) is not None
        last_line = _LINE_END.split(held.removeprefix(_BOM))[-1]
        if last_line and (
            len(sse_payload(frame)) == 0 if has_data else b"data".startswith(last_line)
        ):
            raise TruncatedStream(
                "the stream ended inside an event", event_index=self._index, offset=self.offset
            )
        if not has_data:
            return []
        self.starts = [self.offset]
        return [frame]


def sse_payload(frame: memoryview) -> memoryview:
    """The data of one SSE event: its data lines, joined by LF; empty where there is none.

    A view of the frame where the event
    is one `data: ` line, as all known servers write it.
    """
    if bytes(frame[:6]) == b"data: ":
        end = _LINE_END.search(frame)
        if end is not None and end.end() + end.end() - end.start() == len(frame):
            return frame[6 : end.start()]
    data: list[bytes] = []
    text = bytes(frame)
    if text.startswith(_BOM):
        text = text[len(_BOM) :]
    for line in _LINE_END.split(text):
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value[1:] if value[:1] == b" " else value)
    return memoryview(b"\n".join(data))


def prefixed_payload(frame: memoryview) -> memoryview:
    """The inside of a length-prefixed frame."""
    if len(frame) < PREFIX_SIZE:
        raise MalformedFrame("a frame has a 4-byte length prefix")
    return frame[PREFIX_SIZE:]
