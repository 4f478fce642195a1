"""Dicts with snake_case keys: the protocol's own keys in camelCase, open JSON left alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from ._json import escape
from ._struct import Absent, Model
from .errors import EncodeError
from .messages import TextPart

__all__ = ["camelise"]

_Respell = Callable[[Any, str], Any]
"""Takes a value and its JSON Pointer."""


class _BinaryPart(Model, kw_only=True, tag_field="type", tag="binary"):
    """A content part that protocol 1.0 retired, and that older applications still build."""

    mime_type: str
    id: Absent[str] = None
    url: Absent[str] = None
    data: Absent[str] = None
    filename: Absent[str] = None


def camelise(cls: type[msgspec.Struct], obj: dict[str, Any], path: str = "") -> dict[str, Any]:
    """`obj` with the keys that `cls` describes in camelCase, without None in optional fields.

    Keys that it does not describe stay. Raises EncodeError where both spellings of one key are
    given; `path` is where `obj` stands. `obj` is not changed.
    """
    table = _table(cls)
    result: dict[str, Any] = {}
    for key, value in obj.items():
        described = table.get(key)
        if described is None:
            name, nested = key, None
        else:
            name, optional, nested = described
            if value is None and optional:
                continue
        if name in result:
            raise EncodeError(f"{name!r} is given in two spellings", f"{path}/{escape(name)}")
        result[name] = value if nested is None else nested(value, f"{path}/{escape(name)}")
    return result


@cache
def _table(cls: type[msgspec.Struct]) -> dict[str, tuple[str, bool, _Respell | None]]:
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    table: dict[str, tuple[str, bool, _Respell | None]] = {}
    for field in info.fields:
        entry = (
            field.encode_name,
            not field.required and field.default is None,
            _nested(field.type),
        )
        table[field.name] = table[field.encode_name] = entry
    return table


def _nested(kind: inspect.Type) -> _Respell | None:
    """How to respell what stands in a field of this type, if anything described can."""
    if isinstance(kind, inspect.StructType):
        cls = kind.cls
        return lambda value, path: camelise(cls, value, path) if type(value) is dict else value
    if isinstance(kind, inspect.ListType):
        item = _nested(kind.item_type)
        if item is None:
            return None

        def respell_list(value: Any, path: str) -> Any:
            if type(value) is not list:
                return value
            return [item(x, f"{path}/{index}") for index, x in enumerate(value)]

        return respell_list
    if isinstance(kind, inspect.UnionType):
        structs = [member for member in kind.types if isinstance(member, inspect.StructType)]
        if structs:
            return _by_tag(structs)
        lists = [member for member in kind.types if isinstance(member, inspect.ListType)]
        return _nested(lists[0]) if lists else None
    return None


def _by_tag(structs: list[inspect.StructType]) -> _Respell:
    tag_field = structs[0].tag_field or "type"
    classes: dict[Any, type[msgspec.Struct]] = {struct.tag: struct.cls for struct in structs}
    if TextPart in classes.values():
        classes["binary"] = _BinaryPart

    def respell(value: Any, path: str) -> Any:
        tag = value.get(tag_field) if type(value) is dict else None
        cls = classes.get(tag) if isinstance(tag, str) else None
        return value if cls is None else camelise(cls, value, path)

    return respell
