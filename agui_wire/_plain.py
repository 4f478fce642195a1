"""Application values as plain JSON: what an encoder does before any wire.

Dates, UUIDs, decimals, sets and so on become what the official SDK's JSON makes of them
(protocol page "wire"), so that all three wires carry the same.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import math
import os
import re
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from ._json import DEFAULT_MAX_DEPTH, escape
from .errors import EncodeError

__all__ = ["Policy", "Warn", "check_finite", "plain", "wire_names"]

Warn = Callable[[str, str, str], None]

# datetime.isoformat() writes an offset's seconds, which ISO 8601 does not know.
_OFFSET_SECONDS = re.compile(r"(?<=[+-]\d\d:\d\d):[\d:.]+$")


class Policy(NamedTuple):
    """What to do with values that a wire, or JSON itself, cannot hold."""

    max_depth: int = DEFAULT_MAX_DEPTH
    lossy_int: Literal["raise", "round", "string"] = "raise"
    non_finite: Literal["null", "raise"] = "null"
    surrogates: Literal["replace", "raise", "keep"] = "replace"


class _Walk(NamedTuple):
    policy: Policy
    warn: Warn
    holds_int: Callable[[int], bool] | None


def plain(
    value: Any, policy: Policy, warn: Warn, holds_int: Callable[[int], bool] | None = None
) -> Any:
    """`value` as dicts with string keys, lists, strings, numbers, booleans and None.

    Structs become their JSON shape. `holds_int` says whether the wire can hold an integer. The
    result shares nothing mutable with `value`. Raises EncodeError with the JSON Pointer of what
    cannot be carried.
    """
    try:
        return _plain(value, "", 1, _Walk(policy, warn, holds_int))
    except RecursionError:
        raise EncodeError("the value is nested too deep") from None


def _plain(value: Any, path: str, level: int, walk: _Walk) -> Any:
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _text(value, path, walk)
    if value is None or kind is bool:
        return value
    if kind is int:
        holds = walk.holds_int
        return value if holds is None or holds(value) else _lossy_int(value, path, walk)
    if kind is float:
        return value if math.isfinite(value) else _non_finite(value, path, walk)
    if kind is dict:
        return _object(value.items(), path, level, walk)
    if kind is list:
        return _array(value, path, level, walk)
    if isinstance(value, msgspec.Struct):
        return _struct(value, path, level, walk)
    return _plain(_native(value, path), path, level, walk)


def _check_level(path: str, level: int, walk: _Walk) -> None:
    if level > walk.policy.max_depth:
        raise EncodeError(f"JSON is nested deeper than {walk.policy.max_depth} levels", path)


def _object(items: Any, path: str, level: int, walk: _Walk) -> dict[str, Any]:
    _check_level(path, level, walk)
    result: dict[str, Any] = {}
    for key, item in items:
        name = key if type(key) is str else _key(key, path)
        if not name.isascii():
            name = _text(name, f"{path}/{escape(name)}", walk)
        if name in result:
            raise EncodeError(f"two keys become {name!r} in JSON", path)
        result[name] = _plain(item, f"{path}/{escape(name)}", level + 1, walk)
    return result


def _array(items: Any, path: str, level: int, walk: _Walk) -> list[Any]:
    _check_level(path, level, walk)
    return [_plain(item, f"{path}/{i}", level + 1, walk) for i, item in enumerate(items)]


def _struct(value: msgspec.Struct, path: str, level: int, walk: _Walk) -> dict[str, Any]:
    _check_level(path, level, walk)
    config = value.__struct_config__
    result: dict[str, Any] = {}
    if config.tag is not None and config.tag_field is not None:
        result[config.tag_field] = config.tag
    for name, wire_name, optional in wire_names(type(value)):
        item = getattr(value, name)
        if item is None and optional:
            continue
        result[wire_name] = _plain(item, f"{path}/{wire_name}", level + 1, walk)
    return result


def wire_names(cls: type[msgspec.Struct]) -> Iterator[tuple[str, str, bool]]:
    """Each field of a Struct: its attribute, its name on the wire, and whether None is absent."""
    required = len(cls.__struct_fields__) - len(cls.__struct_defaults__)
    for index, name in enumerate(cls.__struct_fields__):
        default = (
            cls.__struct_defaults__[index - required] if index >= required else msgspec.NODEFAULT
        )
        yield name, cls.__struct_encode_fields__[index], default is None


def _text(value: str, path: str, walk: _Walk) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        pass
    else:
        return value
    if walk.policy.surrogates == "keep":
        return value
    if walk.policy.surrogates == "raise":
        raise EncodeError("the text holds half a surrogate pair", path)
    # Halves that stand beside one another are one character.
    joined = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if joined.count("\ufffd") > value.count("\ufffd"):
        walk.warn("surrogate", path, "wrote half a surrogate pair as U+FFFD")
    return joined


# What most values are, and never without end.
_FINITE = frozenset((str, int, bool, type(None)))

_AS = {"round": "double", "string": "string"}


def _lossy_int(value: int, path: str, walk: _Walk) -> float | str:
    action = walk.policy.lossy_int
    if action == "raise":
        raise EncodeError(
            f"this wire cannot hold the integer {value if abs(value) < 10**30 else 'given'} "
            "exactly; see lossy_int",
            path,
        )
    walk.warn("lossy-int", path, f"wrote an integer that this wire cannot hold as a {_AS[action]}")
    try:
        return str(value) if action == "string" else float(value)
    except (OverflowError, ValueError):
        raise EncodeError(
            f"the integer is too large to be written as a {_AS[action]}", path
        ) from None


def _non_finite(value: float, path: str, walk: _Walk) -> None:
    if walk.policy.non_finite == "raise":
        raise EncodeError(f"JSON has no number {value}", path)
    walk.warn("non-finite", path, f"wrote {value} as null: JSON has no such number")


def check_finite(value: Any, policy: Policy, warn: Warn) -> None:
    """Tells of every NaN and infinity in a value that another writer turns into JSON, as nulls.

    Raises EncodeError where `policy` refuses them.
    """
    if not _is_finite(value):
        _check_finite(value, "", _Walk(policy, warn, None))


def _is_finite(value: Any) -> bool:
    """The same question without the paths, which are what takes the time."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple, set, frozenset)):
        return True
    return all(type(item) in _FINITE or _is_finite(item) for item in value)


def _check_finite(value: Any, path: str, walk: _Walk) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            _non_finite(value, path, walk)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_finite(item, f"{path}/{escape(str(key))}", walk)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for index, item in enumerate(value):
            _check_finite(item, f"{path}/{index}", walk)


def _key(key: Any, path: str) -> str:
    if isinstance(key, enum.Enum):
        return _key(key.value, path)
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, str):
        return str.__str__(key)
    if key is None or isinstance(key, (int, float)):
        return str(key)
    if isinstance(key, tuple):
        return ",".join(_key(item, path) for item in key)
    name = _native(key, path)
    if isinstance(name, str):
        return name
    raise EncodeError(f"a key is text in JSON, not {type(key).__name__}", path)


def _native(value: Any, path: str) -> Any:
    """The next simpler form of a value that is not JSON's own."""
    for cls in type(value).__mro__:
        convert = _CONVERSIONS.get(cls)
        if convert is not None:
            try:
                return convert(value)
            except UnicodeDecodeError:
                raise EncodeError(
                    "the bytes are not UTF-8, so JSON has no form for them", path
                ) from None
    if isinstance(value, type):
        raise EncodeError(f"JSON has no form for the class {value.__name__}", path)
    serializer = getattr(value, "__pydantic_serializer__", None)
    if serializer is not None:
        try:
            return serializer.to_python(value, mode="json", by_alias=True)
        except Exception as error:  # serialisers of the application may raise anything
            raise EncodeError(
                f"{type(value).__name__} cannot be written as JSON: {error}", path
            ) from error
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: getattr(value, name) for name in names if hasattr(value, name)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterator):
        return list(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise EncodeError(f"JSON has no form for {type(value).__name__}", path)


def _instant(value: datetime.datetime | datetime.time) -> str:
    text = _OFFSET_SECONDS.sub("", value.isoformat())
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def _duration(value: datetime.timedelta) -> str:
    """ISO 8601, as pydantic writes it."""
    sign = "-" if value < datetime.timedelta(0) else ""
    value = abs(value)
    years, days = divmod(value.days, 365)
    date = (f"{years}Y" if years else "") + (f"{days}D" if days else "")
    hours, seconds = divmod(value.seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    fraction = f".{value.microseconds:06d}".rstrip("0") if value.microseconds else ""
    time = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if seconds or fraction:
        time += f"{seconds}{fraction}S"
    if not date and not time:
        time = "0S"
    return f"{sign}P{date}" + (f"T{time}" if time else "")


def _decode(value: bytes | bytearray) -> str:
    return value.decode()


def _text_of(value: Any) -> str:
    return str(value)


_CONVERSIONS: dict[type, Callable[[Any], Any]] = {
    enum.Enum: lambda value: value.value,
    str: str.__str__,
    int: int,
    float: float,
    dict: dict,
    list: list,
    tuple: list,
    set: list,
    frozenset: list,
    deque: list,
    bytes: _decode,
    bytearray: _decode,
    datetime.datetime: _instant,
    datetime.date: datetime.date.isoformat,
    datetime.time: _instant,
    datetime.timedelta: _duration,
    decimal.Decimal: _text_of,
    uuid.UUID: _text_of,
    fractions.Fraction: _text_of,
    complex: lambda value: str(value).strip("()"),
    re.Pattern: lambda value: str(value.pattern),
    ipaddress.IPv4Address: _text_of,
    ipaddress.IPv6Address: _text_of,
    ipaddress.IPv4Network: _text_of,
    ipaddress.IPv6Network: _text_of,
}
