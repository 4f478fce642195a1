"""The sequence rules of a stream (protocol page "processing", "Verify the sequence")."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .._warnings import WarningLog
from ..errors import ProtocolViolation, TruncatedStream
from ..events import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    Event,
    EventType,
    MessagesSnapshotEvent,
    ReasoningEncryptedValueEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunStartedEvent,
    SubagentStartedEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ..media_types import PROTOCOL_VERSION
from .owners import Owners, check_owner, name_of

__all__ = ["SequenceVerifier"]

_NEW, _RUNNING, _FINISHED, _FAILED = "new", "running", "finished", "failed"

_CHUNKS = frozenset(
    {
        EventType.TEXT_MESSAGE_CHUNK,
        EventType.TOOL_CALL_CHUNK,
        EventType.REASONING_MESSAGE_CHUNK,
    }
)
_START = frozenset({EventType.RUN_STARTED})
_START_OR_ERROR = frozenset({EventType.RUN_STARTED, EventType.RUN_ERROR})

# What each state of the stream admits, what it says of the rest, and where an event leads.
_ADMITS = {
    _NEW: _START_OR_ERROR,
    _RUNNING: frozenset(EventType) - _START - _CHUNKS,
    _FINISHED: _START_OR_ERROR,
    _FAILED: _START,
}
_REFUSALS = {
    _NEW: "the first event is RUN_STARTED or RUN_ERROR",
    _RUNNING: "a run is open",
    _FINISHED: "after RUN_FINISHED comes RUN_STARTED or RUN_ERROR",
    _FAILED: "after RUN_ERROR comes RUN_STARTED",
}
_LEADS_TO = {
    EventType.RUN_STARTED: _RUNNING,
    EventType.RUN_FINISHED: _FINISHED,
    EventType.RUN_ERROR: _FAILED,
}


class _Span(NamedTuple):
    """An event that opens, uses or closes an item: the namespace, the id's name, the owners."""

    namespace: str
    id_name: str
    owners: str
    opens: bool = False
    closes: bool = False


_TEXT = ("text message", "message_id", "messages")
_CALL = ("tool call", "tool_call_id", "calls")
_SPAN = ("reasoning span", "message_id", "reasonings")
_REASONING = ("reasoning message", "message_id", "reasonings")

_SPANS = {
    EventType.TEXT_MESSAGE_START: _Span(*_TEXT, opens=True),
    EventType.TEXT_MESSAGE_CONTENT: _Span(*_TEXT),
    EventType.TEXT_MESSAGE_END: _Span(*_TEXT, closes=True),
    EventType.TOOL_CALL_START: _Span(*_CALL, opens=True),
    EventType.TOOL_CALL_ARGS: _Span(*_CALL),
    EventType.TOOL_CALL_END: _Span(*_CALL, closes=True),
    EventType.REASONING_START: _Span(*_SPAN, opens=True),
    EventType.REASONING_END: _Span(*_SPAN, closes=True),
    EventType.REASONING_MESSAGE_START: _Span(*_REASONING, opens=True),
    EventType.REASONING_MESSAGE_CONTENT: _Span(*_REASONING),
    EventType.REASONING_MESSAGE_END: _Span(*_REASONING, closes=True),
}

_VERSION = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")


class SequenceVerifier:
    """Checks that the events of one stream, chunks expanded, come in an order that makes sense.

    What is only odd is told to `warnings`.
    """

    def __init__(self, warnings: WarningLog) -> None:
        self._warnings = warnings
        self._state = _NEW
        self._open: dict[str, dict[str, None]] = {span.namespace: {} for span in _SPANS.values()}
        self._steps: dict[tuple[str, str | None], None] = {}
        self._subagents: dict[str, bool] = {}
        self._active: dict[str, None] = {}
        self._owners = Owners()
        self._run: tuple[str, str] | None = None

    def verify(self, event: Event) -> None:
        """Take the next event. Raises ProtocolViolation that names it, its id, what was open."""
        kind = event.type
        if kind not in _ADMITS[self._state]:
            raise self._refusal(kind)
        span = _SPANS.get(kind)
        if span is not None:
            self._span(event, span)
        else:
            rule = _RULES.get(kind)
            if rule is not None:
                rule(self, event)
        state = _LEADS_TO.get(kind)
        if state is not None:
            self._state = state

    def close(self) -> None:
        """The end of the stream. Raises TruncatedStream where a terminal event is missing."""
        if self._state == _NEW:
            raise TruncatedStream("the stream ended before its first event")
        if self._state == _RUNNING:
            left = self._open_items()
            what = f" while {', '.join(left)} were open" if left else ""
            raise TruncatedStream(f"the stream ended without RUN_FINISHED or RUN_ERROR{what}")

    def _refusal(self, kind: EventType) -> ProtocolViolation:
        name = kind.value
        if kind in _CHUNKS and self._state == _RUNNING:
            return ProtocolViolation(f"{name} has to be expanded first", name)
        run = f" (run {self._run[1]!r})" if self._state == _RUNNING and self._run else ""
        return ProtocolViolation(f"{name} is out of place: {_REFUSALS[self._state]}{run}", name)

    def _open_items(self) -> list[str]:
        items = [f"{name} {i!r}" for name, table in self._open.items() for i in table]
        items += [f"step {name!r} of {name_of(owner)}" for name, owner in self._steps]
        items += [f"subagent {name!r}" for name in self._active]
        return [*items[:5], f"{len(items) - 5} more"] if len(items) > 5 else items

    def _span(self, event: Any, span: _Span) -> None:
        item_id = getattr(event, span.id_name)
        table = self._open[span.namespace]
        if (item_id in table) is span.opens:
            problem = "is open already" if span.opens else "is not open"
            others = ", ".join(map(repr, list(table)[:5]))
            hint = f"; open are {others}" if others and not span.opens else ""
            name = event.type.value
            raise ProtocolViolation(
                f"{name}: the {span.namespace} {item_id!r} {problem}{hint}", name, item_id
            )
        owners: dict[str, str | None] = getattr(self._owners, span.owners)
        check_owner(owners, event, item_id, span.namespace)
        if span.opens:
            inherited = self._parent_owner(event) if type(event) is ToolCallStartEvent else None
            if item_id not in owners:
                tag = event.subagent_run_id
                owners[item_id] = inherited if tag is None else tag
            table[item_id] = None
        elif span.closes:
            del table[item_id]

    def _parent_owner(self, event: ToolCallStartEvent) -> str | None:
        """The owner of the message that a call is on, which has to be the call's own."""
        parent = event.parent_message_id
        messages = self._owners.messages
        if parent is None or parent not in messages:
            return None
        owner = messages[parent]
        own = event.subagent_run_id
        if own is None:
            own = self._owners.calls.get(event.tool_call_id, owner)
        if own != owner:
            name = event.type.value
            raise ProtocolViolation(
                f"{name}: the tool call {event.tool_call_id!r} belongs to {name_of(own)}, its "
                f"parent message {parent!r} to {name_of(owner)}",
                name,
                event.tool_call_id,
            )
        return owner

    def _run_started(self, event: RunStartedEvent) -> None:
        for table in self._open.values():
            table.clear()
        self._steps.clear()
        self._subagents.clear()
        self._active.clear()
        self._owners.clear()
        self._run = (event.thread_id, event.run_id)
        if event.input is not None:
            self._owners.record(event.input.messages, overwrite=False)
        self._check_version(event.protocol_version)

    def _check_version(self, version: str | None) -> None:
        if version is None or version == PROTOCOL_VERSION:
            return
        match = _VERSION.fullmatch(version)
        if match is None:
            message = f"the producer's protocolVersion {version!r} is not MAJOR.MINOR"
        elif tuple(map(int, match.groups())) > tuple(map(int, PROTOCOL_VERSION.split("."))):
            message = f"the producer speaks protocol {version}, newer than {PROTOCOL_VERSION}"
        else:
            return
        self._warnings.warn("protocol-version", "/protocolVersion", message)

    def _run_finished(self, event: RunFinishedEvent) -> None:
        left = self._open_items()
        if left:
            raise ProtocolViolation(
                f"RUN_FINISHED while {', '.join(left)} are open", "RUN_FINISHED", event.run_id
            )
        if (event.thread_id, event.run_id) != self._run:
            self._warnings.warn(
                "run-id",
                "/runId",
                f"RUN_FINISHED names thread {event.thread_id!r} and run {event.run_id!r}, "
                f"RUN_STARTED opened {self._run}",
            )
        if isinstance(event.outcome, RunFinishedInterruptOutcome):
            ids = [interrupt.id for interrupt in event.outcome.interrupts]
            if len(set(ids)) < len(ids):
                self._warnings.warn(
                    "interrupt-id", "/outcome/interrupts", "two interrupts have the same id"
                )

    def _step_started(self, event: Any) -> None:
        step = (event.step_name, event.subagent_run_id)
        if step in self._steps:
            raise ProtocolViolation(
                f"STEP_STARTED: the step {step[0]!r} of {name_of(step[1])} is open already",
                "STEP_STARTED",
                event.step_name,
            )
        self._steps[step] = None

    def _step_finished(self, event: Any) -> None:
        step = (event.step_name, event.subagent_run_id)
        if step not in self._steps:
            raise ProtocolViolation(
                f"STEP_FINISHED: the step {step[0]!r} of {name_of(step[1])} is not open",
                "STEP_FINISHED",
                event.step_name,
            )
        del self._steps[step]

    def _subagent_started(self, event: SubagentStartedEvent) -> None:
        name, subagent = "SUBAGENT_STARTED", event.subagent_run_id
        parent = event.parent_subagent_run_id
        if subagent in self._subagents:
            when = "is active" if subagent in self._active else "has ended in this run"
            raise ProtocolViolation(f"{name}: the subagent {subagent!r} {when}", name, subagent)
        if parent is not None and parent not in self._subagents:
            raise ProtocolViolation(
                f"{name}: the parent {parent!r} of {subagent!r} was never started", name, subagent
            )
        self._subagents[subagent] = True
        self._active[subagent] = None

    def _subagent_ended(self, event: Any) -> None:
        if event.subagent_run_id not in self._active:
            name = event.type.value
            raise ProtocolViolation(
                f"{name}: the subagent {event.subagent_run_id!r} is not active",
                name,
                event.subagent_run_id,
            )
        del self._active[event.subagent_run_id]

    def _messages_snapshot(self, event: MessagesSnapshotEvent) -> None:
        self._owners.record(event.messages, overwrite=True)

    def _tool_result(self, event: ToolCallResultEvent) -> None:
        self._owners.messages[event.message_id] = event.subagent_run_id

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


_RULES: dict[EventType, Callable[[SequenceVerifier, Any], None]] = {
    EventType.RUN_STARTED: SequenceVerifier._run_started,
    EventType.RUN_FINISHED: SequenceVerifier._run_finished,
    EventType.STEP_STARTED: SequenceVerifier._step_started,
    EventType.STEP_FINISHED: SequenceVerifier._step_finished,
    EventType.SUBAGENT_STARTED: SequenceVerifier._subagent_started,
    EventType.SUBAGENT_FINISHED: SequenceVerifier._subagent_ended,
    EventType.SUBAGENT_ERROR: SequenceVerifier._subagent_ended,
    EventType.MESSAGES_SNAPSHOT: SequenceVerifier._messages_snapshot,
    EventType.TOOL_CALL_RESULT: SequenceVerifier._tool_result,
    EventType.ACTIVITY_SNAPSHOT: SequenceVerifier._activity_snapshot,
    EventType.ACTIVITY_DELTA: SequenceVerifier._activity_delta,
    EventType.REASONING_ENCRYPTED_VALUE: SequenceVerifier._encrypted_value,
}
