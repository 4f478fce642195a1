"""Chunk events expanded to START, CONTENT or ARGS, and END (protocol page "processing")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Union

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

__all__ = ["ChunkExpander"]

Chunk = Union[TextMessageChunkEvent, ToolCallChunkEvent, ReasoningMessageChunkEvent]


class _Kind(NamedTuple):
    """What a chunk event stands for."""

    id_name: str
    needed: tuple[str, ...]
    repeated: tuple[str, ...]
    start: Callable[..., Event]
    content: Callable[..., Event]
    end: Callable[..., Event]


_KINDS: dict[type, _Kind] = {
    TextMessageChunkEvent: _Kind(
        id_name="message_id",
        needed=("message_id",),
        repeated=("role", "name"),
        start=TextMessageStartEvent,
        content=TextMessageContentEvent,
        end=TextMessageEndEvent,
    ),
    ToolCallChunkEvent: _Kind(
        id_name="tool_call_id",
        needed=("tool_call_id", "tool_call_name"),
        repeated=("tool_call_name", "parent_message_id"),
        start=ToolCallStartEvent,
        content=ToolCallArgsEvent,
        end=ToolCallEndEvent,
    ),
    ReasoningMessageChunkEvent: _Kind(
        id_name="message_id",
        needed=("message_id",),
        repeated=(),
        start=ReasoningMessageStartEvent,
        content=ReasoningMessageContentEvent,
        end=ReasoningMessageEndEvent,
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
    """An item that chunks have opened."""

    kind: _Kind
    type: type
    id: str
    lane: str | None
    opener: dict[str, Any]


class ChunkExpander:
    """Turns the chunk events of one stream into the events that they stand for.

    A lane, the parent agent's or that of one subagentRunId, holds at most one open item.
    """

    def __init__(self) -> None:
        self._lanes: dict[str | None, _Item] = {}
        self._items: dict[tuple[type, str], _Item] = {}

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
            return [*[self._close(lane) for lane in list(self._lanes)], event]
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
        content = self._content(chunk, item, has_more=chunk.metadata is not None)
        return [] if content is None else [content]

    def _continued(self, chunk: Any, kind: _Kind) -> _Item | None:
        """The open item that a chunk continues, or None where it opens one."""
        cls = type(chunk)
        item_id = getattr(chunk, kind.id_name)
        tag = chunk.subagent_run_id
        if item_id is not None:
            item = self._items.get((cls, item_id))
            if item is not None and tag is not None and tag != item.lane:
                raise _violation(
                    chunk,
                    item_id,
                    f"is tagged {tag!r}, but {item_id!r} was opened by {_owner(item.lane)}",
                )
            return item
        if tag is not None:
            item = self._lanes.get(tag)
            return item if item is not None and item.type is cls else None
        item = self._lanes.get(None)
        if item is not None and item.type is cls:
            return item
        open_items = [item for item in self._lanes.values() if item.type is cls]
        if len(open_items) > 1:
            names = ", ".join(repr(item.id) for item in open_items)
            raise _violation(chunk, None, f"names neither id nor subagent, and {names} are open")
        return open_items[0] if open_items else None

    def _check_repeated(self, chunk: Any, item: _Item) -> None:
        for name in item.kind.repeated:
            value = getattr(chunk, name)
            if value is not None and value != item.opener[name]:
                raise _violation(
                    chunk,
                    item.id,
                    f"says {name} {value!r}, but {item.id!r} was opened with {item.opener[name]!r}",
                )

    def _open(self, chunk: Any, kind: _Kind) -> list[Event]:
        for name in kind.needed:
            if getattr(chunk, name) is None:
                raise _violation(
                    chunk, getattr(chunk, kind.id_name), f"opens an item without its {name}"
                )
        opener = {name: getattr(chunk, name) for name in kind.repeated}
        if "role" in opener and opener["role"] is None:
            opener["role"] = "assistant"
        lane = chunk.subagent_run_id
        events = [self._close(lane)] if lane in self._lanes else []
        item_id = getattr(chunk, kind.id_name)
        item = _Item(kind, type(chunk), item_id, lane, opener)
        self._lanes[lane] = self._items[item.type, item_id] = item
        events.append(
            kind.start(
                **{kind.id_name: item_id},
                **opener,
                subagent_run_id=lane,
                metadata=chunk.metadata,
            )
        )
        content = self._content(chunk, item, has_more=False)
        return events if content is None else [*events, content]

    def _content(self, chunk: Any, item: _Item, *, has_more: bool) -> Event | None:
        if chunk.delta is None and chunk.raw_event is None and not has_more:
            return None
        tag = chunk.subagent_run_id
        return item.kind.content(
            **{item.kind.id_name: item.id},
            delta="" if chunk.delta is None else chunk.delta,
            subagent_run_id=item.lane if tag is None else tag,
            metadata=chunk.metadata,
            raw_event=chunk.raw_event,
        )

    def _close(self, lane: str | None) -> Event:
        item = self._lanes.pop(lane)
        del self._items[item.type, item.id]
        return item.kind.end(**{item.kind.id_name: item.id}, subagent_run_id=lane)


def _owner(lane: str | None) -> str:
    return "the parent agent" if lane is None else f"subagent {lane!r}"


def _violation(chunk: Any, item_id: str | None, reason: str) -> ProtocolViolation:
    name = chunk.type.value
    return ProtocolViolation(f"a {name} {reason}", name, item_id)
