"""Chunks expanded: each rule as a case, then what holds for any stream."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import Any

import pytest

from agui_wire import Event, EventType, ProtocolViolation, from_dict, to_dict
from agui_wire._warnings import WarningLog
from agui_wire.pipeline.expand import ChunkExpander
from agui_wire.pipeline.verify import SequenceVerifier
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
    said,
    snapshot,
    start,
    state,
    text,
    tool,
    tool_end,
)
from tests.pipeline.sequence_cases import by, mused


def written(id: str | None = None, delta: str | None = None, **more: Any) -> Json:
    """A text chunk."""
    given = {"messageId": id, "delta": delta, **more}
    return {"type": "TEXT_MESSAGE_CHUNK", **{k: v for k, v in given.items() if v is not None}}


def called(id: str | None = None, delta: str | None = None, **more: Any) -> Json:
    """A tool call chunk."""
    given = {"toolCallId": id, "delta": delta, **more}
    return {"type": "TOOL_CALL_CHUNK", **{k: v for k, v in given.items() if v is not None}}


def thought(id: str | None = None, delta: str | None = None, **more: Any) -> Json:
    """A reasoning chunk."""
    return {**written(id, delta, **more), "type": "REASONING_MESSAGE_CHUNK"}


def opened(id: str = "m", **more: Any) -> Json:
    """The START that a text chunk gives."""
    return start(id, role="assistant", **more)


def expanded(events: list[Json]) -> list[Json]:
    """What a new expander makes of a stream. Events stay as they were, all but chunks the same."""
    expander = ChunkExpander()
    given: list[Json] = []
    for obj in events:
        event = from_dict(obj)
        out = expander.expand(event)
        assert to_dict(event) == obj
        assert obj["type"].endswith("_CHUNK") or out[-1] is event
        given += map(to_dict, out)
    return given


# name: (what comes in, what goes out)
CASES: dict[str, tuple[list[Json], list[Json]]] = {
    "no chunks": (
        [run(), start(), text("x"), end(), finish()],
        [run(), start(), text("x"), end(), finish()],
    ),
    "text": (
        [written("m", "a"), written("m", "b"), written(delta="c"), finish()],
        [opened(), text("a"), text("b"), text("c"), end(), finish()],
    ),
    "call": (
        [called("c", "a", toolCallName="f"), called("c", "b"), called(delta="d"), finish()],
        [tool(), args("a"), args("b"), args("d"), tool_end(), finish()],
    ),
    "reasoning": (
        [thought("r", "a"), thought("r", "b"), thought(delta="c"), finish()],
        [
            mused("START"),
            mused("CONTENT", delta="a"),
            mused("CONTENT", delta="b"),
            mused("CONTENT", delta="c"),
            mused("END"),
            finish(),
        ],
    ),
    "the opener's fields": (
        [
            written("m", role="user", name="Ann", metadata={"k": 1}, subagentRunId="s"),
            called("c", toolCallName="f", parentMessageId="m"),
            thought("r", metadata={}),
        ],
        [
            start("m", role="user", name="Ann", metadata={"k": 1}, subagentRunId="s"),
            tool("c", "f", parentMessageId="m"),
            tool_end("c"),
            mused("START", metadata={}),
        ],
    ),
    "an opener without a delta": ([written("m")], [opened()]),
    "an opener with an empty delta": ([written("m", "")], [opened(), text("")]),
    "an empty id is an id": (
        [written("", "a"), written("", "b"), written("m", "c")],
        [opened(""), text("a", ""), text("b", ""), end(""), opened(), text("c")],
    ),
    "an opener with a raw event": (
        [written("m", rawEvent={"x": 1}, metadata={"k": 1})],
        [opened(metadata={"k": 1}), text("", rawEvent={"x": 1}, metadata={"k": 1})],
    ),
    "metadata of an opener with a delta": (
        [called("c", "{", toolCallName="f", metadata={"k": 1}, rawEvent=0)],
        [tool(metadata={"k": 1}), args("{", metadata={"k": 1}, rawEvent=0)],
    ),
    "a continuation with metadata only": (
        [written("m"), written(metadata={}), thought("r"), thought("r", metadata={"k": 1})],
        [
            opened(),
            text("", metadata={}),
            end(),
            mused("START"),
            mused("CONTENT", delta="", metadata={"k": 1}),
        ],
    ),
    "a continuation with a raw event only": (
        [called("c", toolCallName="f"), called(rawEvent=[1])],
        [tool(), args("", rawEvent=[1])],
    ),
    "a continuation with nothing": ([written("m"), written(), written("m")], [opened()]),
    "metadata does not reach the item that ends": (
        [written("m", "a"), written("n", metadata={"k": 1})],
        [opened(), text("a"), end(), opened("n", metadata={"k": 1})],
    ),
    "no timestamps": (
        [written("m", "a", timestamp=1), written(delta="b", timestamp=2), run(timestamp=3)],
        [opened(), text("a"), text("b"), end(), run(timestamp=3)],
    ),
    "fields repeated": (
        [
            written("m", role="user", name="Ann"),
            written("m", "a", role="user", name="Ann"),
            written("n"),
            written("n", "b", role="assistant"),
            called("c", toolCallName="f", parentMessageId="m"),
            called("c", "{", toolCallName="f", parentMessageId="m"),
        ],
        [
            start("m", role="user", name="Ann"),
            text("a"),
            end(),
            opened("n"),
            text("b", "n"),
            end("n"),
            tool(parentMessageId="m"),
            args("{"),
        ],
    ),
    "another item of the same kind": (
        [written("m", "a"), written("n", "b"), written(delta="c")],
        [opened(), text("a"), end(), opened("n"), text("b", "n"), text("c", "n")],
    ),
    "another item of another kind": (
        [written("x"), called("x", toolCallName="f"), thought("x"), written("x")],
        [
            opened("x"),
            end("x"),
            tool("x"),
            tool_end("x"),
            mused("START", "x"),
            mused("END", "x"),
            opened("x"),
        ],
    ),
    "a closed item opened again": (
        [written("m", "a"), state(1), written("m", "b")],
        [opened(), text("a"), end(), state(1), opened(), text("b")],
    ),
    "lanes side by side": (
        [
            written("m", "a"),
            by("s", written("n", "b")),
            by("", called("c", "{", toolCallName="f")),
            by("s", written(delta="d")),
            by("", called(delta="}")),
            written(delta="e"),
            finish(),
        ],
        [
            opened(),
            text("a"),
            by("s", opened("n")),
            by("s", text("b", "n")),
            by("", tool()),
            by("", args("{")),
            by("s", text("d", "n")),
            by("", args("}")),
            text("e"),
            end(),
            by("s", end("n")),
            by("", tool_end()),
            finish(),
        ],
    ),
    "an id finds its lane without a tag": (
        [by("s", written("n", "a")), written("m", "b"), written("n", "c")],
        [
            by("s", opened("n")),
            by("s", text("a", "n")),
            opened(),
            text("b"),
            by("s", text("c", "n")),
        ],
    ),
    "an id of another kind opens": (
        [by("s", written("x")), thought("x", "a")],
        [by("s", opened("x")), mused("START", "x"), mused("CONTENT", "x", delta="a")],
    ),
    "neither id nor tag: the parent's": (
        [by("s", written("n")), written("m"), written(delta="a")],
        [by("s", opened("n")), opened(), text("a")],
    ),
    "neither id nor tag: the only one of that kind": (
        [
            called("c", toolCallName="f"),
            by("s", written("n")),
            by("q", thought("r")),
            written(delta="a"),
            written(delta="b"),
            by("s", state(1)),
        ],
        [
            tool(),
            by("s", opened("n")),
            by("q", mused("START")),
            by("s", text("a", "n")),
            by("s", text("b", "n")),
            by("s", end("n")),
            by("s", state(1)),
        ],
    ),
    "neither id nor tag: the only one that is left": (
        [by("s", written("n")), by("q", written("p")), by("s", state(1)), written(delta="a")],
        [
            by("s", opened("n")),
            by("q", opened("p")),
            by("s", end("n")),
            by("s", state(1)),
            by("q", text("a", "p")),
        ],
    ),
    "a snapshot leaves nothing to continue in any lane": (
        [written("m"), by("s", written("n")), snapshot(), by("s", written("m", "a"))],
        [
            opened(),
            by("s", opened("n")),
            end(),
            by("s", end("n")),
            snapshot(),
            by("s", opened()),
            by("s", text("a")),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_expansion(name: str) -> None:
    given, wanted = CASES[name]
    assert expanded(given) == wanted


# name: (what comes in, the last of it refused; the id that the error names, what it says)
REFUSED: dict[str, tuple[list[Json], str | None, list[str]]] = {
    "text without id": ([written(delta="a")], None, ["messageId", "nothing"]),
    "reasoning without id": ([thought(delta="a")], None, ["messageId"]),
    "call without id": ([called(toolCallName="f")], None, ["toolCallId"]),
    "call without name": ([called("c", "{")], "c", ["toolCallName"]),
    "no id after an item of another kind": (
        [called("c", toolCallName="f"), written(delta="a")],
        None,
        ["messageId", "tool call 'c'"],
    ),
    "a tag whose lane holds nothing": (
        [written("m"), by("s", written(delta="a"))],
        None,
        ["messageId", "subagent 's'"],
    ),
    "a tag whose lane holds another kind": (
        [by("s", thought("r")), written("m"), by("s", written(delta="a"))],
        None,
        ["messageId", "reasoning message 'r'"],
    ),
    "no id after the item was closed": (
        [written("m"), text("x", "n"), written(delta="a")],
        None,
        ["messageId"],
    ),
    "no id after a snapshot": ([written("m"), snapshot(), written(delta="a")], None, ["nothing"]),
    "several lanes could be meant": (
        [by("s", written("n")), by("q", written("m")), written(delta="a")],
        None,
        ["'n', 'm'"],
    ),
    "another tag": ([by("s", written("n")), by("q", written("n"))], "n", ["'q'", "'s'"]),
    "a tag on the parent's": ([written("m"), by("", written("m"))], "m", ["''", "parent"]),
    "another role": ([written("m", role="user"), written(role="system")], "m", ["role", "'user'"]),
    "a role where none was": ([written("m"), written(role="user")], "m", ["'assistant'"]),
    "another name": ([written("m", name="A"), written("m", name="B")], "m", ["name", "'A'"]),
    "a name where none was": ([written("m"), written("m", name="A")], "m", ["name", "none"]),
    "another tool": (
        [called("c", toolCallName="f"), called(toolCallName="g")],
        "c",
        ["toolCallName", "'f'"],
    ),
    "another parent": (
        [called("c", toolCallName="f", parentMessageId="m"), called(parentMessageId="n")],
        "c",
        ["parentMessageId", "'m'"],
    ),
    "a parent where none was": (
        [called("c", toolCallName="f"), called(parentMessageId="n")],
        "c",
        ["parentMessageId", "none"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    events, item_id, words = REFUSED[name]
    expander = ChunkExpander()
    for obj in events[:-1]:
        expander.expand(from_dict(obj))
    with pytest.raises(ProtocolViolation) as caught:
        expander.expand(from_dict(events[-1]))
    assert caught.value.event_type == events[-1]["type"]
    assert caught.value.id == item_id
    for word in (events[-1]["type"], *words):
        assert word in str(caught.value)


def test_a_long_id_is_not_repeated_whole() -> None:
    expander = ChunkExpander()
    expander.expand(from_dict(written("m" * 100_000)))
    with pytest.raises(ProtocolViolation) as caught:
        expander.expand(from_dict(written("m" * 100_000, role="user")))
    assert len(str(caught.value)) < 1000
    assert caught.value.id == "m" * 100_000


# What each event that is no chunk ends: the item of its lane, of every lane, or nothing.
ENDS = {
    "lane": [
        start("x"),
        text("a", "x"),
        end("x"),
        tool("x"),
        args("{", "x"),
        tool_end("x"),
        result("x", "y"),
        state(1),
        delta(),
        {"type": "CUSTOM", "name": "n", "value": None},
        {"type": "STEP_STARTED", "stepName": "p"},
        {"type": "STEP_FINISHED", "stepName": "p"},
        {"type": "REASONING_START", "messageId": "x"},
        {"type": "REASONING_END", "messageId": "x"},
        mused("START", "x"),
        mused("CONTENT", "x", delta="a"),
        mused("END", "x"),
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"},
        {"type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": "no"},
    ],
    "every": [
        run(),
        finish(),
        {"type": "RUN_ERROR", "message": "no"},
        snapshot(said("x", "a")),
    ],
    "nothing": [
        {"type": "RAW", "event": None},
        activity({}),
        activity_delta(),
        encrypted("x"),
        {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"},
    ],
}
UNTAGGED = {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"}
CHUNKS = {"TEXT_MESSAGE_CHUNK", "TOOL_CALL_CHUNK", "REASONING_MESSAGE_CHUNK"}


@pytest.mark.parametrize("tag", [None, "s", ""], ids=["parent", "subagent", "empty tag"])
@pytest.mark.parametrize(
    ("what", "event"),
    [pytest.param(what, event, id=event["type"]) for what in ENDS for event in ENDS[what]],
)
def test_what_ends_an_item(what: str, event: Json, tag: str | None) -> None:
    if event["type"] not in UNTAGGED and (tag is not None or "SUBAGENT" not in event["type"]):
        event = by(tag, event)
    lanes: dict[str | None, tuple[Json, Json]] = {
        "q": (thought("r", subagentRunId="q"), by("q", mused("END"))),
        None: (written("m"), end()),
        "": (by("", called("c", toolCallName="f")), by("", tool_end())),
        "s": (by("s", written("n")), by("s", end("n"))),
    }
    opening = [chunk for chunk, _ in lanes.values()]
    own = event.get("subagentRunId")
    ends = {"lane": [lanes[own][1]], "every": [e for _, e in lanes.values()], "nothing": []}[what]
    assert expanded([*opening, event]) == [*expanded(opening), *ends, event]


def test_every_event_type_has_its_line() -> None:
    named = [event["type"] for events in ENDS.values() for event in events]
    assert sorted([*named, *CHUNKS]) == sorted(kind.value for kind in EventType)


@pytest.mark.parametrize("seed", range(40))
def test_random_chunks_give_a_valid_sequence(seed: int) -> None:
    """What one lane's chunks give always opens, fills and ends its items, and loses no delta."""
    random = Random(seed)
    makers: list[Callable[..., Json]] = [written, called, thought]
    chunks: list[Json] = []
    for number in range(200):
        make, lane = random.choice(makers), random.choice([None, "s", ""])
        more = {"toolCallName": "f"} if make is called else {}
        item = f"{lane}{random.randrange(3)}"
        chunks.append(by(lane, make(item, f"{number};", **more)))
    given = expanded([run(), *chunks, finish()])
    verifier = SequenceVerifier(WarningLog())
    for obj in given:
        verifier.verify(from_dict(obj))
    verifier.close()
    sent = [chunk["delta"] for chunk in chunks]
    assert [obj["delta"] for obj in given if "delta" in obj] == sent


def steps_of(act: Callable[[Event], object], event: Event) -> int:
    """How many bytecode instructions it takes to act on an event."""
    count = 0

    def trace(frame: FrameType, what: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += what == "opcode"
        return trace

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # without it, 3.12 counts nothing the first time
    gc.disable()  # what it calls back would be counted too
    sys.settrace(trace)
    try:
        act(event)
    finally:
        sys.settrace(before)
        gc.enable()
    return count


@pytest.mark.parametrize("chunk", [written(delta="a"), written("m", "a"), by("s", state(1))])
def test_cost_does_not_grow_with_what_is_open(chunk: Json) -> None:
    costs = []
    for lanes in (1, 500):
        expander = ChunkExpander()
        expander.expand(from_dict(by("s", written("m"))))
        for number in range(lanes):
            opener = called(f"c{number}", toolCallName="f", subagentRunId=f"q{number}")
            expander.expand(from_dict(opener))
        costs.append(steps_of(expander.expand, from_dict(chunk)))
    assert 0 < costs[0] == costs[1]
