"""Assembly: each rule as a case, then what holds for any stream."""

from __future__ import annotations

import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_wire import from_dict
from agui_wire.events import (
    StateDeltaEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)
from agui_wire.pipeline._lending import ListLender
from agui_wire.pipeline.assemble import MessageAssembler
from tests.pipeline.assembly_cases import CASES
from tests.pipeline.building import (
    IMAGE,
    Json,
    acting,
    activity,
    activity_delta,
    answer,
    args,
    as_json,
    assemble,
    call,
    called,
    canonical,
    delta,
    encrypted,
    end,
    finish,
    message,
    op,
    part,
    reasoning,
    result,
    run,
    run_input,
    said,
    snapshot,
    start,
    state,
    text,
    tool,
    tool_end,
    whole,
)
from tests.pipeline.snapshot_cases import MORE_CASES

ALL_CASES = CASES | MORE_CASES


@pytest.mark.parametrize("read_each", [False, True], ids=["read once", "read after each event"])
@pytest.mark.parametrize("name", ALL_CASES)
def test_messages(name: str, read_each: bool) -> None:
    events, before, after, kinds = ALL_CASES[name]
    assembler, warnings = assemble(events, before, read_each=read_each)
    assert as_json(assembler.messages) == after
    assert sorted({warning.kind for warning in warnings}) == kinds


# name: (events, state at the start, state in the end, kinds of warnings)
STATES: dict[str, tuple[list[Json], Any, Any, list[str]]] = {
    "none": ([], None, {}, []),
    "from the run input": ([], {"a": 1}, {"a": 1}, []),
    "snapshot": ([state({"a": 1}), state([2])], {"b": 1}, [2], []),
    "null": ([state(None)], {"b": 1}, None, []),
    "zero": ([state(0)], {"b": 1}, 0, []),
    "empty text": ([state("")], {"b": 1}, "", []),
    "delta": ([delta(op("add", "/a", 1)), delta(op("add", "/b", 2))], None, {"a": 1, "b": 2}, []),
    "delta of nothing": ([delta()], {"a": 1}, {"a": 1}, []),
    "keys": (
        [delta(op("replace", "/a~1b", 2), op("replace", "/~0", 2), op("replace", "/", 2))],
        {"a/b": 1, "~": 1, "": 1},
        {"a/b": 2, "~": 2, "": 2},
        [],
    ),
    "the whole removed": ([delta(op("remove", ""))], {"a": 1}, None, []),
    "a delta that fails, and the next one": (
        [
            delta(op("add", "/a", 2), op("test", "/a", 1)),
            delta(op("replace", "/no", 1)),
            delta(op("add", "/list/9", 1)),
            delta(op("add", "/list/-", 1)),
        ],
        {"a": 1, "list": []},
        {"a": 1, "list": [1]},
        ["patch"],
    ),
    "a run's input leaves it alone": (
        [run(input={**run_input(), "state": {"b": 2}})],
        {"a": 1},
        {"a": 1},
        [],
    ),
}


@pytest.mark.parametrize("read_each", [False, True], ids=["read once", "read after each event"])
@pytest.mark.parametrize("name", STATES)
def test_state(name: str, read_each: bool) -> None:
    events, before, after, kinds = STATES[name]
    assembler, warnings = assemble(events, initial=before, read_each=read_each)
    assert canonical(assembler.state) == canonical(after)
    assert sorted({warning.kind for warning in warnings}) == kinds


def test_a_state_of_null_to_start_from() -> None:
    assert MessageAssembler((), None).state is None


def test_assemblers_do_not_share_the_state_they_start_with() -> None:
    MessageAssembler().state["mine"] = 1
    assert MessageAssembler().state == {}


def test_a_failed_delta_is_told_with_operation_and_reason() -> None:
    _, warnings = assemble([delta(op("add", "/a", 1), op("replace", "/b", 1))])
    assert [warning.path for warning in warnings] == ["/delta/1"]
    assert "operation 1" in warnings[0].message
    assert "'replace' at '/b'" in warnings[0].message
    assert "no member 'b'" in warnings[0].message


INTERRUPT: Json = {"id": "i", "reason": "ask"}
USAGE: list[Json] = [{"model": "m", "inputTokens": 3}]

# name: (events, outcome, error message, result, interrupts, pending, usage)
RUNS: dict[str, tuple[list[Json], tuple[Any, ...]]] = {
    "nothing yet": ([], (None, None, None, [], [], [])),
    "open": ([run()], (None, None, None, [], [], [])),
    "finished": (
        [run(), finish(result={"x": 1}, usage=USAGE)],
        ("success", None, {"x": 1}, [], [], USAGE),
    ),
    "finished with an outcome": (
        [run(), finish(outcome={"type": "success"})],
        ("success", None, None, [], [], []),
    ),
    "interrupted": (
        [run(), *called("c"), finish(outcome={"type": "interrupt", "interrupts": [INTERRUPT]})],
        ("interrupt", None, None, [INTERRUPT], ["c"], []),
    ),
    "cancelled": (
        [run(), finish(outcome={"type": "cancelled"})],
        ("cancelled", None, None, [], [], []),
    ),
    "failed": (
        [run(), {"type": "RUN_ERROR", "message": "no", "code": "X", "usage": USAGE}],
        ("error", ("no", "X"), None, [], [], USAGE),
    ),
    "failed before it started": (
        [{"type": "RUN_ERROR", "message": "no"}],
        ("error", ("no", None), None, [], [], []),
    ),
    "failed after it finished": (
        [
            run(),
            finish(result=1, usage=USAGE, outcome={"type": "interrupt", "interrupts": [INTERRUPT]}),
            {"type": "RUN_ERROR", "message": "late"},
        ],
        ("error", ("late", None), None, [], [], USAGE),
    ),
    "the next run starts afresh": (
        [
            run(),
            *called("c"),
            finish(result=1, usage=USAGE, outcome={"type": "interrupt", "interrupts": [INTERRUPT]}),
            run("2"),
        ],
        (None, None, None, [], [], []),
    ),
    "the next run after an error": (
        [{"type": "RUN_ERROR", "message": "no"}, run("2"), finish("2")],
        ("success", None, None, [], [], []),
    ),
    "calls without a result are pending": (
        [run(), *called("b"), *called("a"), *called("c"), result("a", "t"), finish()],
        ("success", None, None, [], ["b", "c"], []),
    ),
    "a held call that is started again is pending": (
        [run(), *called("c"), finish(), run("2"), *called("c"), finish("2")],
        ("success", None, None, [], ["c"], []),
    ),
    "calls of the run before are not pending": (
        [run(), *called("c"), finish(), run("2"), finish("2")],
        ("success", None, None, [], [], []),
    ),
    "pending calls that were named are those of their run": (
        [
            run(),
            finish(outcome={"type": "success", "pendingToolCallIds": ["x"]}),
            run("2"),
            finish("2"),
        ],
        ("success", None, None, [], [], []),
    ),
    "pending calls as they are named": (
        [
            run(),
            *called("c"),
            finish(outcome={"type": "success", "pendingToolCallIds": ["x"]}),
        ],
        ("success", None, None, [], ["x"], []),
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_run(name: str) -> None:
    events, expected = RUNS[name]
    assembler, warnings = assemble(events)
    error = assembler.error
    assert expected == (
        assembler.outcome,
        None if error is None else (error.message, error.code),
        assembler.result,
        [msgspec.to_builtins(each) for each in assembler.interrupts],
        assembler.pending_tool_call_ids,
        [msgspec.to_builtins(each) for each in assembler.usage],
    )
    assert warnings == []


def test_messages_and_state_go_on_over_runs() -> None:
    assembler, _ = assemble(
        [run(), *whole("a", "1"), state({"n": 1}), finish(), run("2"), *whole("b", "2")]
    )
    assert as_json(assembler.messages) == [said("a", "1"), said("b", "2")]
    assert assembler.state == {"n": 1}


HIGH, LOW = "\ud83d", "\ude00"

# deltas, text, whether it warns
HALVES = [
    ([f"a{HIGH}", f"{LOW}b"], "a😀b", False),
    ([HIGH, "", LOW], "😀", False),
    ([f"é{HIGH}{LOW}"], "é😀", False),
    ([f"a{HIGH}"], "a\ufffd", True),
    ([HIGH, "b"], "\ufffdb", True),
    ([LOW, "b"], "\ufffdb", True),
    ([HIGH, HIGH, LOW], "\ufffd😀", True),
    (["\ufffd", "é"], "\ufffdé", False),
]


@pytest.mark.parametrize("read_each", [False, True], ids=["read once", "read after each delta"])
@pytest.mark.parametrize(("deltas", "final", "warns"), HALVES)
def test_halves_of_a_character(deltas: list[str], final: str, warns: bool, read_each: bool) -> None:
    events: list[Any] = [TextMessageContentEvent(message_id="m", delta=each) for each in deltas]
    assembler, _ = assemble([start(), *events], read_each=read_each)
    assert assembler.messages[0].content == final
    assembler, warnings = assemble([start(), *events, end()], read_each=read_each)
    assert as_json(assembler.messages) == [said("m", final)]
    assert [warning.kind for warning in warnings] == (["surrogate"] if warns else [])


@pytest.mark.parametrize("held", ["", "old"])
@pytest.mark.parametrize(("deltas", "final", "warns"), HALVES)
def test_halves_of_a_character_in_arguments(
    deltas: list[str], final: str, warns: bool, held: str
) -> None:
    events: list[Any] = [ToolCallArgsEvent(tool_call_id="c", delta=each) for each in deltas]
    before = [said("m", toolCalls=[call("c", held)])]
    assembler, warnings = assemble([tool(), *events, tool_end()], before)
    assert as_json(assembler.messages) == [said("m", toolCalls=[call("c", final)])]
    assert [warning.kind for warning in warnings] == (["surrogate"] if warns else [])


def test_half_at_the_end_of_a_part_stays_alone() -> None:
    half = TextMessageContentEvent(message_id="m", delta=HIGH)
    events: list[Any] = [start(), half, start(), text("x"), end()]
    assembler, warnings = assemble(events, [said("m", [IMAGE], "user")])
    assert as_json(assembler.messages) == [said("m", [IMAGE, part("\ufffd"), part("x")], "user")]
    assert [warning.kind for warning in warnings] == ["surrogate"]


def test_halves_join_over_a_reopening() -> None:
    assembler, _ = assemble(
        [
            start(),
            TextMessageContentEvent(message_id="m", delta=HIGH),
            end(),
            start(),
            TextMessageContentEvent(message_id="m", delta=LOW),
        ]
    )
    assert as_json(assembler.messages) == [said("m", "😀")]


def test_half_that_may_still_find_its_partner_is_not_warned_of() -> None:
    _, warnings = assemble(
        [start(), TextMessageContentEvent(message_id="m", delta=HIGH)], read_each=True
    )
    assert warnings == []


def test_unchanged_messages_are_handed_out_as_they_are() -> None:
    given = message(said("u", "x", "user"))
    assembler = MessageAssembler([given])
    for each in whole("a", "1"):
        assembler.apply(from_dict(each))
    first = assembler.messages
    for each in whole("b", "2"):
        assembler.apply(from_dict(each))
    second = assembler.messages
    assert second[0] is first[0] is given
    assert second[1] is first[1]


def test_a_list_of_messages_is_its_readers_own() -> None:
    assembler = MessageAssembler([message(said("u", "x", "user"))])
    expected = [said("u", "x", "user")]
    kept = []
    for number in range(6):
        for each in [*whole(f"m{number}", "x"), text("!", "u")]:
            assembler.apply(from_dict(each))
        expected = [said("u", "x" + "!" * (number + 1), "user"), *expected[1:]]
        expected = [*expected, said(f"m{number}", "x")]
        taken = assembler.messages
        assert as_json(taken) == expected
        if number % 2:
            kept.append((taken, expected))
        elif number == 0:
            taken.reverse()
        elif number == 2:
            taken.append(message(said("mine", "y", "user")))
        else:
            taken.clear()
        del taken
    for taken, wanted in kept:
        assert as_json(taken) == wanted
    assert as_json(assembler.messages) == expected


@pytest.mark.parametrize(("keeps_one", "lists"), [(False, 1), (True, 2)])
def test_a_list_that_nobody_holds_is_handed_out_again(keeps_one: bool, lists: int) -> None:
    lender = ListLender()
    given, blockers = set(), []
    for number in range(6):
        lender.append(number)
        lender.replace(0, -number)
        taken = lender.lend()
        assert taken == [-number, *range(1, number + 1)]
        given.add(id(taken))
        if not keeps_one:
            del taken
        # Takes the place in memory of a list that was let go.
        blockers.append([number])
    assert len(given) == lists


def test_partial_arguments() -> None:
    pytest.importorskip("jiter")
    assembler, _ = assemble([tool(), args('{"city": "Par')])
    assert assembler.partial_arguments("c") == {"city": "Par"}
    assembler.apply(from_dict(args('is", "days": [1, 2')))
    assert assembler.partial_arguments("c") == {"city": "Paris", "days": [1, 2]}
    assembler.apply(from_dict(args("]}")))
    assert assembler.partial_arguments("c") == {"city": "Paris", "days": [1, 2]}


@pytest.mark.parametrize("arguments", ["", "nonsense", "[" * 5000, "\ud83d"])
def test_partial_arguments_that_cannot_be_read(arguments: str) -> None:
    pytest.importorskip("jiter")
    held = message(said("m", toolCalls=[call("c", arguments)]))
    assert MessageAssembler([held]).partial_arguments("c") is None
    assert MessageAssembler().partial_arguments("c") is None


def test_partial_arguments_without_jiter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jiter", None)
    with pytest.raises(ImportError, match=r"pip install 'agui-wire\[partial\]'"):
        MessageAssembler().partial_arguments("c")


def test_what_is_no_event_is_left_out() -> None:
    odd: Any = {"type": "RUN_STARTED"}
    assembler, warnings = assemble([TextMessageChunkEvent(message_id="m", delta="x")])
    assembler.apply(odd)
    assert assembler.messages == []
    assert "TextMessageChunkEvent" in warnings[0].message


def test_a_delta_that_is_no_patch_is_left_out() -> None:
    broken: Any = None
    _, warnings = assemble([StateDeltaEvent(delta=broken)])
    assert [warning.kind for warning in warnings] == ["patch"]


def test_many_messages_are_let_go_without_recursion() -> None:
    assembler = MessageAssembler(
        message(said(str(number), "x", "user")) for number in range(100_000)
    )
    assert len(assembler.messages) == 100_000
    del assembler


IDS = st.sampled_from(["a", "b", "c"])
DELTAS = st.sampled_from(["", "x", "é", HIGH, LOW, '{"k":'])
CONTENTS = st.sampled_from(["x", [part("x")], [IMAGE]])
MESSAGES = st.one_of(
    st.builds(said, IDS, st.just("x"), st.sampled_from(["assistant", "user", "reasoning"])),
    st.builds(said, IDS, CONTENTS, st.just("user")),
    st.builds(lambda id, c, text: said(id, toolCalls=[call(c, text)]), IDS, IDS, DELTAS),
    st.builds(answer, IDS, IDS, CONTENTS),
    st.builds(acting, IDS, st.just({"n": [1]})),
)
PATCHES = st.lists(
    st.sampled_from([op("add", "/k", {"d": []}), op("add", "/k/d/-", 1), op("remove", "/k")]),
    max_size=3,
)
EVENTS = st.one_of(
    st.builds(start, IDS),
    st.builds(text, DELTAS, IDS),
    st.builds(end, IDS),
    st.builds(tool, IDS, IDS),
    st.builds(lambda id, parent: tool(id, parentMessageId=parent), IDS, IDS),
    st.builds(args, DELTAS, IDS),
    st.builds(tool_end, IDS),
    st.builds(result, IDS, IDS, CONTENTS),
    st.builds(lambda id: reasoning("START", id, role="reasoning"), IDS),
    st.builds(encrypted, IDS, st.sampled_from(["message", "tool-call"])),
    st.builds(activity, st.just({"n": 1}), IDS),
    st.builds(lambda id, patch: activity_delta(*patch, id=id), IDS, PATCHES),
    st.builds(lambda patch: delta(*patch), PATCHES),
    st.builds(lambda messages: snapshot(*messages), st.lists(MESSAGES, max_size=3)),
    st.builds(lambda messages: run(input=run_input(*messages)), st.lists(MESSAGES, max_size=2)),
)


@given(
    st.lists(
        st.tuples(EVENTS, st.none() | st.dictionaries(IDS, st.integers(0, 1), max_size=2)),
        max_size=20,
    ),
    st.lists(MESSAGES, max_size=3),
)
def test_any_stream_reads_alike_however_often_it_is_read(
    tagged: list[tuple[Json, Json | None]], messages: list[Json]
) -> None:
    events = [
        event if metadata is None else event | {"metadata": metadata} for event, metadata in tagged
    ]
    often, _ = assemble(events, messages, {"s": [1]}, read_each=True)
    once, _ = assemble(events, messages, {"s": [1]})
    assert repr(often.messages) == repr(once.messages)
    assert often.state == once.state
    assert often.pending_tool_call_ids == once.pending_tool_call_ids
