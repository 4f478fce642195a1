"""What is open, and who owns it: the parent agent, or the subagent that wrote it first."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from itertools import islice
from typing import Any

from ..errors import ProtocolViolation
from ..messages import ActivityMessage, AssistantMessage, Message, ReasoningMessage

__all__ = ["Items", "Owners", "check_owner", "listed", "name_of", "shown"]

# A peer can make an id as long as a frame: this many characters of it are shown in an error.
_SHORT = reprlib.Repr()
_SHORT.maxstring = 100

# And it can open items without end: so many are named.
_MAX_LISTED = 5

OwnerTable = dict[str, "str | None"]
"""The owner of each id in a run, kept when the item is closed; None is the parent agent."""


def shown(value: str | None) -> str:
    """An id or a name as errors show it."""
    return _SHORT.repr(value)


def name_of(owner: str | None) -> str:
    """An owner as errors name it; None is the parent agent, and `""` an id like any other."""
    return "the parent agent" if owner is None else f"subagent {shown(owner)}"


def listed(names: Iterable[str], count: int) -> str:
    """The first of `count` names, as errors list what was open."""
    text = ", ".join(islice(names, _MAX_LISTED)) or "nothing"
    return f"{text} and {count - _MAX_LISTED} more" if count > _MAX_LISTED else text


class Owners:
    """The four tables of owners, kept for a whole run (page "processing", "Verify")."""

    def __init__(self) -> None:
        self.messages: OwnerTable = {}
        self.calls: OwnerTable = {}
        self.activities: OwnerTable = {}
        self.reasonings: OwnerTable = {}

    def clear(self) -> None:
        """Forget everything: a new run begins."""
        for table in (self.messages, self.calls, self.activities, self.reasonings):
            table.clear()

    def record(self, messages: Iterable[Message], *, overwrite: bool) -> None:
        """Take the owners that `messages` name, for all of them or for the unknown ones."""
        for message in messages:
            if isinstance(message, ReasoningMessage):
                table = self.reasonings
            elif isinstance(message, ActivityMessage):
                table = self.activities
            else:
                table = self.messages
            owner = message.subagent_run_id
            if overwrite or message.id not in table:
                table[message.id] = owner
            if isinstance(message, AssistantMessage):
                for call in message.tool_calls or ():
                    if overwrite or call.id not in self.calls:
                        self.calls[call.id] = owner


def check_owner(owners: OwnerTable, event: Any, item_id: str, thing: str) -> None:
    """Refuse a tag that differs from the owner of what the event names.

    An event without a tag never disagrees. Raises ProtocolViolation.
    """
    tag = event.subagent_run_id
    if tag is not None and item_id in owners and owners[item_id] != tag:
        name = event.type.value
        raise ProtocolViolation(
            f"{name} is tagged {shown(tag)}, but the {thing} {shown(item_id)} belongs to "
            f"{name_of(owners[item_id])}",
            name,
            item_id,
        )


class Items:
    """The open items of one kind, such as text messages, with the owners of that kind.

    All of it takes the same time however many are open. Raises ProtocolViolation.
    """

    def __init__(self, thing: str, owners: OwnerTable) -> None:
        self.thing = thing
        self.open: dict[str, None] = {}
        self._owners = owners

    def start(self, event: Any, item_id: str, inherited: str | None = None) -> None:
        """Open an item; where it has no owner yet, it gets the event's tag or `inherited`."""
        if item_id in self.open:
            raise self._refusal(event, item_id, "is open already")
        tag = event.subagent_run_id
        if item_id not in self._owners:
            self._owners[item_id] = inherited if tag is None else tag
        elif tag is not None:
            check_owner(self._owners, event, item_id, self.thing)
        self.open[item_id] = None

    def use(self, event: Any, item_id: str) -> None:
        """Content of an item, which has to be open."""
        if item_id not in self.open:
            names = listed(map(shown, self.open), len(self.open))
            raise self._refusal(event, item_id, f"is not open (open: {names})")
        if event.subagent_run_id is not None:
            check_owner(self._owners, event, item_id, self.thing)

    def end(self, event: Any, item_id: str) -> None:
        """Close an item; its owner stays."""
        self.use(event, item_id)
        del self.open[item_id]

    def _refusal(self, event: Any, item_id: str, problem: str) -> ProtocolViolation:
        name = event.type.value
        return ProtocolViolation(
            f"{name}: the {self.thing} {shown(item_id)} {problem}", name, item_id
        )
