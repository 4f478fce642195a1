"""Models of the official Python SDK (`ag_ui`), recognised without importing it.

What its own encoder writes is read off the model's attributes where that is certain to be the
same text, and left to the model's own serialiser everywhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from ._json import deeper_than, escape
from .errors import EncodeError

__all__ = ["SdkModel", "sdk_model", "sdk_object", "sdk_text"]

_ROOT_SERIALIZER = "_omit_fields_without_value"
_OPEN_REQUIRED = ("snapshot", "value", "event")
_ATOMS = (str, bool, int, type(None))
_encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode


class SdkModel(NamedTuple):
    """How to read the models of one class."""

    plain_fields: tuple[tuple[str, str], ...] | None
    """Attribute and JSON key of each field, or None where only the model itself knows its text."""
    drops_nulls: bool
    """Whether its SDK's encoder leaves out every None (before 1.0)."""


@lru_cache(maxsize=1024)
def sdk_model(cls: type) -> SdkModel | None:
    """What is known of a class, or None where it is no event of the SDK."""
    origin = next((base for base in cls.__mro__ if _is_sdk(base)), None)
    if origin is None or not any(
        base.__name__ == "BaseEvent" and _is_sdk(base) for base in cls.__mro__
    ):
        return None
    modern = any(base.__module__ == "ag_ui._generated.models" for base in cls.__mro__)
    return SdkModel(_plain_fields(cls, origin), drops_nulls=not modern)


def _is_sdk(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "ag_ui" and hasattr(cls, "model_dump_json")


def _plain_fields(cls: Any, origin: Any) -> tuple[tuple[str, str], ...] | None:
    """The fields in order, where nothing a subclass did can change the text."""
    decorators = cls.__pydantic_decorators__
    own_text = (
        cls.model_dump_json is origin.model_dump_json
        and cls.model_fields.keys() == origin.model_fields.keys()
        and all(cls.model_fields[name] is origin.model_fields[name] for name in cls.model_fields)
        if cls is not origin
        else True
    )
    if (
        not own_text
        or cls.model_config != origin.model_config
        or decorators.computed_fields
        or decorators.field_serializers
        or set(decorators.model_serializers) - {_ROOT_SERIALIZER}
    ):
        return None
    return tuple(
        (name, field.serialization_alias or field.alias or name)
        for name, field in cls.model_fields.items()
    )


def sdk_text(event: Any, model: SdkModel, max_depth: int) -> bytes | None:
    """The JSON text that the event's own encoder writes, or None where it writes none.

    Raises EncodeError where it nests past `max_depth` levels.
    """
    try:
        obj = _attributes(event, model, max_depth)
        if obj is not None:
            return _encode(obj)
        if model.drops_nulls and any(name in event.__dict__ for name in _OPEN_REQUIRED):
            # Its own encoder would lose the nulls that are data in open JSON.
            return _encode(sdk_object(event, model, max_depth))
        text: str = event.model_dump_json(by_alias=True, exclude_none=model.drops_nulls)
        payload = text.encode()
    except (ValueError, TypeError, RecursionError):
        return None
    if len(payload) > 2 * max_depth and deeper_than(msgspec.json.decode(payload), max_depth):
        raise EncodeError(f"JSON is nested deeper than {max_depth} levels")
    return payload


def sdk_object(event: Any, model: SdkModel, max_depth: int) -> dict[str, Any]:
    """The event's JSON object, as its own serialiser has it. May hold None in optional fields.

    Where the serialiser fails, the values as they are, for a walk that can say which one it was.
    """
    obj = _attributes(event, model, max_depth)
    if obj is not None:
        return obj
    try:
        dumped: dict[str, Any] = event.model_dump(mode="json", by_alias=True)
    except (ValueError, TypeError, RecursionError):
        aliases = {name: field.alias or name for name, field in type(event).model_fields.items()}
        dumped = {aliases.get(name, name): value for name, value in event.__dict__.items()}
        dumped.update(event.__pydantic_extra__ or {})
    return dumped


def _attributes(event: Any, model: SdkModel, max_depth: int) -> dict[str, Any] | None:
    """The JSON object read off the attributes, or None where a value needs the serialiser."""
    if model.plain_fields is None:
        return None
    attributes = event.__dict__
    obj: dict[str, Any] = {}
    for name, key in model.plain_fields:
        value = attributes.get(name)
        if value is None:
            # None in a required field is data, and the serialiser's to judge.
            if name in _OPEN_REQUIRED and name in attributes:
                return None
            continue
        if type(value) not in _ATOMS:
            if name == "type":
                value = value.value
            elif not _is_certain(value, f"/{key}", 2, max_depth):
                return None
        obj[key] = value
    extra = event.__pydantic_extra__
    if extra:
        if model.drops_nulls or not _is_certain(extra, "", 1, max_depth):
            return None
        obj.update(extra)
    return obj


def _is_certain(value: Any, path: str, level: int, max_depth: int) -> bool:
    """Whether every JSON writer spells this value alike."""
    kind = type(value)
    if kind in _ATOMS:
        return True
    if kind is float:
        return value == 0 or 1e-5 <= abs(value) < 1e16
    if level > max_depth:
        raise EncodeError(f"JSON is nested deeper than {max_depth} levels", path)
    if kind is dict:
        return all(
            type(key) is str and _is_certain(item, f"{path}/{escape(key)}", level + 1, max_depth)
            for key, item in value.items()
        )
    if kind is list:
        return all(
            _is_certain(item, f"{path}/{index}", level + 1, max_depth)
            for index, item in enumerate(value)
        )
    return False
