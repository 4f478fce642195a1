"""Whether assembly stays linear: each cost as a ratio to the same work on something small.

    pytest benchmarks -k linear

A ratio of 1.00 is flat; up to 1.3 counts as flat on a busy machine. Nothing here is asserted.
The variants of a comparison take turns, round by round, and the medians are compared.
"""

from __future__ import annotations

import platform
import statistics
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import msgspec
import pytest

from agui_wire import Event, __version__
from agui_wire.events import (
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallStartEvent,
)
from agui_wire.messages import UserMessage
from agui_wire.pipeline.assemble import MessageAssembler

ROUNDS = 7

Work = Callable[[], None]
Prepare = Callable[[], Work]

TEXT_START = TextMessageStartEvent(message_id="m")
TOOL_START = ToolCallStartEvent(tool_call_id="c", tool_call_name="f")


def text_deltas(count: int) -> list[Event]:
    return [TextMessageContentEvent(message_id="m", delta=f"word {n} ") for n in range(count)]


def argument_deltas(count: int) -> list[Event]:
    return [ToolCallArgsEvent(tool_call_id="c", delta=f"{n}, ") for n in range(count)]


def spread(start: Event, deltas: list[Event], each: int) -> Prepare:
    """The deltas on one thing after another, `each` on one; all of them read at the end."""

    def work() -> None:
        for begin in range(0, len(deltas), each):
            assembler = MessageAssembler()
            assembler.apply(start)
            for delta in deltas[begin : begin + each]:
                assembler.apply(delta)
            assert assembler.messages

    return lambda: work


def behind(earlier: int, deltas: list[Event], *, read_every: int | None = None) -> Prepare:
    """The deltas on one message behind `earlier` others, which are there before."""
    messages = [UserMessage(id=f"u{n}", content="hello") for n in range(earlier)]

    def prepare() -> Work:
        assembler = MessageAssembler(messages)
        assembler.apply(TEXT_START)

        def work() -> None:
            for number, delta in enumerate(deltas, 1):
                assembler.apply(delta)
                if read_every is not None and number % read_every == 0:
                    assert assembler.messages
            assert assembler.messages

        return work

    return prepare


def patched(items: int, count: int) -> Prepare:
    """One-field patches of a state with `items` items, in an object and in a list."""
    state = {
        "by_id": {f"k{n}": {"n": 0} for n in range(items)},
        "rows": [{"n": 0} for _ in range(items)],
    }
    paths = [path for n in range(10) for path in (f"/by_id/k{n}/n", f"/rows/{n}/n")]
    deltas = [
        StateDeltaEvent(delta=[{"op": "replace", "path": paths[n % 20], "value": n}])
        for n in range(count)
    ]

    def work() -> None:
        assembler = MessageAssembler()
        assembler.apply(StateSnapshotEvent(snapshot=state))
        for delta in deltas:
            assembler.apply(delta)
        assert assembler.state

    return lambda: work


# name: (events in each variant, the flat variant, the one that must not cost more)
COMPARISONS: dict[str, tuple[int, Callable[[int], Prepare], Callable[[int], Prepare]]] = {
    "400,000 deltas on one message / on 100": (
        400_000,
        lambda count: spread(TEXT_START, text_deltas(count), count // 100),
        lambda count: spread(TEXT_START, text_deltas(count), count),
    ),
    "50,000 TOOL_CALL_ARGS on one call / on 50": (
        50_000,
        lambda count: spread(TOOL_START, argument_deltas(count), count // 50),
        lambda count: spread(TOOL_START, argument_deltas(count), count),
    ),
    "a delta after 10,000 messages / after 10": (
        50_000,
        lambda count: behind(10, text_deltas(count)),
        lambda count: behind(10_000, text_deltas(count)),
    ),
    "the same, messages read every 100th": (
        20_000,
        lambda count: behind(10, text_deltas(count), read_every=100),
        lambda count: behind(10_000, text_deltas(count), read_every=100),
    ),
    "a field of a state of 100,000 items / of 10": (
        20_000,
        lambda count: patched(10, count),
        lambda count: patched(100_000, count),
    ),
}


def timed(prepare: Prepare) -> float:
    work = prepare()
    begin = perf_counter()
    work()
    return perf_counter() - begin


@pytest.fixture(scope="module", autouse=True)
def machine(pytestconfig: pytest.Config) -> None:
    capture: Any = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(
            f"\n{platform.machine()} {platform.system()},",
            f"{platform.python_implementation()} {sys.version.split()[0]},",
            f"msgspec {msgspec.__version__}, agui_wire {__version__}; median of {ROUNDS} rounds",
        )


@pytest.mark.parametrize("name", COMPARISONS)
def test_linear(name: str, benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    count, make_flat, make_large = COMPARISONS[name]
    flat, large = make_flat(count), make_large(count)
    timed(flat)
    timed(large)
    rounds = [(timed(flat), timed(large)) for _ in range(ROUNDS)]
    per_event = [statistics.median(column) / count * 1e9 for column in zip(*rounds, strict=True)]
    ratio = statistics.median(slow / fast for fast, slow in rounds)
    benchmark.extra_info["ratio"] = ratio
    benchmark.pedantic(lambda work: work(), setup=lambda: ((large(),), {}), rounds=1)
    with capsys.disabled():
        print(f"\n{name}: {ratio:.2f} ({per_event[1]:.0f} / {per_event[0]:.0f} ns an event)")
