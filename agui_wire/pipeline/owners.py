"""Who owns what: the parent agent, or the subagent that wrote it first (page "processing")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import ProtocolViolation
from ..messages import ActivityMessage, AssistantMessage, Message, ReasoningMessage

__all__ = ["Owners", "name_of"]


def name_of(owner: str | None) -> str:
    """An owner as errors name it; None is the parent agent, and `""` an id like any other."""
    return "the parent agent" if owner is None else f"subagent {owner!r}"


class Owners:
    """The four tables of owners, kept for a whole run."""

    def __init__(self) -> None:
        self.messages: dict[str, str | None] = {}
        self.calls: dict[str, str | None] = {}
        self.activities: dict[str, str | None] = {}
        self.reasonings: dict[str, str | None] = {}

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


def check_owner(table: dict[str, str | None], event: Any, item_id: str, thing: str) -> None:
    """Refuse a tag that differs from the owner of what the event names. Raises
    ProtocolViolation; an event without a tag never disagrees."""
    tag = event.subagent_run_id
    if tag is not None and item_id in table and table[item_id] != tag:
        name = event.type.value
        raise ProtocolViolation(
            f"{name} is tagged {tag!r}, but the {thing} {item_id!r} belongs to "
            f"{name_of(table[item_id])}",
            name,
            item_id,
        )
