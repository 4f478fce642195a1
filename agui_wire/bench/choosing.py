"""docs/choosing-a-wire.md: which wire for which traffic, from the measured tables."""

from __future__ import annotations

from collections.abc import Callable

from .findings import row, size
from .results import Results, Row
from .tables import bytes_text, number, table, time_text

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
    "recorded run": "a whole run, mixed",
}

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
                "of cost, and it can differ for each pair of peers.",
                "## In one breath",
                _advice(results),
                "## By traffic",
                f"The least bytes and the least time of this package's three wires, as measured "
                f"{results.started[:10]} with the {results.engine} protobuf engine on "
                f"{results.machine['processor']}. *Least time* is a server's encoding and a "
                "client's full pipeline added up. Wires within 5 % of the best are named together.",
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
    protobuf = _total(results, "recorded run", "protobuf")
    sse = _total(results, "recorded run", "sse")
    msgpack = _total(results, "recorded run", "msgpack")
    raw = size(results, "recorded run", "protobuf"), size(results, "recorded run", "sse")
    if raw[0] and raw[1]:
        lines.append(
            "- **Service to service, without compression, mostly text deltas: protobuf**. It takes "
            f"{raw[0].size / raw[1].size:.0%} of SSE's bytes on a recorded run"
            + (
                f" and {protobuf / sse:.0%} of its time"
                + (
                    "; without the native engine it is the slowest wire, so check "
                    "`agui_wire.protobuf_engine()` first."
                    if protobuf > sse
                    else "."
                )
                if protobuf and sse
                else "."
            )
        )
    large = [size(results, "state 100 KB", wire) for wire in _WIRES]
    if all(large):
        sizes = ", ".join(
            f"{_WIRES[each.wire]} {bytes_text(each.per_event)}" for each in large if each
        )
        lines.append(
            "- **Large structured state, where bytes count: not protobuf**, whose `Value` "
            "repeats a tag and a length for every member. One snapshot of the large state takes, "
            f"raw: {sizes}."
        )
    packed = size(results, "recorded run", "msgpack"), raw[1]
    if msgpack and sse and packed[0] and packed[1]:
        lines.append(
            "- **Both ends are this package, and integers must stay exact: MessagePack.** No other "
            f"AG-UI library reads it. It takes {packed[0].size / packed[1].size:.0%} of SSE's "
            f"bytes on a recorded run and {msgpack / sse:.0%} of its time."
        )
    return "\n".join(lines)


def _weigh(results: Results) -> str:
    lines = []
    zipped = size(results, "recorded run", "sse", "gzip")
    bare = size(results, "recorded run", "protobuf")
    if zipped and bare:
        lines.append(
            f"- **Compression beats the choice of a wire.** On a recorded run SSE with gzip takes "
            f"{zipped.per_event:.0f} bytes an event, bare protobuf {bare.per_event:.0f}. "
            "Compressed, the three wires lie close together."
        )
    for coding in ("gzip", "zstd"):
        cost = row(results, "compress", "recorded run", f"SSE, {coding}")
        if cost is not None:
            lines.append(
                f"- Flushing {coding} for each event costs a server "
                f"{time_text(cost.ns_per_event)} an event (SSE)."
            )
    proto = row(results, "decode", "recorded run", "@ag-ui/proto (Node.js)")
    parse = row(results, "decode", "recorded run", "JSON.parse of UTF-8 bytes (Node.js)")
    if proto and parse:
        lines.append(
            "- **In JavaScript, JSON is the fast wire.** @ag-ui/proto takes "
            f"{number(proto.ns_per_event / parse.ns_per_event)} × as long as JSON.parse for the "
            "same events."
        )
    lines.append(
        "- Protobuf holds numbers as doubles: integers beyond 2^53 are refused when writing. It "
        "has no heartbeat of its own, and keys that the protocol does not describe are lost."
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
