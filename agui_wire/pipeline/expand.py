"""Chunk events expanded to START, CONTENT or ARGS, and END (protocol page "processing")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import ProtocolViolation
from ..events import (
    CustomEvent,
    Event,
    MessagesSnapshotEvent,
    ReasoningEndEvent,
    ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from .owners import listed, name_of, shown

__all__ = ["ChunkExpander"]


class _Kind(NamedTuple):
    """What a chunk event stands for. `needed` and `repeated` give the protocol's field names."""

    thing: str
    id_name: str
    needed: dict[str, str]
    repeated: dict[str, str]
    start: Callable[[Any], Event]
    content: Callable[[Any, str, str, str | None], Event]
    end: Callable[[str, str | None], Event]


_KINDS: dict[type, _Kind] = {
    TextMessageChunkEvent: _Kind(
        thing="text message",
        id_name="message_id",
        needed={"message_id": "messageId"},
        repeated={"role": "role", "name": "name"},
        start=lambda chunk: TextMessageStartEvent(
            message_id=chunk.message_id,
            role="assistant" if chunk.role is None else chunk.role,
            name=chunk.name,
            subagent_run_id=chunk.subagent_run_id,
            metadata=chunk.metadata,
        ),
        content=lambda chunk, item_id, delta, tag: TextMessageContentEvent(
            message_id=item_id,
            delta=delta,
            subagent_run_id=tag,
            metadata=chunk.metadata,
            raw_event=chunk.raw_event,
        ),
        end=lambda item_id, lane: TextMessageEndEvent(message_id=item_id, subagent_run_id=lane),
    ),
    ToolCallChunkEvent: _Kind(
        thing="tool call",
        id_name="tool_call_id",
        needed={"tool_call_id": "toolCallId", "tool_call_name": "toolCallName"},
        repeated={"tool_call_name": "toolCallName", "parent_message_id": "parentMessageId"},
        start=lambda chunk: ToolCallStartEvent(
            tool_call_id=chunk.tool_call_id,
            tool_call_name=chunk.tool_call_name,
            parent_message_id=chunk.parent_message_id,
            subagent_run_id=chunk.subagent_run_id,
            metadata=chunk.metadata,
        ),
        content=lambda chunk, item_id, delta, tag: ToolCallArgsEvent(
            tool_call_id=item_id,
            delta=delta,
            subagent_run_id=tag,
            metadata=chunk.metadata,
            raw_event=chunk.raw_event,
        ),
        end=lambda item_id, lane: ToolCallEndEvent(tool_call_id=item_id, subagent_run_id=lane),
    ),
    ReasoningMessageChunkEvent: _Kind(
        thing="reasoning message",
        id_name="message_id",
        needed={"message_id": "messageId"},
        repeated={},
        start=lambda chunk: ReasoningMessageStartEvent(
            message_id=chunk.message_id,
            subagent_run_id=chunk.subagent_run_id,
            metadata=chunk.metadata,
        ),
        content=lambda chunk, item_id, delta, tag: ReasoningMessageContentEvent(
            message_id=item_id,
            delta=delta,
            subagent_run_id=tag,
            metadata=chunk.metadata,
            raw_event=chunk.raw_event,
        ),
        end=lambda item_id, lane: ReasoningMessageEndEvent(
            message_id=item_id, subagent_run_id=lane
        ),
    ),
}

# Events that end every lane's open item.
_CLOSES_ALL = frozenset({RunStartedEvent, RunFinishedEvent, RunErrorEvent, MessagesSnapshotEvent})

# Events that end the open item of the lane they are in. The others leave it open.
_CLOSES_LANE = frozenset(
    {
        TextMessageStartEvent,
        TextMessageContentEvent,
        TextMessageEndEvent,
        ToolCallStartEvent,
        ToolCallArgsEvent,
        ToolCallEndEvent,
        ToolCallResultEvent,
        StepStartedEvent,
        StepFinishedEvent,
        StateSnapshotEvent,
        StateDeltaEvent,
        CustomEvent,
        ReasoningStartEvent,
        ReasoningEndEvent,
        ReasoningMessageStartEvent,
        ReasoningMessageContentEvent,
        ReasoningMessageEndEvent,
        SubagentFinishedEvent,
        SubagentErrorEvent,
    }
)


class _Item(NamedTuple):
    """An item that chunks have opened. `said` holds what its later chunks may only repeat."""

    kind: _Kind
    type: type
    id: str
    lane: str | None
    said: tuple[str | None, ...]

    def end(self) -> Event:
        return self.kind.end(self.id, self.lane)


class ChunkExpander:
    """Turns the chunk events of one stream into the events that they stand for.

    A lane, the parent agent's or that of one subagentRunId, holds at most one open item. Each
    event takes the same time, however many lanes hold one.
    """

    def __init__(self) -> None:
        self._lanes: dict[str | None, _Item] = {}
        self._items: dict[type, dict[str, _Item]] = {cls: {} for cls in _KINDS}

    def expand(self, event: Event) -> list[Event]:
        """What `event` gives: itself, behind the ENDs that it brings about, or a chunk's events.

        The event is not changed. Raises ProtocolViolation for a chunk that continues nothing,
        or contradicts what it continues.
        """
        cls = type(event)
        kind = _KINDS.get(cls)
        if kind is not None:
            return self._expand(event, kind)
        if not self._lanes:
            return [event]
        if cls in _CLOSES_ALL:
            return [*self._close_all(), event]
        if cls in _CLOSES_LANE:
            lane = getattr(event, "subagent_run_id", None)
            if lane in self._lanes:
                return [self._close(lane), event]
        return [event]

    def _expand(self, chunk: Any, kind: _Kind) -> list[Event]:
        item = self._continued(chunk, kind)
        if item is None:
            return self._open(chunk, kind)
        self._check_repeated(chunk, item)
        if chunk.delta is None and chunk.raw_event is None and chunk.metadata is None:
            return []
        return [_content(chunk, item)]

    def _continued(self, chunk: Any, kind: _Kind) -> _Item | None:
        """The open item that a chunk continues, or None where it opens one."""
        cls = type(chunk)
        items = self._items[cls]
        item_id = getattr(chunk, kind.id_name)
        tag = chunk.subagent_run_id
        if item_id is not None:
            item = items.get(item_id)
            if item is not None and tag is not None and tag != item.lane:
                raise _violation(
                    chunk,
                    item_id,
                    f"is tagged {shown(tag)}, but the open {kind.thing} {shown(item_id)} belongs "
                    f"to {name_of(item.lane)}",
                )
            return item
        item = self._lanes.get(tag)
        if item is not None and item.type is cls:
            return item
        if tag is not None or not items:
            return None
        if len(items) > 1:
            names = listed(map(shown, items), len(items))
            raise _violation(
                chunk, None, f"has neither an id nor a tag, and several could be meant: {names}"
            )
        return _only(items)

    def _check_repeated(self, chunk: Any, item: _Item) -> None:
        for (field, name), said in zip(item.kind.repeated.items(), item.said):
            value = getattr(chunk, field)
            if value is not None and value != said:
                raise _violation(
                    chunk,
                    item.id,
                    f"says {name} {shown(value)}, but the open {item.kind.thing} {shown(item.id)} "
                    f"began with {'none' if said is None else shown(said)}",
                )

    def _open(self, chunk: Any, kind: _Kind) -> list[Event]:
        item_id = getattr(chunk, kind.id_name)
        lane = chunk.subagent_run_id
        held = self._lanes.get(lane)
        for field, name in kind.needed.items():
            if getattr(chunk, field) is None:
                what = "nothing" if held is None else f"{held.kind.thing} {shown(held.id)}"
                raise _violation(
                    chunk,
                    item_id,
                    f"begins a {kind.thing} of {name_of(lane)} without {name} (open there: {what})",
                )
        events = [] if held is None else [self._close(lane)]
        start = kind.start(chunk)
        said = tuple(getattr(start, field) for field in kind.repeated)
        item = _Item(kind, type(chunk), item_id, lane, said)
        self._lanes[lane] = self._items[item.type][item_id] = item
        events.append(start)
        if chunk.delta is not None or chunk.raw_event is not None:
            events.append(_content(chunk, item))
        return events

    def _close(self, lane: str | None) -> Event:
        item = self._lanes.pop(lane)
        del self._items[item.type][item.id]
        return item.end()

    def _close_all(self) -> list[Event]:
        ends = [item.end() for item in self._lanes.values()]
        self._lanes.clear()
        for items in self._items.values():
            items.clear()
        return ends


def _content(chunk: Any, item: _Item) -> Event:
    tag = chunk.subagent_run_id
    delta = "" if chunk.delta is None else chunk.delta
    return item.kind.content(chunk, item.id, delta, item.lane if tag is None else tag)


def _only(items: dict[str, _Item]) -> _Item:
    # Unlike an iterator, popitem does not step over the places of deleted entries every time.
    item_id, item = items.popitem()
    items[item_id] = item
    return item


def _violation(chunk: Any, item_id: str | None, reason: str) -> ProtocolViolation:
    name = chunk.type.value
    return ProtocolViolation(f"a {name} {reason}", name, item_id)
