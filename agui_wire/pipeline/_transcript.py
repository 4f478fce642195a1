"""The messages of a conversation while they grow.

Changing one costs the same however many there are; a message that was handed out is copied before
it is changed, and only what changed is built anew when the messages are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any

from ..messages import ActivityMessage, AssistantMessage, Message, TextPart, ToolCall, ToolMessage
from ._lending import ListLender
from ._text import TextBuffer
from .patch import Document

__all__ = ["Call", "Entry", "Transcript"]

Warn = Callable[[str, str, str], None]


class Call:
    """A tool call; `value` is the ToolCall, its arguments as they were last read."""

    __slots__ = ("append", "arguments", "dirty", "entry", "owns_metadata", "replay", "value")

    def __init__(self, value: ToolCall, entry: Entry, *, dirty: bool = False) -> None:
        self.value = value
        self.entry = entry
        self.dirty = dirty
        self.owns_metadata = False
        # Arguments that this stream brings, or those that restate what a snapshot brought.
        self.arguments: TextBuffer | None = None
        self.replay: TextBuffer | None = None
        self.append: Callable[[str], None] | None = None


class Entry:
    """A message and its place; `message` is the Struct, its text and calls as last read."""

    __slots__ = (
        "calls",
        "calls_dirty",
        "dirty",
        "document",
        "index",
        "message",
        "next",
        "owns_metadata",
        "parts",
        "text",
    )

    def __init__(self, message: Message) -> None:
        self.index = -1
        self.next: Entry | None = None
        self.reset(message)

    def reset(self, message: Message) -> None:
        """Hold another message in this place, one that somebody else may hold too."""
        self.message: Any = message
        self.dirty = False
        self.owns_metadata = False
        # The text in progress; where the content is parts, it is one more part behind `parts`.
        self.text: TextBuffer | None = None
        self.parts: list[Any] | None = None
        self.document: Document | None = None
        self.calls: list[Call] = []
        self.calls_dirty = False
        if isinstance(message, AssistantMessage) and message.tool_calls:
            self.calls = [Call(call, self) for call in message.tool_calls]

    def settle(self, warn: Warn) -> Any:
        """The message with everything in it that came since it was last read."""
        message = self.message
        if self.text is not None:
            text = self.text.read(warn)
            if self.parts is None:
                message.content = text
            else:
                message.content = [*self.parts, TextPart(text=text)] if text else self.parts[:]
        if self.document is not None:
            message.content = self.document.read()
        if self.calls_dirty:
            message.tool_calls = [_settled(call, warn) for call in self.calls]
        self.dirty = self.owns_metadata = self.calls_dirty = False
        return message


def _settled(call: Call, warn: Warn) -> ToolCall:
    if call.dirty:
        if call.arguments is not None:
            call.value.function.arguments = call.arguments.read(warn)
        call.dirty = call.owns_metadata = False
    return call.value


class Transcript:
    """Messages in order, with their ids and those of their tool calls."""

    def __init__(self, messages: Iterable[Message], warn: Warn) -> None:
        # Where an id is held twice, the first one answers to it.
        self.by_id: dict[str, Entry] = {}
        self.calls: dict[str, Call] = {}
        self.begin_run()
        self.warn = warn
        self._first: Entry | None = None
        self._last: Entry | None = None
        self._dirty: list[Entry] = []
        self._view = ListLender()
        self._reordered = False
        # The last tool message behind each assistant message, where that is known.
        self._results: dict[Entry, Entry] = {}
        for message in messages:
            self.add(message)

    def __iter__(self) -> Iterator[Entry]:
        entry = self._first
        while entry is not None:
            yield entry
            entry = entry.next

    def begin_run(self) -> None:
        """Nothing is open any more, and what the run before did not answer is not pending."""
        self.open_calls: set[str] = set()
        # What this run started, in order, and what got a result.
        self.started: dict[str, None] = {}
        self.answered: set[str] = set()

    def unanswered(self) -> list[str]:
        """The calls that this run started and that got no result."""
        return [id for id in self.started if id not in self.answered]

    def read(self) -> list[Message]:
        """The messages as they are, in a list of the caller's own."""
        if self._reordered:
            entries = list(self)
            for index, entry in enumerate(entries):
                entry.index = index
            self._view.restart([entry.message for entry in entries])
            self._reordered = False
        for entry in self._dirty:
            self._view.replace(entry.index, entry.settle(self.warn))
        self._dirty.clear()
        return self._view.lend()

    def add(self, message: Message, *, ours: bool = False) -> Entry:
        """Append a message; with `ours` nobody else holds it, so it may be changed as it is."""
        entry = Entry(message)
        if self._last is None:
            self._first = entry
        else:
            self._last.next = entry
        self._last = entry
        if not self._reordered:
            entry.index = self._view.append(message)
        self._register(entry, ours)
        return entry

    def add_result(self, message: ToolMessage) -> Entry:
        """Put a result behind the message that holds the call and the results already there."""
        call = self.calls.get(message.tool_call_id)
        if call is None:
            return self.add(message, ours=True)
        at = self._results.get(call.entry, call.entry)
        while at.next is not None and isinstance(at.next.message, ToolMessage):
            at = at.next
        if at.next is None:
            entry = self.add(message, ours=True)
        else:
            entry = Entry(message)
            entry.next, at.next = at.next, entry
            self._reordered = True
            self._register(entry, ours=True)
        self._results[call.entry] = entry
        return entry

    def _register(self, entry: Entry, ours: bool) -> None:
        self.by_id.setdefault(entry.message.id, entry)
        for call in entry.calls:
            self.calls.setdefault(call.value.id, call)
        if ours:
            entry.dirty = True
            self._dirty.append(entry)

    def touch(self, entry: Entry) -> Any:
        """The entry's message, to be changed: a copy where it was handed out."""
        if not entry.dirty:
            entry.message = copy(entry.message)
            entry.dirty = True
            self._dirty.append(entry)
        return entry.message

    def touch_call(self, call: Call) -> ToolCall:
        """The call's value, to be changed: a copy where it was handed out."""
        if not call.dirty:
            call.value = copy(call.value)
            call.value.function = copy(call.value.function)
            call.dirty = True
            call.entry.calls_dirty = True
            self.touch(call.entry)
        return call.value

    def add_call(self, entry: Entry, value: ToolCall) -> Call:
        """Give an assistant message a call that this stream opened."""
        call = Call(value, entry, dirty=True)
        self._continue_arguments(call)
        entry.calls.append(call)
        entry.calls_dirty = True
        self.touch(entry)
        self.calls[value.id] = call
        return call

    def open_text(self, entry: Entry) -> None:
        """Where further text of a message goes: behind its text, or into one more part."""
        content = entry.message.content
        if isinstance(content, list):
            entry.parts = content
            entry.text = TextBuffer()
        else:
            entry.text = TextBuffer(content or "")
        self.touch(entry)

    def close_part(self, entry: Entry) -> None:
        """Text that comes from here on is another part, where the content is parts."""
        if entry.parts is not None and entry.text is not None:
            message = self.touch(entry)
            text = entry.text.finish(self.warn)
            message.content = [*entry.parts, TextPart(text=text)] if text else entry.parts
            entry.parts = entry.text = None

    def replace(self, entry: Entry, message: ActivityMessage) -> None:
        """Put an activity of our own making in the place of another message."""
        for call in entry.calls:
            if self.calls.get(call.value.id) is call:
                del self.calls[call.value.id]
        self._results.clear()
        entry.reset(message)
        entry.dirty = True
        self._dirty.append(entry)

    def reconcile(self, messages: list[Message]) -> None:
        """Take over a snapshot of the messages (protocol page "processing", MESSAGES_SNAPSHOT)."""
        latest = {message.id: message for message in messages}
        lacking = {"activity", "reasoning"} - {message.role for message in messages}
        held = dict(self.calls)
        kept: list[Entry] = []
        for entry in self:
            if entry.message.id in latest:
                entry.reset(latest[entry.message.id])
                kept.append(entry)
            elif entry.message.role in lacking:
                kept.append(entry)
        known = {entry.message.id for entry in kept}
        kept += [Entry(message) for id, message in latest.items() if id not in known]
        self._relink(kept)
        for id in self.open_calls & held.keys() & self.calls.keys():
            self._carry_on(held[id], self.calls[id])

    def _relink(self, entries: list[Entry]) -> None:
        self.by_id.clear()
        self.calls.clear()
        self._results.clear()
        self._dirty = [entry for entry in entries if entry.dirty]
        self._first = self._last = None
        self._reordered = True
        for entry in entries:
            if self._last is None:
                self._first = entry
            else:
                self._last.next = entry
            self._last = entry
            entry.next = None
            self._register(entry, ours=False)

    def _carry_on(self, before: Call, call: Call) -> None:
        """A call that is open when a snapshot restates it goes on where it was."""
        if before.replay is not None:
            call.replay = before.replay
            call.append = before.append
        elif before.arguments is not None:
            self._continue_arguments(call)

    def _continue_arguments(self, call: Call) -> None:
        call.arguments = TextBuffer(call.value.function.arguments)
        call.append = call.arguments.append

    def begin_arguments(self, call: Call) -> None:
        """Get ready for arguments: they continue those that this stream brought.

        What a snapshot or the input brought is restated in a buffer of its own.
        """
        if call.arguments is not None:
            return
        if call.value.function.arguments:
            call.replay = TextBuffer()
            call.append = call.replay.append
        else:
            self._continue_arguments(call)

    def end_arguments(self, call: Call) -> None:
        """Restated arguments take the place of those held, unless none came."""
        if call.replay is not None:
            text = call.replay.finish(self.warn)
            call.replay = call.append = None
            if text:
                self.touch_call(call).function.arguments = text
        elif call.arguments is not None:
            call.arguments.finish(self.warn)
