from collections.abc import Callable, Iterable
from typing import Any

from ...events import Event
from .tables import Class, Message

def configure(
    specs: Iterable[Message],
    classes: Iterable[Class],
    operations: Iterable[str],
    resolver: Callable[[type], None] | None,
) -> None:
    """Takes the tables, and what to tell of a class that is in none of them."""

def add_model(
    cls: type,
    struct_cls: type | None,
    attributes: Iterable[tuple[str, str, bool]],
    tag_member: object,
) -> None:
    """Takes a pydantic model that stands for a Struct, or, with None, one to be handed back.

    `attributes` are the name, the JSON key and whether None is absent, in the order of its
    `__dict__`; `tag_member` is what its tag attribute usually holds.
    """

def add_operation(cls: type, attributes: Iterable[tuple[str, str, bool]]) -> None:
    """Takes a pydantic model that stands for a patch operation, as add_model does."""

class Encoder:
    """Writes events on one wire: "protobuf", "msgpack" or "sse", where `encode` gives str.

    `fallback` writes the ones that need a judgement, always as bytes.
    """

    def __init__(
        self,
        fallback: Callable[[Any], bytes],
        max_frame_size: int,
        max_depth: int,
        wire: str,
    ) -> None: ...
    def encode(self, event: Any, /) -> Any: ...
    def encode_binary(self, event: Any, /) -> bytes: ...
    def encode_many(self, events: Iterable[Any], /) -> bytes: ...

class Decoder:
    """Reads the frames of one stream; `hand_back` reads those that need a judgement.

    `hand_back(events, frames, size, data)`: `frames` frames of `size` bytes were read here since
    the last call; `data` follows them, one frame or all from a faulty one on. It appends to
    `events` and says whether to go on here; if not, every further chunk goes to `feed_on`.
    `decode` is msgspec's for the JSON and the MessagePack wire, None on protobuf.
    """

    def __init__(
        self,
        hand_back: Callable[[list[Event], int, int, bytes], bool],
        feed_on: Callable[[bytes], list[Event]],
        max_frame_size: int,
        max_depth: int,
        sized: bool,
        decode: Callable[[bytes], Event] | None,
        is_json: bool,
    ) -> None: ...
    def feed(self, data: bytes | bytearray | memoryview, /) -> list[Event]: ...
    def taken(self) -> tuple[int, int]:
        """How many frames and bytes were read since the last hand_back or taken()."""

    def frame_sizes(self, count: int, /) -> list[int]:
        """The sizes of the first `count` frames since then, where `sized` asked for them."""

    def finish(self) -> tuple[int, int, bytes]:
        """How many frames and bytes were read since the last hand_back, and what is held."""
