"""Models of the official Python SDK (`ag_ui`), recognised without importing it.

What its own encoder writes is read off the models' attributes where that is certain to be the
same text, and left to the models' own serialisers everywhere else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from ._json import deeper_than
from ._plain import Policy, Warn, check_finite
from .errors import EncodeError

__all__ = ["SdkModel", "sdk_model", "sdk_object", "sdk_text"]

# The serialiser by which the SDK's models leave out None themselves; older SDKs have none.
_ROOT_SERIALIZER = "_omit_fields_without_value"
# Required, and open to every JSON value, so that None is one.
_OPEN_FIELDS = {"snapshot", "value", "event"}
_NESTING_FIELDS = {"messages", "input"}
_ATOMS = frozenset((str, bool, int, type(None)))
_STRINGS = frozenset((str,))
_encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode


class SdkModel(NamedTuple):
    """How to read the models of one class."""

    is_event: bool
    fields: dict[str, tuple[str, bool]] | None
    """JSON key, and whether None is absent, by attribute; None instead of all where only the
    model itself knows its text."""
    drops_nulls: bool
    """Whether its SDK leaves out None in its encoder, not in its models."""


class _OwnText(Exception):
    """Only its own serialiser knows the text of a model, or of one inside it."""


@lru_cache(maxsize=1024)
def sdk_model(cls: type) -> SdkModel | None:
    """What is known of a class, or None where it is no model of the SDK."""
    origins = [base for base in cls.__mro__ if _is_sdk(base)]
    if not origins:
        return None
    drops_nulls = not hasattr(origins[0], _ROOT_SERIALIZER)
    return SdkModel(
        is_event=any(base.__name__ == "BaseEvent" for base in origins),
        fields=_fields(cls, origins[0], drops_nulls),
        drops_nulls=drops_nulls,
    )


def _is_sdk(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "ag_ui" and hasattr(cls, "model_dump_json")


def _fields(cls: Any, origin: Any, drops_nulls: bool) -> dict[str, tuple[str, bool]] | None:
    """The fields, where nothing that a subclass did can change the text."""
    decorators = cls.__pydantic_decorators__
    if (
        cls.model_dump_json is not origin.model_dump_json
        or cls.model_config != origin.model_config
        or repr(cls.model_fields) != repr(origin.model_fields)
        or getattr(cls, _ROOT_SERIALIZER, None) is not getattr(origin, _ROOT_SERIALIZER, None)
        or decorators.computed_fields
        or decorators.field_serializers
        or decorators.model_serializers.keys() - {_ROOT_SERIALIZER}
    ):
        return None
    return {
        name: (
            field.serialization_alias or field.alias or name,
            name not in _OPEN_FIELDS
            and (drops_nulls or (not field.is_required() and field.default is None)),
        )
        for name, field in cls.model_fields.items()
    }


def sdk_text(event: Any, model: SdkModel, policy: Policy, warn: Warn) -> bytes | None:
    """The JSON text that the event's own encoder writes, or None where that is no valid event.

    In one thing it differs from SDKs whose encoder leaves out None: those lose a None that is
    the whole of required open JSON, and None in models inside open JSON, which are data. Raises
    EncodeError where the event holds a number that `policy` refuses.
    """
    obj: dict[str, Any] | None = None
    try:
        obj = _members(event, model, 1, policy.max_depth)
        if _is_certain(obj, policy.max_depth):
            return _encode(obj)
    except (_OwnText, ValueError, RecursionError):
        pass
    try:
        payload = _own_text(event, model).encode()
        containers = payload.count(b"{") + payload.count(b"[")
        if containers > policy.max_depth and deeper_than(
            msgspec.json.decode(payload), policy.max_depth
        ):
            return None
    except Exception:  # serialisers of the application may raise anything
        return None
    if obj is not None and b"null" in payload:
        check_finite(obj, policy, warn)
    return payload


def sdk_object(event: Any, model: SdkModel, max_depth: int) -> dict[str, Any]:
    """The event's JSON object; the values in its open JSON may be as they were given.

    Raises EncodeError where a serialiser of the application's own fails, and where models nest
    past `max_depth` levels.
    """
    try:
        return _members(event, model, 1, max_depth)
    except _OwnText:
        pass
    try:
        try:
            dumped: Any = json.loads(_own_text(event, model))
        except ValueError:
            # Half a surrogate pair stops the text, but not the dump.
            dumped = event.model_dump(mode="json", by_alias=True)
    except Exception as error:  # serialisers of the application may raise anything
        raise EncodeError(f"{type(event).__name__} cannot be written as JSON: {error}") from error
    if type(dumped) is not dict:
        raise EncodeError(f"{type(event).__name__} is no JSON object")
    return dumped


def _own_text(event: Any, model: SdkModel) -> str:
    options: dict[str, Any] = {}
    if model.drops_nulls:
        if model.fields is None or not _NESTING_FIELDS.isdisjoint(event.__dict__):
            options["exclude_none"] = True
        else:
            members = {**event.__dict__, **(event.__pydantic_extra__ or {})}
            options["exclude"] = {
                name
                for name, value in members.items()
                if value is None and model.fields.get(name, (name, True))[1]
            }
    text: str = event.model_dump_json(by_alias=True, **options)
    return text


def _members(instance: Any, model: SdkModel, level: int, max_depth: int) -> dict[str, Any]:
    """A model's JSON object, read off its attributes. Raises _OwnText where that is not certain."""
    if model.fields is None:
        raise _OwnText
    if level > max_depth:
        raise EncodeError(f"JSON is nested deeper than {max_depth} levels")
    obj: dict[str, Any] = {}
    for name, value in instance.__dict__.items():
        if name not in model.fields:
            continue  # a cached property
        key, optional = model.fields[name]
        if value is None:
            if optional:
                continue
        elif type(value) not in _ATOMS:
            if isinstance(value, Enum):
                value = value.value
            else:
                value = _described(value, level + 1, max_depth)
        obj[key] = value
    extra = instance.__pydantic_extra__
    if extra:
        for key, value in extra.items():
            if value is not None or not model.drops_nulls:
                obj[key] = value
    return obj


def _described(value: Any, level: int, max_depth: int) -> Any:
    """`value` with the SDK's models in it opened, also those of a list; open JSON as it is."""
    kind: type = type(value)
    if kind is list:
        first: type = type(value[0]) if value else list
        if sdk_model(first) is None:
            return value
        return [_described(item, level + 1, max_depth) for item in value]
    model = sdk_model(kind)
    return value if model is None else _members(value, model, level, max_depth)


def _is_certain(value: Any, levels: int) -> bool:
    """Whether every JSON writer spells this value alike; not looked at past so many levels."""
    kind = type(value)
    if kind is float:
        certain: bool = value == 0 or 1e-5 <= abs(value) < 1e16
        return certain
    if kind is dict:
        if not _STRINGS.issuperset(map(type, value)):
            return False
        value = value.values()
    elif kind is not list:
        return kind in _ATOMS
    if levels == 0:
        return False
    if _ATOMS.issuperset(map(type, value)):
        return True
    return all(type(item) in _ATOMS or _is_certain(item, levels - 1) for item in value)
