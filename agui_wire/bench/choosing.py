"""docs/choosing-a-wire.md: which wire for which traffic, from the measured tables."""

from __future__ import annotations

import math
from collections.abc import Callable

from .findings import row, size
from .results import Results, Row
from .tables import bytes_text, number, table, time_text
from .workloads import RECORDED

__all__ = ["choosing_a_wire"]

_WIRES = {"sse": "SSE", "protobuf": "protobuf", "msgpack": "MessagePack"}
_LABELS = {wire: f"agui_wire, {title}" for wire, title in _WIRES.items()}

_TRAFFIC = {
    "tokens": "text as it is written",
    "tokens, timed": "the same with timestamps",
    "tool arguments": "tool arguments in pieces",
    "reasoning": "reasoning",
    "state deltas": "small changes of a state",
    "state 1 KB": "state snapshots, small",
    "state 100 KB": "state snapshots, large",
    "200 messages": "long histories",
    "multimodal": "base64 media",
    RECORDED: "a whole run, mixed",
}
_LARGE = "state 100 KB"

_CLOSE = 1.05
"""Wires whose figures differ by less than this are told as equals."""


def choosing_a_wire(results: Results) -> str:
    """The page as Markdown."""
    return (
        "\n\n".join(
            [
                "# Choosing a wire",
                "The three wires carry the same events; a client that names a binary wire in "
                "`Accept` still reads SSE from a server that has nothing else. So this is a choice "
                "of cost, and each pair of peers can make its own.",
                "## In one breath",
                _advice(results),
                "## By traffic",
                f"The least bytes and the least time of this package's three wires, as measured "
                f"{results.started[:10]} with the {results.engine} engine on "
                f"{results.machine['processor']}. *Least time* is a server's encoding and a "
                "client's full pipeline added up, without HTTP. Wires within 5 % of the best are "
                "named together.",
                table(
                    ("traffic", "least bytes, raw", "least bytes, gzip", "least time"),
                    [
                        _line(results, each.name, _TRAFFIC.get(each.name, each.name))
                        for each in results.workloads
                    ],
                ),
                "## What to weigh",
                _weigh(results),
                "All tables are in [benchmarks](benchmarks.md). To decide from traffic of your "
                "own, save a response body and run `agui-wire bench --recording FILE`.",
            ]
        )
        + "\n"
    )


def _advice(results: Results) -> str:
    lines = [
        "- **Browsers, curl, any client you do not control: SSE**, with gzip or zstd where the "
        "server may compress. Everyone reads it, proxies know it, and it has a heartbeat."
    ]
    protobuf, msgpack = (_against_sse(results, RECORDED, wire) for wire in ("protobuf", "msgpack"))
    if protobuf:
        lines.append(
            f"- **Between services, without compression, mostly text deltas: protobuf.** {protobuf}"
        )
    large = {wire: size(results, _LARGE, wire) for wire in _WIRES}
    sizes = {wire: each.per_event for wire, each in large.items() if each is not None}
    if sizes.get("protobuf", 0.0) > sizes.get("sse", math.inf):
        told = ", ".join(f"{_WIRES[wire]} {bytes_text(each)}" for wire, each in sizes.items())
        lines.append(
            "- **Large structured state, where bytes count: not protobuf**, whose `Value` "
            f"repeats a tag and a length for every member. One such snapshot takes, raw: {told}."
        )
    if msgpack:
        smallest = bool(sizes) and sizes.get("msgpack") == min(sizes.values())
        lines.append(
            "- **Both ends are this package: MessagePack too.** No other AG-UI library reads it. "
            + msgpack
            + (" Raw, it has the smallest state snapshots." if smallest else "")
        )
    if results.engine != "native":
        lines.append(
            "- These times are the reference engine's. With the native one "
            "(`agui_wire.protobuf_engine()` tells) they are others."
        )
    return "\n".join(lines)


def _against_sse(results: Results, workload: str, wire: str) -> str:
    """A sentence on the bytes and the time of a wire in parts of SSE's, "" if not measured."""
    ours, sse = size(results, workload, wire), size(results, workload, "sse")
    times = _total(results, workload, wire), _total(results, workload, "sse")
    if ours is None or sse is None:
        return ""
    time = f" and {times[0] / times[1]:.0%} of its time" if all(times) else ""
    return f"It takes {ours.size / sse.size:.0%} of SSE's bytes on the recorded run{time}."


def _weigh(results: Results) -> str:
    lines = []
    zipped = size(results, RECORDED, "sse", "gzip")
    bare = size(results, RECORDED, "protobuf")
    if zipped and bare and zipped.size < bare.size:
        lines.append(
            "- **Compression saves more bytes than a binary wire.** On the recorded run SSE with "
            f"gzip takes {zipped.per_event:.0f} bytes an event, bare protobuf {bare.per_event:.0f}."
        )
    encode = row(results, "encode", RECORDED, _LABELS["sse"])
    costs = [
        f"{time_text(cost.ns_per_event)} with {coding}"
        for coding in ("gzip", "zstd")
        if (cost := row(results, "compress", RECORDED, f"SSE, {coding}")) is not None
    ]
    if encode and costs:
        lines.append(
            f"- **Compression costs time.** A flush for each event takes {' or '.join(costs)}; "
            f"encoding the event takes {time_text(encode.ns_per_event)}."
        )
    http = {
        title: cost.ns_per_event
        for wire, title in _WIRES.items()
        if (cost := row(results, "http", RECORDED, f"{_LABELS[wire]}, raw")) is not None
    }
    if http:
        told = ", ".join(f"{title} {time_text(ns)}" for title, ns in http.items())
        lines.append(
            "- **Behind HTTP** the time of sending and receiving comes on top: one event of the "
            f"recorded run takes, both sides together, {told}."
        )
    proto = row(results, "decode", RECORDED, "@ag-ui/proto (Node.js)")
    parse = row(results, "decode", RECORDED, "JSON.parse of UTF-8 bytes (Node.js)")
    if proto and parse and proto.ns_per_event > parse.ns_per_event:
        lines.append(
            "- **In JavaScript, JSON is the fast wire.** @ag-ui/proto takes "
            f"{number(proto.ns_per_event / parse.ns_per_event)} × as long as JSON.parse for the "
            "same events."
        )
    lines.append(
        "- **What protobuf cannot carry.** Numbers in states are doubles: an integer that a double "
        "does not hold exactly is refused, unless `lossy_int` says otherwise. Extra members of "
        "patch operations are lost, with a warning. The binary wires have no heartbeat."
    )
    return "\n".join(lines)


def _total(results: Results, workload: str, wire: str) -> float:
    """Encoding and pipeline, nanoseconds an event; 0 where one was not measured."""
    rows = [row(results, axis, workload, _LABELS[wire]) for axis in ("encode", "pipeline")]
    measured: list[Row] = [each for each in rows if each is not None]
    return sum(each.ns_per_event for each in measured) if len(measured) == 2 else 0.0


def _line(results: Results, workload: str, traffic: str) -> tuple[str, ...]:
    cells = [traffic]
    for coding in ("raw", "gzip"):
        sizes = {wire: size(results, workload, wire, coding) for wire in _WIRES}
        figures = {wire: each.per_event for wire, each in sizes.items() if each is not None}
        cells.append(_best(figures, bytes_text))
    times = {wire: _total(results, workload, wire) for wire in _WIRES}
    cells.append(_best({wire: ns for wire, ns in times.items() if ns}, time_text))
    return tuple(cells)


def _best(figures: dict[str, float], shown: Callable[[float], str]) -> str:
    if not figures:
        return "-"
    least = min(figures.values())
    names = [_WIRES[wire] for wire, figure in figures.items() if figure <= least * _CLOSE]
    return f"{', '.join(names)}: {shown(least)}"
