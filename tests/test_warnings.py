"""Warnings: told once, counted after that, bounded in number and length."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from agui_wire import StreamDecoder, StreamWarning
from agui_wire._warnings import MAX_DISTINCT_WARNINGS, MAX_TEXT, WarningLog
from tests.streams import GOOD, LOOSE_WIRES, WIRES, frame, loose, read


def test_a_conformant_stream_warns_about_nothing(caplog: pytest.LogCaptureFixture) -> None:
    for wire in WIRES:
        assert read(wire, frame(wire, GOOD) * 3).warnings == []
    assert caplog.records == []


def test_a_warning_says_what_where_and_when(caplog: pytest.LogCaptureFixture) -> None:
    for wire in LOOSE_WIRES:
        body = frame(wire, GOOD) + loose(wire, {**GOOD, "mood": 1})
        assert read(wire, body).warnings == [
            StreamWarning(
                kind="unknown-property",
                path="/mood",
                event_index=1,
                message="removed 'mood', which the protocol does not know",
                count=1,
            )
        ]
    first, second = caplog.records
    assert (first.name, first.levelno) == ("agui_wire", logging.WARNING)
    assert first.getMessage() == second.getMessage()
    assert "event 1: removed 'mood'" in first.getMessage()
    assert "(at /mood)" in first.getMessage()


def test_without_a_callback_warnings_go_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    StreamDecoder(WIRES["sse"]).feed(loose("sse", {"type": "FUTURE"}))
    assert len(caplog.records) == 1


def message(index: int) -> dict[str, Any]:
    return {"id": f"m{index}", "role": "user", "content": "c", "mood": index}


def test_repeats_are_counted_and_told_at_the_end() -> None:
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [message(0), message(1), message(2)]}
    for wire in LOOSE_WIRES:
        told: list[StreamWarning] = []
        decoder = StreamDecoder(WIRES[wire], on_warning=told.append)
        decoder.feed(loose(wire, snapshot))
        decoder.feed(loose(wire, {**GOOD, "mood": 0}))
        decoder.feed(loose(wire, snapshot))
        assert [(w.path, w.event_index, w.count) for w in told] == [
            ("/messages/0/mood", 0, 1),
            ("/mood", 1, 1),
        ]
        decoder.close()
        assert [(w.path, w.event_index, w.count) for w in told[2:]] == [("/messages/0/mood", 0, 6)]
        decoder.close()
        assert len(told) == 3


def test_the_totals_are_told_after_a_fault_too() -> None:
    warned = loose("sse", {**GOOD, "mood": 0})
    reading = read("sse", [warned, warned, b"data: x\n\n"])
    assert reading.refusal is not None
    assert [w.count for w in reading.warnings] == [1, 2]


def test_event_types_are_told_one_by_one() -> None:
    body = b"".join(loose("sse", {"type": name}) for name in ("A", "B", "A", "C/D", "A"))
    told = read("sse", body).warnings
    assert [(w.kind, w.path, w.count) for w in told] == [
        *[("unknown-event", "/type", 1)] * 3,
        ("unknown-event", "/type", 3),
    ]
    for warning, name in zip(told, ("'A'", "'B'", "'C/D'", "'A'")):
        assert name in warning.message


def test_a_peer_cannot_make_the_log_grow_without_end(caplog: pytest.LogCaptureFixture) -> None:
    count = MAX_DISTINCT_WARNINGS + 50
    event = {**GOOD, **{f"p{index}": 0 for index in range(count)}}
    told = read("sse", loose("sse", event) * 2).warnings
    assert len(told) == 2 * MAX_DISTINCT_WARNINGS + 1
    assert all(w.count == 1 for w in told[:MAX_DISTINCT_WARNINGS])
    assert all(w.count == 2 for w in told[MAX_DISTINCT_WARNINGS:-1])
    last = told[-1]
    assert (last.kind, last.path, last.event_index, last.count) == ("suppressed", "", None, 100)
    assert "100 more" in last.message
    assert len(caplog.records) == len(told)


def test_closing_twice_tells_nothing_twice() -> None:
    told: list[StreamWarning] = []
    log = WarningLog(told.append)
    for index in range(MAX_DISTINCT_WARNINGS + 1):
        log.warn("null", f"/p{index}", "m")
    log.close()
    assert told[-1].kind == "suppressed"
    count = len(told)
    log.close()
    assert len(told) == count


def test_a_peer_cannot_make_a_warning_as_long_as_a_frame(
    caplog: pytest.LogCaptureFixture,
) -> None:
    long = "x" * 100_000
    for event in ({**GOOD, long: 0}, {"type": long}, {**GOOD, long + "y": 0}):
        (warning,) = read("sse", loose("sse", event)).warnings
        assert len(warning.path) <= MAX_TEXT
        assert len(warning.message) <= MAX_TEXT
    assert max(len(record.getMessage()) for record in caplog.records) < 3 * MAX_TEXT


def test_the_log_shows_no_line_breaks_and_no_half_characters(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = read("sse", loose("sse", {**GOOD, "a\nfake line": 0, "\ud83d": 0})).warnings
    assert [warning.path for warning in told] == ["/a\nfake line", "/\ud83d"]
    for record in caplog.records:
        assert "\n" not in record.getMessage()
        record.getMessage().encode()


def test_list_indexes_do_not_tell_warnings_apart_but_names_do() -> None:
    told: list[StreamWarning] = []
    log = WarningLog(told.append)
    for path in ("/a/0/b", "/a/12/b", "/a/0", "/a/1", "/a/1b", "/a/x/b", "/0"):
        log.warn("null", path, "m")
    log.warn("other", "/a/0/b", "m")
    assert [(w.kind, w.path) for w in told] == [
        ("null", "/a/0/b"),
        ("null", "/a/0"),
        ("null", "/a/1b"),
        ("null", "/a/x/b"),
        ("null", "/0"),
        ("other", "/a/0/b"),
    ]


def test_a_warning_is_a_value() -> None:
    warning = StreamWarning("kind", "/path", 3, "message")
    assert warning == StreamWarning("kind", "/path", 3, "message", 1)
    with pytest.raises(AttributeError):
        warning.count = 2  # type: ignore[misc]
