"""Enforcement: what is unrecognised is removed with a warning, what is malformed is refused.

The rules are those of the protocol page "processing"; what is known comes from the Structs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Optional, Union

import msgspec
from msgspec import inspect

from .._json import escape, malformed
from ..errors import DepthExceeded, MalformedEvent
from ..events import (
    EVENT_CLASSES,
    ActivityDeltaEvent,
    Event,
    RunStartedEvent,
    StateDeltaEvent,
)
from ..run_input import ResumeEntry, RunAgentInput

__all__ = ["Warn", "clean", "convert", "enforce", "fill_lists", "is_settled", "prune"]

Warn = Callable[[str, str, str], None]
"""Takes kind, path and message, as WarningLog.warn does."""


_POINTER = re.compile(r"(?:/(?:[^/~]|~[01])*)*")
# RFC 6902 section 4: the members that each operation needs besides `op` and `path`.
_NEEDS = {
    "add": ("value",),
    "remove": (),
    "replace": ("value",),
    "move": ("from",),
    "copy": ("from",),
    "test": ("value",),
}
# The protocol makes another resume status fatal, where other closed sets are stripped.
_FATAL_SETS = {(ResumeEntry, "status")}


class _Unrecognised(Exception):
    """A union member or a string of a closed set that 1.0 does not know."""

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        self.message = message


class _Field(NamedTuple):
    optional: bool
    may_be_empty: bool
    clean: Optional[Callable[[Any, str, Warn], Any]]  # noqa: UP045 - evaluated on 3.10 too


def enforce(obj: dict[str, Any], warn: Warn) -> Event | None:
    """The event that a decoded JSON object holds, or None where 1.0 does not know its type.

    What is unrecognised is left out and told to `warn`. Raises MalformedEvent with the path of
    a described value that is wrong; nothing is coerced but an integral float in an integer's
    place, which JSON cannot tell from an integer. `obj` is not changed.
    """
    cleaned = clean(obj, warn)
    if cleaned is None:
        return None
    event: Event = convert(cleaned, EVENT_CLASSES[cleaned["type"]])
    if type(event) is RunStartedEvent and event.input is not None:
        fill_lists(event.input)
    return event


def convert(obj: Any, kind: Any, path: str = "") -> Any:
    """The value of type `kind` that a cleaned JSON value at `path` holds, strictly.

    Raises MalformedEvent with the path of what is wrong.
    """
    try:
        try:
            return msgspec.convert(obj, kind)
        except UnicodeEncodeError:
            # Half a surrogate pair where no text may stand: msgspec stumbles over it before it
            # can refuse it.
            return msgspec.convert(_without_surrogates(obj), kind)
    except msgspec.ValidationError as error:
        refusal = malformed(error)
        refusal.path = path + refusal.path
        raise refusal from None
    except RecursionError:
        raise DepthExceeded("JSON is nested too deep to be read") from None


def _without_surrogates(value: Any) -> Any:
    if type(value) is str:
        return value.encode("utf-8", "replace").decode()
    if type(value) is list:
        return [_without_surrogates(item) for item in value]
    if type(value) is dict:
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


def clean(obj: dict[str, Any], warn: Warn) -> dict[str, Any] | None:
    """`obj` without what is unrecognised, still JSON; None where the event itself has to go.

    Raises MalformedEvent for a missing or non-string type and for a malformed patch.
    """
    kind = obj.get("type")
    if type(kind) is not str:
        found = "is missing" if "type" not in obj else f"is {type(kind).__name__}, not a string"
        raise MalformedEvent(f"the event's type {found}", "/type")
    cls = EVENT_CLASSES.get(kind)
    if cls is None:
        warn("unknown-event", "/type", f"dropped an event of unknown type {kind!r}")
        return None
    try:
        return prune(cls, obj, "", warn)
    except _Unrecognised as gone:
        warn("unknown-member", gone.path, f"dropped a {kind} event: {gone.message}")
        return None


def prune(cls: type[msgspec.Struct], obj: dict[str, Any], path: str, warn: Warn) -> dict[str, Any]:
    """A described object without properties that `cls` does not describe, recursively."""
    fields = _fields(cls)
    tag_field = cls.__struct_config__.tag_field
    kept: dict[str, Any] = {}
    for key in _fixed(cls):
        if key not in obj:
            raise MalformedEvent(f"Object missing required field `{key}`", f"{path}/{key}")
    for key, value in obj.items():
        field = fields.get(key)
        where = f"{path}/{escape(key) if type(key) is str else key}"
        if field is None:
            if key == tag_field:
                kept[key] = value
            else:
                warn(
                    "unknown-property", where, f"removed {key!r}, which the protocol does not know"
                )
        elif value is None and field.optional:
            warn("null", where, "read null as absent: the protocol has no null here")
        elif field.optional and not field.may_be_empty and value == [] and type(value) is list:
            continue
        elif field.clean is None:
            kept[key] = value
        else:
            try:
                kept[key] = field.clean(value, where, warn)
            except _Unrecognised as gone:
                if not field.optional:
                    raise
                warn("unknown-member", gone.path, f"removed {key!r}: {gone.message}")
    return kept


def is_settled(event: Event) -> bool:
    """Whether a strictly decoded event is as `enforce` would give it.

    The Structs cannot say what a patch operation must hold. Fills in the lists of a RUN_STARTED
    input, which is the one other thing they cannot say.
    """
    if type(event) is StateDeltaEvent:
        return all(map(_is_operation, event.delta))
    if type(event) is ActivityDeltaEvent:
        return all(map(_is_operation, event.patch))
    if type(event) is RunStartedEvent and event.input is not None:
        fill_lists(event.input)
    return True


def fill_lists(run_input: RunAgentInput) -> None:
    """Absent lists of a run input read as empty ones (protocol page "wire")."""
    if run_input.tools is None:
        run_input.tools = []
    if run_input.context is None:
        run_input.context = []
    if run_input.resume is None:
        run_input.resume = []


def _is_pointer(value: Any) -> bool:
    return type(value) is str and _POINTER.fullmatch(value) is not None


def _is_operation(operation: dict[str, Any]) -> bool:
    name = operation.get("op")
    needs = _NEEDS.get(name) if type(name) is str else None
    if needs is None or not _is_pointer(operation.get("path")):
        return False
    if not all(name in operation for name in needs):
        return False
    return "from" not in needs or _is_pointer(operation["from"])


def _clean_operation(operation: Any, path: str, warn: Warn) -> Any:
    if type(operation) is not dict:
        raise MalformedEvent("a patch operation is an object", path)
    name = operation.get("op")
    if type(name) is not str:
        raise MalformedEvent("a patch operation has a string `op`", f"{path}/op")
    needs = _NEEDS.get(name)
    if needs is None:
        raise _Unrecognised(path, f"no patch operation is called {name!r}")
    for key in ("path", *needs):
        if key not in operation:
            raise MalformedEvent(f"the patch operation {name!r} needs `{key}`", f"{path}/{key}")
        if key != "value" and not _is_pointer(operation[key]):
            raise MalformedEvent(f"`{key}` is no JSON Pointer (RFC 6901)", f"{path}/{key}")
    return operation


@cache
def _fields(cls: type[msgspec.Struct]) -> dict[str, _Field]:
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    return {
        field.encode_name: _Field(
            optional=not field.required and field.default is None,
            may_be_empty=not (isinstance(field.type, inspect.ListType) and field.type.min_length),
            clean=None if (cls, field.name) in _FATAL_SETS else _cleaner(field.type),
        )
        for field in info.fields
    }


@cache
def _fixed(cls: type[msgspec.Struct]) -> tuple[str, ...]:
    """Required members with one possible value, which the Structs fill in if they are missing."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    filled = [f.encode_name for f in info.fields if f.default_factory is not msgspec.NODEFAULT]
    return (info.tag_field, *filled) if info.tag_field else tuple(filled)


def _cleaner(kind: inspect.Type) -> Callable[[Any, str, Warn], Any] | None:
    """What to look at in a value of this type before the strict conversion, if anything."""
    if isinstance(kind, inspect.IntType):
        return _integral
    if isinstance(kind, inspect.StructType):
        return _object_cleaner(kind.cls)
    if isinstance(kind, inspect.LiteralType) and len(kind.values) > 1:
        return _member_cleaner(kind.values)
    if isinstance(kind, inspect.ListType):
        item = kind.item_type
        if isinstance(item, inspect.DictType):
            return _list_cleaner(_clean_operation, dict)
        clean_item = _cleaner(item)
        return None if clean_item is None else _list_cleaner(clean_item, _item_type(item))
    if isinstance(kind, inspect.UnionType):
        return _union_cleaner(kind)
    return None


def _union_cleaner(kind: inspect.UnionType) -> Callable[[Any, str, Warn], Any] | None:
    structs = [member for member in kind.types if isinstance(member, inspect.StructType)]
    if structs:
        return _tagged_cleaner(structs)
    lists = [member for member in kind.types if isinstance(member, inspect.ListType)]
    return _cleaner(lists[0]) if lists else None


def _integral(value: Any, path: str, warn: Warn) -> Any:
    return int(value) if type(value) is float and value.is_integer() else value


def _object_cleaner(cls: type[msgspec.Struct]) -> Callable[[Any, str, Warn], Any]:
    def clean_object(value: Any, path: str, warn: Warn) -> Any:
        return prune(cls, value, path, warn) if type(value) is dict else value

    return clean_object


def _member_cleaner(values: tuple[Any, ...]) -> Callable[[Any, str, Warn], Any]:
    def clean_member(value: Any, path: str, warn: Warn) -> Any:
        if type(value) is str and value not in values:
            raise _Unrecognised(path, f"{value!r} is none of {', '.join(map(repr, values))}")
        return value

    return clean_member


def _item_type(kind: inspect.Type) -> Any:
    members = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return Union[tuple(each.cls for each in members if isinstance(each, inspect.StructType))]


def _list_cleaner(
    clean_item: Callable[[Any, str, Warn], Any], item_type: Any
) -> Callable[[Any, str, Warn], Any]:
    def clean_list(value: Any, path: str, warn: Warn) -> Any:
        if type(value) is not list:
            return value
        kept: dict[int, Any] = {}
        for index, item in enumerate(value):
            try:
                kept[index] = clean_item(item, f"{path}/{index}", warn)
            except _Unrecognised as gone:
                warn("unknown-member", gone.path, f"dropped an element: {gone.message}")
        if len(kept) < len(value):
            # The strict conversion would count the elements without the dropped ones.
            for index, item in kept.items():
                convert(item, item_type, f"{path}/{index}")
        return list(kept.values())

    return clean_list


def _tagged_cleaner(structs: list[inspect.StructType]) -> Callable[[Any, str, Warn], Any]:
    tag_field = structs[0].tag_field or "type"
    classes = {struct.tag: struct.cls for struct in structs}

    def clean_tagged(value: Any, path: str, warn: Warn) -> Any:
        if type(value) is not dict:
            return value
        tag = value.get(tag_field)
        if type(tag) is not str:
            return value
        cls = classes.get(tag)
        if cls is None:
            raise _Unrecognised(path, f"no {tag_field} is called {tag!r}")
        return prune(cls, value, path, warn)

    return clean_tagged
