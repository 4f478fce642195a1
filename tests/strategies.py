"""Hypothesis strategies for the Structs of the model, built from what msgspec knows of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from agui_wire.run_input import RunAgentInput

__all__ = ["json_values", "structs"]

MAX_SAFE = 2**53 - 1

# Absent lists of a run input read as empty ones, so a normal form has them.
ALWAYS_THERE = {(RunAgentInput, name) for name in ("tools", "context", "resume")}

TEXT = st.text(max_size=8)
_NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)


def json_values(leaves: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[Any]:
    """JSON values, by default those that every wire holds exactly."""
    return st.recursive(
        st.none() | st.booleans() | TEXT | _NUMBERS if leaves is None else leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=6,
    )


JSON = json_values()
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)
POINTERS = st.lists(TEXT, max_size=3).map(
    lambda steps: "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)
)
OPERATIONS = st.one_of(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "replace", "test"]), "path": POINTERS, "value": JSON}
    ),
    st.fixed_dictionaries(
        {"op": st.just("remove"), "path": POINTERS}, optional={"value": JSON, "from": POINTERS}
    ),
    st.fixed_dictionaries(
        {"op": st.sampled_from(["move", "copy"]), "path": POINTERS, "from": POINTERS}
    ),
)


@cache
def structs(cls: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Valid instances of a Struct, in the form that decoding gives."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    fields: dict[str, st.SearchStrategy[Any]] = {}
    for field in info.fields:
        strategy = st.deferred(lambda kind=field.type: of_type(kind))  # type: ignore[misc]
        if not field.required and (cls, field.name) not in ALWAYS_THERE:
            strategy = st.just(field.default) | strategy if field.default is None else strategy
        fields[field.name] = strategy
    return st.builds(cls, **fields)


def of_type(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Values of a field's type."""
    if isinstance(kind, inspect.StructType):
        return structs(kind.cls)
    if isinstance(kind, inspect.UnionType):
        if any(isinstance(member, inspect.DictType) for member in kind.types):
            return JSON.filter(lambda value: value is not None)
        return st.one_of(*map(of_type, kind.types))
    if isinstance(kind, inspect.ListType):
        if isinstance(kind.item_type, inspect.DictType):
            return st.lists(OPERATIONS, max_size=3)
        return st.lists(of_type(kind.item_type), min_size=kind.min_length or 0, max_size=3)
    if isinstance(kind, inspect.LiteralType):
        return st.sampled_from(kind.values)
    if isinstance(kind, inspect.IntType):
        return st.integers(kind.ge, kind.le)
    simple: dict[type[inspect.Type], st.SearchStrategy[Any]] = {
        inspect.AnyType: JSON,
        inspect.DictType: OBJECTS,
        inspect.StrType: TEXT,
        inspect.BoolType: st.booleans(),
    }
    return simple[type(kind)]
