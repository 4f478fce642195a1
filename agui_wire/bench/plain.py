"""What JSON libraries do alone, without a wire or a rule around them, and memcpy."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from ..events import Event
from .prepared import Context, Prepare, Prepared
from .workloads import load

__all__ = ["PREPARE"]


def _dumping(make: Callable[[], Callable[[Any], Any]], *, structs: bool = False) -> Prepare:
    """Each event, a Struct or a dict, to JSON."""

    def prepare(context: Context) -> Prepared:
        dump = make()
        lines = context.lines()
        events: list[Any] = load(context.path) if structs else [json.loads(line) for line in lines]

        def run() -> None:
            for event in events:
                dump(event)

        return Prepared(run, len(events), sum(map(len, lines)))

    return prepare


def _loading(make: Callable[[], Callable[[bytes], Any]]) -> Prepare:
    """Each event from JSON; the results are let go."""

    def prepare(context: Context) -> Prepared:
        load_one = make()
        lines = context.lines()

        def run() -> None:
            for line in lines:
                load_one(line)

        return Prepared(run, len(lines), sum(map(len, lines)))

    return prepare


def _holding(make: Callable[[], Callable[[bytes], Any]]) -> Prepare:
    def prepare(context: Context) -> Prepared:
        load_one = make()
        lines = context.lines()
        return Prepared(
            lambda: [load_one(line) for line in lines], len(lines), sum(map(len, lines))
        )

    return prepare


def _encode_lines(context: Context) -> Prepared:
    events = load(context.path)
    encode_lines = msgspec.json.Encoder().encode_lines
    return Prepared(lambda: encode_lines(events), len(events), len(encode_lines(events)))


def _decode_lines(context: Context) -> Prepared:
    body = context.path.read_bytes()
    decode_lines = msgspec.json.Decoder(Event).decode_lines
    return Prepared(lambda: decode_lines(body), len(decode_lines(body)), len(body))


def _copy(context: Context) -> Prepared:
    body = context.path.read_bytes()
    target = bytearray(len(body))

    def run() -> None:
        target[:] = body

    return Prepared(run, body.count(b"\n"), len(body))


def _json_dumps() -> Callable[[Any], str]:
    # With the separators that AG-UI servers write, and no ASCII escapes.
    return json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _orjson_dumps() -> Callable[[Any], bytes]:
    import orjson  # type: ignore[import-not-found, unused-ignore]

    dumps: Callable[[Any], bytes] = orjson.dumps
    return dumps


def _orjson_loads() -> Callable[[bytes], Any]:
    import orjson  # type: ignore[import-not-found, unused-ignore]

    loads: Callable[[bytes], Any] = orjson.loads
    return loads


def _msgspec_decode() -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(Event).decode


_DUMP_MSGSPEC = _dumping(lambda: msgspec.json.Encoder().encode, structs=True)

PREPARE: dict[tuple[str, str], Prepare] = {
    ("encode", "msgspec"): _DUMP_MSGSPEC,
    ("encode", "json"): _dumping(_json_dumps),
    ("encode", "orjson"): _dumping(_orjson_dumps),
    ("encode", "memcpy"): _copy,
    ("encode many", "msgspec"): _encode_lines,
    ("compress", "msgspec"): _DUMP_MSGSPEC,
    ("decode", "msgspec"): _decode_lines,
    ("decode", "json"): _loading(lambda: json.loads),
    ("decode", "orjson"): _loading(_orjson_loads),
    ("decode", "memcpy"): _copy,
    ("decode frames", "msgspec"): _loading(_msgspec_decode),
    ("pipeline", "msgspec"): _decode_lines,
    ("hold", "msgspec"): _holding(_msgspec_decode),
    ("hold", "json"): _holding(lambda: json.loads),
    ("hold", "orjson"): _holding(_orjson_loads),
}
