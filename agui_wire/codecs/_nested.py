"""Which fields of an event can hold more than a string or a number."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

_SCALARS = (
    inspect.StrType,
    inspect.IntType,
    inspect.BoolType,
    inspect.LiteralType,
)


@cache
def nested_fields(cls: type[msgspec.Struct]) -> tuple[str, ...]:
    """Attributes of `cls` that can nest: open JSON, lists, objects."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    return tuple(field.name for field in info.fields if not isinstance(field.type, _SCALARS))


def is_flat(event: msgspec.Struct) -> bool:
    """Whether an event holds only strings, numbers and booleans, as most of a stream does."""
    for name in nested_fields(type(event)):
        value: Any = getattr(event, name)
        if value is not None and type(value) is not str:
            return False
    return True
