"""Events, messages and run inputs as JSON-shaped dicts, and events back."""

from __future__ import annotations

from typing import Any

import msgspec

from ._plain import Policy, plain
from .errors import EncodeError, MalformedEvent
from .events import Event
from .messages import Message
from .pipeline.enforce import clean, convert, is_settled
from .run_input import RunAgentInput

__all__ = ["from_dict", "to_dict"]

_ANY_EVENT: Any = Event


def to_dict(value: Event | Message | RunAgentInput) -> dict[str, Any]:
    """The JSON shape of a Struct of the model: camelCase keys, absent keys absent.

    The dict shares nothing with `value`. Open JSON is made plain (dates become text, sets
    lists). Raises EncodeError with the JSON Pointer of what JSON cannot hold.
    """
    if not isinstance(value, msgspec.Struct):
        raise EncodeError(f"{type(value).__name__} is no event, message or run input")
    result: dict[str, Any] = plain(value, Policy(surrogates="keep"), _ignore)
    return result


def from_dict(obj: dict[str, Any]) -> Event:
    """The event that a JSON object describes, strictly: nothing is translated or stripped.

    Raises MalformedEvent with the path of what is wrong. The event may share open JSON with
    `obj`.
    """
    event: Event = convert(obj, _ANY_EVENT)
    if not is_settled(event):
        clean(obj, _refuse)
    return event


def _ignore(kind: str, path: str, message: str) -> None:
    pass


def _refuse(kind: str, path: str, message: str) -> None:
    raise MalformedEvent(message, path)
