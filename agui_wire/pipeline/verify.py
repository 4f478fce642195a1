"""The sequence rules of a stream (protocol page "processing", "Verify the sequence")."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .._warnings import WarningLog
from ..errors import ProtocolViolation, TruncatedStream
from ..events import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    CustomEvent,
    Event,
    MessagesSnapshotEvent,
    RawEvent,
    ReasoningEncryptedValueEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ..media_types import PROTOCOL_VERSION
from .owners import Items, Owners, check_owner, listed, name_of, shown

__all__ = ["SequenceVerifier"]

_SUBAGENT_EVENTS = (SubagentStartedEvent, SubagentFinishedEvent, SubagentErrorEvent)

# The first of these that an event has is the id that an error names.
_ID_NAMES = ("message_id", "tool_call_id", "entity_id", "step_name", "run_id")

_VERSION = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")


class SequenceVerifier:
    """Checks that the events of one stream, chunks expanded, come in an order that makes sense.

    What is only odd is told to `warnings`. Each event takes the same time, however many items
    are open.
    """

    def __init__(self, warnings: WarningLog) -> None:
        self._warnings = warnings
        self._state: _State = _NEW
        self._run = ("", "")
        self._owners = Owners()
        self._texts: Items = Items("text message", self._owners.messages)
        self._calls: Items = Items("tool call", self._owners.calls)
        self._spans: Items = Items("reasoning span", self._owners.reasonings)
        self._reasonings: Items = Items("reasoning message", self._owners.reasonings)
        self._items = (self._texts, self._calls, self._spans, self._reasonings)
        self._steps: dict[tuple[str, str | None], None] = {}
        self._announced: set[str] = set()
        self._active: dict[str, None] = {}

    def verify(self, event: Event) -> None:
        """Take the next event. Raises ProtocolViolation that names it, its id, what was open."""
        rule = self._state.rules.get(type(event))
        if rule is None:
            raise self._out_of_place(event)
        rule(self, event)

    def close(self) -> None:
        """The end of the stream. Raises TruncatedStream where a terminal event is missing."""
        if self._state is _NEW:
            raise TruncatedStream("the stream ended before its first event")
        if self._state is _RUNNING:
            raise TruncatedStream(
                f"the stream ended without RUN_FINISHED or RUN_ERROR: run {shown(self._run[1])} "
                f"was open, and in it {self._open_items()}"
            )

    def _out_of_place(self, event: Event) -> ProtocolViolation:
        name = event.type.value
        names = ("subagent_run_id",) if isinstance(event, _SUBAGENT_EVENTS) else _ID_NAMES
        ids = [getattr(event, field) for field in names if hasattr(event, field)]
        item_id = ids[0] if ids else None
        subject = name if item_id is None else f"{name} of {shown(item_id)}"
        reason = self._state.admits
        if self._state is _RUNNING and isinstance(event, RunStartedEvent):
            reason = f"run {shown(self._run[1])} is open"
        return ProtocolViolation(f"{subject} is out of place: {reason}", name, item_id)

    def _open_items(self) -> str:
        count = sum(len(items.open) for items in self._items)
        return listed(self._names(), count + len(self._steps) + len(self._active))

    def _names(self) -> Iterator[str]:
        for items in self._items:
            for item_id in items.open:
                yield f"{items.thing} {shown(item_id)}"
        for name, owner in self._steps:
            yield f"step {shown(name)} of {name_of(owner)}"
        for subagent in self._active:
            yield f"subagent {shown(subagent)}"

    def _run_started(self, event: RunStartedEvent) -> None:
        for items in self._items:
            items.open.clear()
        self._steps.clear()
        self._announced.clear()
        self._active.clear()
        self._owners.clear()
        self._run = (event.thread_id, event.run_id)
        if event.input is not None:
            self._owners.record(event.input.messages, overwrite=False)
        if event.protocol_version is not None:
            self._check_version(event.protocol_version)
        self._state = _RUNNING

    def _check_version(self, version: str) -> None:
        key = _version_key(version)
        if key is None:
            message = f"the producer's protocolVersion {version!r} is not MAJOR.MINOR"
        elif key > _OUR_VERSION:
            message = f"the producer speaks protocol {version}, newer than {PROTOCOL_VERSION}"
        else:
            return
        self._warnings.warn("protocol-version", "/protocolVersion", message)

    def _run_finished(self, event: RunFinishedEvent) -> None:
        if self._steps or self._active or any(items.open for items in self._items):
            raise ProtocolViolation(
                f"RUN_FINISHED of {shown(event.run_id)} while open: {self._open_items()}",
                "RUN_FINISHED",
                event.run_id,
            )
        run = (event.thread_id, event.run_id)
        if run != self._run:
            told, opened = (f"thread {shown(t)} and run {shown(r)}" for t, r in (run, self._run))
            self._warnings.warn(
                "run-id", "/runId", f"RUN_FINISHED names {told}, RUN_STARTED opened {opened}"
            )
        if isinstance(event.outcome, RunFinishedInterruptOutcome):
            ids = [interrupt.id for interrupt in event.outcome.interrupts]
            if len(set(ids)) < len(ids):
                self._warnings.warn(
                    "interrupt-id", "/outcome/interrupts", "two interrupts have the same id"
                )
        self._state = _FINISHED

    def _run_error(self, event: Any) -> None:
        self._state = _FAILED

    def _call_started(self, event: ToolCallStartEvent) -> None:
        inherited = self._parent_owner(event) if event.parent_message_id is not None else None
        self._calls.start(event, event.tool_call_id, inherited)

    def _parent_owner(self, event: ToolCallStartEvent) -> str | None:
        """The owner of the message that a call is on, which has to be the call's own."""
        call, parent = event.tool_call_id, event.parent_message_id
        messages = self._owners.messages
        if parent is None or parent not in messages:
            return None
        owner = messages[parent]
        own = event.subagent_run_id
        if own is None:
            own = self._owners.calls.get(call, owner)
        if own != owner:
            raise ProtocolViolation(
                f"TOOL_CALL_START: the tool call {shown(call)} belongs to {name_of(own)}, its "
                f"parent message {shown(parent)} to {name_of(owner)}",
                "TOOL_CALL_START",
                call,
            )
        return owner

    def _tool_result(self, event: ToolCallResultEvent) -> None:
        self._owners.messages[event.message_id] = event.subagent_run_id

    def _messages_snapshot(self, event: MessagesSnapshotEvent) -> None:
        self._owners.record(event.messages, overwrite=True)

    def _activity_snapshot(self, event: ActivitySnapshotEvent) -> None:
        owners = self._owners.activities
        if event.replace is not False or event.message_id not in owners:
            owners[event.message_id] = event.subagent_run_id

    def _activity_delta(self, event: ActivityDeltaEvent) -> None:
        check_owner(self._owners.activities, event, event.message_id, "activity")

    def _encrypted_value(self, event: ReasoningEncryptedValueEvent) -> None:
        owners = self._owners
        if event.subtype == "tool-call":
            check_owner(owners.calls, event, event.entity_id, "tool call")
        elif event.entity_id in owners.messages:
            check_owner(owners.messages, event, event.entity_id, "message")
        else:
            check_owner(owners.reasonings, event, event.entity_id, "reasoning message")

    def _step_started(self, event: StepStartedEvent) -> None:
        step = (event.step_name, event.subagent_run_id)
        if step in self._steps:
            raise self._step_refusal(event, "is open already")
        self._steps[step] = None

    def _step_finished(self, event: StepFinishedEvent) -> None:
        step = (event.step_name, event.subagent_run_id)
        if step not in self._steps:
            names = (f"{shown(name)} of {name_of(owner)}" for name, owner in self._steps)
            raise self._step_refusal(
                event, f"is not open (open: {listed(names, len(self._steps))})"
            )
        del self._steps[step]

    def _step_refusal(self, event: Any, problem: str) -> ProtocolViolation:
        name, step = event.type.value, event.step_name
        owner = name_of(event.subagent_run_id)
        return ProtocolViolation(f"{name}: the step {shown(step)} of {owner} {problem}", name, step)

    def _subagent_started(self, event: SubagentStartedEvent) -> None:
        subagent, parent = event.subagent_run_id, event.parent_subagent_run_id
        if subagent in self._active:
            raise self._subagent_refusal(event, "is active already")
        if subagent in self._announced:
            raise self._subagent_refusal(event, "has ended in this run")
        if parent is not None and parent not in self._announced:
            raise self._subagent_refusal(event, f"has a parent {shown(parent)} that never started")
        self._announced.add(subagent)
        self._active[subagent] = None

    def _subagent_ended(self, event: Any) -> None:
        if event.subagent_run_id not in self._active:
            raise self._subagent_refusal(event, "is not active")
        del self._active[event.subagent_run_id]

    def _subagent_refusal(self, event: Any, problem: str) -> ProtocolViolation:
        name, subagent = event.type.value, event.subagent_run_id
        active = listed(map(shown, self._active), len(self._active))
        return ProtocolViolation(
            f"{name}: the subagent {shown(subagent)} {problem} (active: {active})", name, subagent
        )


def _version_key(version: str) -> list[tuple[int, str]] | None:
    """Orders MAJOR.MINOR as numbers, without the limit that `int` sets on digits."""
    match = _VERSION.fullmatch(version)
    return None if match is None else [(len(digits), digits) for digits in match.groups()]


_OUR_VERSION = _version_key(PROTOCOL_VERSION) or []

_Rule = Callable[[SequenceVerifier, Any], None]


class _State(NamedTuple):
    """Where a stream is: what it says of an event that it does not admit, and its rules."""

    admits: str
    rules: dict[type, _Rule]


def _anything(verifier: SequenceVerifier, event: Any) -> None:
    pass


_NEW = _State(
    "the first event is RUN_STARTED or RUN_ERROR",
    {
        RunStartedEvent: SequenceVerifier._run_started,
        RunErrorEvent: SequenceVerifier._run_error,
    },
)
_RUNNING = _State(
    "chunks have to be expanded first",
    {
        TextMessageStartEvent: lambda v, e: v._texts.start(e, e.message_id),
        TextMessageContentEvent: lambda v, e: v._texts.use(e, e.message_id),
        TextMessageEndEvent: lambda v, e: v._texts.end(e, e.message_id),
        ToolCallStartEvent: SequenceVerifier._call_started,
        ToolCallArgsEvent: lambda v, e: v._calls.use(e, e.tool_call_id),
        ToolCallEndEvent: lambda v, e: v._calls.end(e, e.tool_call_id),
        ReasoningStartEvent: lambda v, e: v._spans.start(e, e.message_id),
        ReasoningEndEvent: lambda v, e: v._spans.end(e, e.message_id),
        ReasoningMessageStartEvent: lambda v, e: v._reasonings.start(e, e.message_id),
        ReasoningMessageContentEvent: lambda v, e: v._reasonings.use(e, e.message_id),
        ReasoningMessageEndEvent: lambda v, e: v._reasonings.end(e, e.message_id),
        ReasoningEncryptedValueEvent: SequenceVerifier._encrypted_value,
        ToolCallResultEvent: SequenceVerifier._tool_result,
        MessagesSnapshotEvent: SequenceVerifier._messages_snapshot,
        ActivitySnapshotEvent: SequenceVerifier._activity_snapshot,
        ActivityDeltaEvent: SequenceVerifier._activity_delta,
        StepStartedEvent: SequenceVerifier._step_started,
        StepFinishedEvent: SequenceVerifier._step_finished,
        SubagentStartedEvent: SequenceVerifier._subagent_started,
        SubagentFinishedEvent: SequenceVerifier._subagent_ended,
        SubagentErrorEvent: SequenceVerifier._subagent_ended,
        StateSnapshotEvent: _anything,
        StateDeltaEvent: _anything,
        RawEvent: _anything,
        CustomEvent: _anything,
        RunFinishedEvent: SequenceVerifier._run_finished,
        RunErrorEvent: SequenceVerifier._run_error,
    },
)
_FINISHED = _State("after RUN_FINISHED comes RUN_STARTED or RUN_ERROR", _NEW.rules)
_FAILED = _State(
    "after RUN_ERROR comes RUN_STARTED", {RunStartedEvent: SequenceVerifier._run_started}
)
