"""What the tables say in words: who is how much faster, and where this package loses."""

from __future__ import annotations

from .axes import OURS
from .results import Results, Row, WireSize

__all__ = ["best_of_ours", "losses_in_size", "losses_in_time", "row", "size"]


def row(results: Results, axis: str, workload: str, label: str) -> Row | None:
    """One row, or None where it was not measured."""
    for each in results.rows:
        if each.key == (axis, workload, label):
            return each
    return None


def size(results: Results, workload: str, wire: str, coding: str = "raw") -> WireSize | None:
    """One size, or None where it was not measured."""
    for each in results.sizes:
        if (each.workload, each.wire, each.coding) == (workload, wire, coding):
            return each
    return None


def best_of_ours(results: Results, axis: str, workload: str) -> Row | None:
    """This package's fastest wire, from its own Structs, on one workload."""
    rows = [
        each
        for each in results.rows
        if each.axis == axis
        and each.workload == workload
        and each.label.startswith(OURS)
        and "ag_ui models" not in each.label
    ]
    return min(rows, key=lambda each: each.ns_per_event, default=None)


_APART = ("floor: ", "memcpy", OURS)
"""How the labels of rows begin that are no competitors."""


def losses_in_time(results: Results, axis: str) -> list[tuple[str, Row, list[Row]]]:
    """By workload: our fastest row and the competitors that were faster still."""
    found = []
    for workload in results.workloads:
        ours = best_of_ours(results, axis, workload.name)
        if ours is None:
            continue
        faster = [
            each
            for each in results.rows
            if each.axis == axis
            and each.workload == workload.name
            and not each.label.startswith(_APART)
            and each.ns_per_event < ours.ns_per_event
        ]
        if faster:
            found.append((workload.name, ours, sorted(faster, key=lambda each: each.ns_per_event)))
    return found


def losses_in_size(results: Results) -> list[str]:
    """Sentences about the workloads on which protobuf is not the smallest."""
    sentences = []
    for workload in results.workloads:
        sse = size(results, workload.name, "sse")
        protobuf = size(results, workload.name, "protobuf")
        zipped = size(results, workload.name, "sse", "gzip")
        if sse is None or protobuf is None:
            continue
        if protobuf.size > sse.size:
            sentences.append(
                f"`{workload.name}`: bare protobuf is {protobuf.size / sse.size - 1:.0%} larger "
                f"than bare SSE ({protobuf.per_event:,.0f} against {sse.per_event:,.0f} bytes an "
                "event)."
            )
        if zipped is not None and zipped.size < protobuf.size:
            sentences.append(
                f"`{workload.name}`: SSE with gzip takes {zipped.size / protobuf.size:.0%} of the "
                f"bytes of bare protobuf ({zipped.per_event:,.0f} against "
                f"{protobuf.per_event:,.0f} an event)."
            )
    return sentences
