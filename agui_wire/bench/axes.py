"""What is measured: the axes, and who runs on each. A table that `running` goes through."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "AXES",
    "HTTP",
    "MEMORY",
    "OURS",
    "SCALING",
    "Axis",
    "Contender",
    "MemoryCase",
    "ScalingCase",
]


class Contender(NamedTuple):
    """Who does the work: the process it lives in, its name there, and what readers see."""

    home: str
    name: str
    label: str


class Axis(NamedTuple):
    """One kind of work. `workloads` are names, None for all; `baseline` lives at home "ours"."""

    name: str
    title: str
    what: str
    baseline: str
    floor: str
    """What the baseline is, in a reader's words: what comes before the comma names it."""
    contenders: tuple[Contender, ...]
    workloads: frozenset[str] | None = None


class ScalingCase(NamedTuple):
    """Something that grows; costs are relative to the smallest size."""

    name: str
    what: str
    unit: str
    contenders: tuple[Contender, ...]
    sizes: tuple[int, ...]


class MemoryCase(NamedTuple):
    """A result that is held."""

    name: str
    title: str
    what: str
    contenders: tuple[Contender, ...]


_WIRES = {"sse": "SSE", "protobuf": "protobuf", "msgpack": "MessagePack"}
_CODINGS = ("gzip", "zstd")

OURS = "agui_wire"
"""How the labels of this package's own rows begin."""

_MOST = frozenset({"tokens", "recorded run"})


def _ours(*homes: str, name: str = "{}", label: str = "{}") -> tuple[Contender, ...]:
    return tuple(
        Contender(home, name.format(wire), f"{OURS}, {label.format(title)}" + _ENGINES[home])
        for home in homes
        for wire, title in _WIRES.items()
    )


# The default process runs the best engine there is; the other one is forced to the reference.
_ENGINES = {"ours": "", "reference": " (reference engine)", "sdk": ""}

_BOTH = _ours("ours", "reference")

_UPB = (
    Contender("upb", "upb", "protobuf runtime alone, no conversion"),
    Contender("upb", "upb by hand", "protobuf runtime, converted by hand"),
    Contender("upb", "json_format", "protobuf runtime, json_format"),
)

_ENCODE = Axis(
    "encode",
    "Encoding, one event at a time",
    "Events in memory to the bytes of one event each, as a server does while it streams. "
    "agui_wire frames them and checks them; the libraries below it write a bare payload.",
    "msgspec",
    "msgspec alone, writing the same Struct as bare JSON, unchecked",
    (
        *_BOTH,
        *_ours("sdk", name="ag_ui to {}", label="{} from ag_ui models"),
        Contender("sdk", "ag_ui.encoder", "ag_ui.encoder, SSE"),
        Contender("ours", "json", "json.dumps of a dict"),
        Contender("ours", "orjson", "orjson.dumps of a dict"),
        *_UPB,
        Contender("node", "@ag-ui/encoder SSE", "@ag-ui/encoder, SSE (Node.js)"),
        Contender("node", "@ag-ui/encoder protobuf", "@ag-ui/encoder, protobuf (Node.js)"),
        Contender("node", "@ag-ui/proto", "@ag-ui/proto, payload only (Node.js)"),
        Contender("node", "JSON.stringify", "JSON.stringify (Node.js)"),
        Contender("ours", "memcpy", "memcpy of the JSON (ceiling)"),
    ),
)

_ENCODE_MANY = Axis(
    "encode many",
    "Encoding, a whole stream in one call",
    "The same with one call for all events: what is ready together leaves together.",
    "msgspec",
    "msgspec alone, encode_lines on the same Structs",
    _BOTH,
    _MOST,
)

_DECODE = Axis(
    "decode",
    "Decoding, in chunks of 64 KiB",
    "Bytes as they come from a socket to events. agui_wire finds the frames and enforces the "
    "protocol's shapes; the JSON and protobuf libraries are given payloads that are already cut, "
    "which is in their favour.",
    "msgspec",
    "msgspec alone, decode_lines to the same Structs, from lines that are already clean",
    (
        *_BOTH,
        Contender("sdk", "TypeAdapter", "ag_ui's models, TypeAdapter.validate_json"),
        Contender("ours", "json", "json.loads to dicts"),
        Contender("ours", "orjson", "orjson.loads to dicts"),
        *_UPB,
        Contender("node", "@ag-ui/proto", "@ag-ui/proto (Node.js)"),
        Contender("node", "JSON.parse", "JSON.parse of UTF-8 bytes (Node.js)"),
        Contender("ours", "memcpy", "memcpy of the JSON (ceiling)"),
    ),
)

_DECODE_FRAMES = Axis(
    "decode frames",
    "Decoding, one frame at a time",
    "The same when each event arrives alone, as it does from a model that thinks.",
    "msgspec",
    "msgspec alone, decode once for each event",
    _BOTH,
    _MOST,
)

_PIPELINE = Axis(
    "pipeline",
    "The full pipeline: bytes to messages and state",
    "Decoding, expanding, verifying the sequence and assembling, as a client needs it.",
    "msgspec",
    "msgspec alone, decode_lines, which assembles nothing",
    (
        *_BOTH,
        Contender("node", "@ag-ui/client sse", "@ag-ui/client, SSE (Node.js)"),
        Contender("node", "@ag-ui/client protobuf", "@ag-ui/client, protobuf (Node.js)"),
    ),
)

_COMPRESS = Axis(
    "compress",
    "Compression, a flush for each event",
    "What compressing adds to each event when every one has to leave at once.",
    "msgspec",
    "msgspec alone, writing the same event as bare JSON",
    tuple(
        Contender("ours", f"{wire} {coding}", f"{title}, {coding}")
        for wire, title in _WIRES.items()
        for coding in _CODINGS
    ),
    _MOST,
)

AXES = (_ENCODE, _ENCODE_MANY, _DECODE, _DECODE_FRAMES, _PIPELINE, _COMPRESS)

HTTP = Axis(
    "http",
    "HTTP, end to end over the loopback interface",
    "A server process encodes, a client process decodes, verifies and assembles; with the Python "
    "SDK, which has no client, it only validates. All events are ready from the start. Times are "
    "the processor time of both sides together.",
    "bytes",
    "aiohttp alone, sending bytes that were encoded before to a reader that does not look at them",
    (
        *(
            Contender("ours", f"{wire} {coding}", f"{OURS}, {title}, {coding}")
            for wire, title in _WIRES.items()
            for coding in ("raw", *_CODINGS)
        ),
        *(
            Contender("reference", f"{wire} raw", f"{OURS}, {title}, raw (reference engine)")
            for wire, title in _WIRES.items()
        ),
        Contender("sdk", "ag_ui", "ag_ui.encoder to TypeAdapter, SSE"),
    ),
    frozenset({"tokens", "state 100 KB", "recorded run"}),
)

MEMORY = (
    MemoryCase(
        "hold",
        "Every event of the stream decoded and kept",
        "",
        (
            *_BOTH,
            Contender("ours", "msgspec", "msgspec, JSON to the same Structs"),
            Contender("sdk", "TypeAdapter", "ag_ui's models"),
            Contender("ours", "json", "json.loads to dicts"),
            Contender("ours", "orjson", "orjson.loads to dicts"),
            Contender("upb", "upb", "protobuf runtime alone"),
            Contender("upb", "upb by hand", "protobuf runtime, converted by hand"),
            Contender("node", "@ag-ui/proto", "@ag-ui/proto (Node.js)"),
            Contender("node", "JSON.parse", "JSON.parse (Node.js)"),
        ),
    ),
    MemoryCase(
        "assemble",
        "The stream consumed, only messages and state kept",
        "",
        (*_BOTH, Contender("node", "@ag-ui/client sse", "@ag-ui/client, SSE (Node.js)")),
    ),
)
"""Measured on the recorded run, and on a user's recording."""

_GROWING = (Contender("ours", "ours", OURS),)

SCALING = (
    ScalingCase(
        "message length",
        "deltas on one message, through the full pipeline",
        "deltas",
        (*_GROWING, Contender("node", "@ag-ui/client", "@ag-ui/client (Node.js)")),
        (500, 4_000, 32_000),
    ),
    ScalingCase(
        "history length",
        "a delta when so many messages came before",
        "messages",
        _GROWING,
        (10, 1_000, 10_000),
    ),
    ScalingCase(
        "chunk size",
        "decoding a stream that arrives in chunks of so many bytes",
        "bytes",
        _GROWING,
        (65_536, 4_096, 256, 16),
    ),
    ScalingCase(
        "streams",
        "a delta on each of so many open streams in turn",
        "streams",
        _GROWING,
        (1, 10, 100, 1_000),
    ),
    ScalingCase(
        "depth",
        "decoding 200 numbers that lie so deep in a state",
        "levels",
        _GROWING,
        (1, 10, 30, 90),
    ),
)
