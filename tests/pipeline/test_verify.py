"""The sequence rules: every state by every event, then each rule about ids, tags and endings."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from random import Random
from typing import NamedTuple

import pytest

from agui_wire import (
    EventType,
    ProtocolViolation,
    StreamWarning,
    TruncatedStream,
    from_dict,
)
from agui_wire._warnings import WarningLog
from agui_wire.pipeline.verify import SequenceVerifier, _version_key
from tests.pipeline.building import (
    Json,
    activity,
    activity_delta,
    args,
    delta,
    encrypted,
    end,
    finish,
    result,
    run,
    snapshot,
    start,
    state,
    text,
    tool,
    tool_end,
)
from tests.pipeline.sequence_cases import CASES, ERROR, agent, by, mused, span, step
from tests.pipeline.test_expand import steps_of


def verifier_of(events: Iterable[Json]) -> tuple[SequenceVerifier, list[StreamWarning]]:
    """A verifier that accepted the events, and what it warned about."""
    warnings: list[StreamWarning] = []
    verifier = SequenceVerifier(WarningLog(warnings.append))
    for obj in events:
        verifier.verify(from_dict(obj))
    return verifier, warnings


class Running(NamedTuple):
    """What an event asks of what is open in a run, and what it opens and closes.

    T text message, C tool call, S reasoning span, R reasoning message, P step, A active
    subagent, E ended subagent.
    """

    needs: str = ""
    refuses: str = ""
    opens: str = ""
    closes: str = ""


FREE = Running()

# One event of each type, the id that errors name, and its rule in a run (None: never admitted).
# The four namespaces share the id x, and so must not disturb each other.
EVENTS: list[tuple[Json, str | None, Running | None]] = [
    (start("x"), "x", Running(refuses="T", opens="T")),
    (text("a", "x"), "x", Running(needs="T")),
    (end("x"), "x", Running(needs="T", closes="T")),
    ({"type": "TEXT_MESSAGE_CHUNK", "messageId": "k"}, "k", None),
    (tool("x"), "x", Running(refuses="C", opens="C")),
    (args("{", "x"), "x", Running(needs="C")),
    (tool_end("x"), "x", Running(needs="C", closes="C")),
    ({"type": "TOOL_CALL_CHUNK", "toolCallId": "k"}, "k", None),
    (result("x", "y"), "y", FREE),
    (state(1), None, FREE),
    (delta(), None, FREE),
    (snapshot(), None, FREE),
    (activity({}, "a"), "a", FREE),
    (activity_delta(id="a"), "a", FREE),
    ({"type": "RAW", "event": None}, None, FREE),
    ({"type": "CUSTOM", "name": "n", "value": None}, None, FREE),
    (run("run"), "run", None),
    (finish("run"), "run", Running(refuses="TCSRPA")),
    (ERROR, None, FREE),
    (step("STARTED"), "p", Running(refuses="P", opens="P")),
    (step("FINISHED"), "p", Running(needs="P", closes="P")),
    (span("START", "x"), "x", Running(refuses="S", opens="S")),
    (mused("START", "x"), "x", Running(refuses="R", opens="R")),
    (mused("CONTENT", "x"), "x", Running(needs="R")),
    (mused("END", "x"), "x", Running(needs="R", closes="R")),
    ({"type": "REASONING_MESSAGE_CHUNK", "messageId": "k"}, "k", None),
    (span("END", "x"), "x", Running(needs="S", closes="S")),
    (encrypted("x"), "x", FREE),
    (agent("STARTED"), "s", Running(refuses="AE", opens="A")),
    (agent("FINISHED"), "s", Running(needs="A", closes="A", opens="E")),
    (agent("ERROR"), "s", Running(needs="A", closes="A", opens="E")),
]

# What is admitted where no run is open.
OUTSIDE = {
    "new": {"RUN_STARTED", "RUN_ERROR"},
    "finished": {"RUN_STARTED", "RUN_ERROR"},
    "failed": {"RUN_STARTED"},
}

OPENERS = {
    "T": [start("x")],
    "C": [tool("x")],
    "S": [span("START", "x")],
    "R": [mused("START", "x")],
    "P": [step("STARTED")],
    "A": [agent("STARTED")],
    "E": [agent("STARTED"), agent("FINISHED")],
}

State = tuple[str, frozenset[str]]
NOTHING: frozenset[str] = frozenset()


def reached() -> dict[str, tuple[list[Json], State]]:
    """Streams that lead to every state, some on several ways."""
    streams: dict[str, tuple[list[Json], State]] = {
        "new": ([], ("new", NOTHING)),
        "finished": ([run("run"), finish("run")], ("finished", NOTHING)),
        "failed": ([run("run"), start("x"), agent("STARTED"), ERROR], ("failed", NOTHING)),
        "failed at once": ([ERROR], ("failed", NOTHING)),
        "failed late": ([run("run"), finish("run"), ERROR], ("failed", NOTHING)),
        "second run": ([run("1"), finish("1"), run("run")], ("running", NOTHING)),
        "run after a failure": (
            [run("1"), *(e for key in "TCSRPE" for e in OPENERS[key]), ERROR, run("run")],
            ("running", NOTHING),
        ),
    }
    for flags in product([False, True], repeat=5):
        for agents in ("", "A", "E"):
            letters = [key for key, on in zip("TCSRP", flags) if on] + list(agents)
            opening = [event for key in letters for event in OPENERS[key]]
            name = f"running {''.join(letters)}"
            streams[name] = ([run("run"), *opening], ("running", frozenset(letters)))
    return streams


def after(place: State, event: Json, rule: Running | None) -> State | None:
    """Where an event leads by the tables above, or None where it is refused."""
    phase, items = place
    kind = event["type"]
    if phase != "running":
        admitted = kind in OUTSIDE[phase]
    else:
        admitted = rule is not None and items >= set(rule.needs) and not items & set(rule.refuses)
    if not admitted:
        return None
    if kind == "RUN_STARTED":
        return "running", NOTHING
    if kind in ("RUN_FINISHED", "RUN_ERROR"):
        return "finished" if kind == "RUN_FINISHED" else "failed", NOTHING
    assert rule is not None
    return phase, (items - set(rule.closes)) | set(rule.opens)


def judge(verifier: SequenceVerifier, place: State, number: int) -> State | None:
    """Give a verifier one event of the table, and hold its answer to the table."""
    event, item_id, rule = EVENTS[number]
    there = after(place, event, rule)
    if there is not None:
        verifier.verify(from_dict(event))
        return there
    with pytest.raises(ProtocolViolation) as caught:
        verifier.verify(from_dict(event))
    assert caught.value.event_type == event["type"]
    assert caught.value.id == item_id
    assert event["type"] in str(caught.value)
    assert item_id is None or repr(item_id) in str(caught.value)
    return None


STREAMS = reached()


@pytest.mark.parametrize("name", STREAMS)
def test_every_event_in_every_state(name: str) -> None:
    stream, place = STREAMS[name]
    for number in range(len(EVENTS)):
        verifier, _ = verifier_of(stream)
        judge(verifier, place, number)


def test_the_table_has_every_event_type() -> None:
    assert sorted(event["type"] for event, _, _ in EVENTS) == sorted(k.value for k in EventType)


@pytest.mark.parametrize("seed", range(50))
def test_walks_through_the_states(seed: int) -> None:
    random = Random(seed)
    verifier, _ = verifier_of([])
    place: State | None = ("new", NOTHING)
    for _ in range(300):
        assert place is not None
        admitted = [n for n, (e, _, rule) in enumerate(EVENTS) if after(place, e, rule)]
        place = judge(verifier, place, random.choice(admitted))
    # One step that the table refuses, from wherever the walk ended.
    assert place is not None
    refused = [n for n, (e, _, rule) in enumerate(EVENTS) if not after(place, e, rule)]
    assert judge(verifier, place, random.choice(refused)) is None


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str) -> None:
    events, refusal = CASES[name]
    *before, last = events
    verifier, warnings = verifier_of([run(), *before])
    if refusal is None:
        verifier.verify(from_dict(last))
    else:
        with pytest.raises(ProtocolViolation) as caught:
            verifier.verify(from_dict(last))
        assert caught.value.event_type == last["type"]
        for word in (last["type"], *refusal):
            assert word in str(caught.value)
    assert warnings == []


NEWER, ODD = "newer than 1.0", "not MAJOR.MINOR"


@pytest.mark.parametrize(
    ("version", "says"),
    [
        *((version, None) for version in (None, "1.0", "0.9", "0." + "9" * 5000)),
        *((version, NEWER) for version in ("1.1", "1.10", "2.0", "10.0")),
        *((version, ODD) for version in ("", "1", "1.", "1.0.0", "v1.0", "01.0", "1.0\n", "१.०")),
        ("1." + "9" * 5000, "the producer speaks protocol 1.999"),
    ],
)
def test_protocol_version(version: str | None, says: str | None) -> None:
    told = {} if version is None else {"protocolVersion": version}
    _, warnings = verifier_of([run(**told), finish()])
    assert [(w.kind, w.path) for w in warnings] == [("protocol-version", "/protocolVersion")] * (
        says is not None
    )
    assert says is None or says in warnings[0].message


def test_versions_compare_as_numbers() -> None:
    keys = [_version_key(version) for version in ("0.10", "1.0", "1.9", "1.10", "2.0", "10.0")]
    assert None not in keys
    assert keys == sorted(keys, key=lambda key: key or [])


@pytest.mark.parametrize(
    "chunk", [event for event, _, _ in EVENTS if "CHUNK" in event["type"]], ids=lambda e: e["type"]
)
def test_a_chunk_has_to_be_expanded_first(chunk: Json) -> None:
    verifier, _ = verifier_of([run()])
    with pytest.raises(ProtocolViolation, match="expanded first"):
        verifier.verify(from_dict(chunk))


def interrupted(*ids: str) -> Json:
    interrupts = [{"id": each, "reason": "ask"} for each in ids]
    return finish(outcome={"type": "interrupt", "interrupts": interrupts})


@pytest.mark.parametrize(
    ("last", "kinds"),
    [
        (finish("1"), []),
        (finish("2"), ["run-id"]),
        ({**finish("1"), "threadId": "other"}, ["run-id"]),
        (interrupted("a", "b"), []),
        (interrupted("a", "b", "a"), ["interrupt-id"]),
    ],
)
def test_odd_endings_warn_and_end_the_run(last: Json, kinds: list[str]) -> None:
    verifier, warnings = verifier_of([run("1"), last])
    assert [warning.kind for warning in warnings] == kinds
    verifier.close()


def test_a_finish_is_held_to_its_own_run() -> None:
    _, warnings = verifier_of([run("1"), finish("1"), run("2"), finish("1")])
    assert "run '1'" in warnings[0].message
    assert "run '2'" in warnings[0].message


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([], ["before its first event"]),
        ([run()], ["run '1'", "nothing"]),
        ([run(), finish(), run("2"), start()], ["run '2'", "text message 'm'"]),
        (
            [run(), tool(), step("STARTED"), agent("STARTED"), span("START"), mused("START")],
            ["call 'c'", "span 'r'", "message 'r'", "step 'p' of the parent agent", "subagent 's'"],
        ),
        ([run(), *(tool(f"c{n}") for n in range(8))], ["'c4' and 3 more"]),
        (
            [run(), *(tool(f"c{n}") for n in range(5)), step("STARTED"), agent("STARTED")],
            ["'c4' and 2 more"],
        ),
    ],
)
def test_truncation(events: list[Json], words: list[str]) -> None:
    verifier, _ = verifier_of(events)
    with pytest.raises(TruncatedStream) as caught:
        verifier.close()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "events",
    [[run(), finish()], [ERROR], [run(), start(), ERROR], [run(), finish(), ERROR]],
)
def test_a_stream_that_ended(events: list[Json]) -> None:
    verifier, _ = verifier_of(events)
    verifier.close()


def test_long_ids_are_not_repeated_whole() -> None:
    long = "m" * 100_000
    verifier, _ = verifier_of([run(long), start(long), by(long, step("STARTED", long))])
    for event in (start(long), by("s", text("a", long)), end("m"), finish(long), run(long)):
        with pytest.raises(ProtocolViolation) as caught:
            verifier.verify(from_dict(event))
        assert len(str(caught.value)) < 1000
    assert caught.value.id == long


@pytest.mark.parametrize(
    "event",
    [
        *(e for e, _, rule in EVENTS if rule is not None and not rule.refuses),
        start("new"),
        tool("new", parentMessageId="x"),
        by("s", text("a", "x")),
    ],
    ids=lambda event: event["type"],
)
def test_cost_does_not_grow_with_what_is_open(event: Json) -> None:
    costs = []
    for count in (1, 300):
        verifier, _ = verifier_of([run("run")])
        for number in map(str, range(count)):
            for opener in (start(number), tool(number), span("START", number)):
                verifier.verify(from_dict(opener))
            for opener in (mused("START", number), step("STARTED", number)):
                verifier.verify(from_dict(opener))
            verifier.verify(from_dict(agent("STARTED", number)))
        for key in "TCSRPA":
            for opener in OPENERS[key]:
                verifier.verify(from_dict(by("s", opener) if key == "T" else opener))
        costs.append(steps_of(verifier.verify, from_dict(event)))
    assert 0 < costs[0] == costs[1]
