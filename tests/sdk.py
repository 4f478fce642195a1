"""The installed Python SDK, from 0.1.10 on: its event classes, its text, and random models of it.

Whatever imports this module is skipped where there is no SDK.
"""

from __future__ import annotations

import functools
import typing
import warnings
from typing import Annotated, Any, Literal

import pytest
from hypothesis import strategies as st

import agui_wire
from tests.strategies import OPERATIONS, POINTERS, json_values

core = pytest.importorskip("ag_ui.core")
sdk_encoder = pytest.importorskip("ag_ui.encoder")
pydantic = pytest.importorskip("pydantic")

# Its encoder leaves out every None, not its models those of optional fields.
DROPS_NULLS = not hasattr(core.BaseEvent, "_omit_fields_without_value")

EVENTS: dict[str, Any] = {
    name: cls
    for name, cls in vars(core).items()
    if isinstance(cls, type) and issubclass(cls, core.BaseEvent) and cls is not core.BaseEvent
}
RETIRED = [name for name in EVENTS if name.startswith("Thinking")]
CURRENT = [name for name in EVENTS if name not in RETIRED]
IS_1_0 = not RETIRED


def theirs(event: Any) -> str:
    """What the SDK's own encoder writes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text: str = sdk_encoder.EventEncoder().encode(event)
    return text


def ours(event: Any) -> str:
    text = agui_wire.EventEncoder().encode(event)
    assert isinstance(text, str)
    return text


# What 0.1 takes, and protocol 1.0 does not.
NARROWER: dict[tuple[str, str], Any] = {("ActivitySnapshotEvent", "content"): dict[str, Any]}
if not IS_1_0:
    NARROWER["UserMessage", "content"] = str
if hasattr(core, "Interrupt"):
    several: Any = Annotated[list[core.Interrupt], pydantic.Field(min_length=1)]  # type: ignore[name-defined]
    NARROWER["RunFinishedInterruptOutcome", "interrupts"] = several

WILD = json_values(
    st.none()
    | st.booleans()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.text(st.characters(max_codepoint=0xA0), max_size=8)
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
)
TAME = json_values()


def of(annotation: Any, metadata: typing.Iterable[Any], wild: bool) -> Any:
    """Values of a field's type."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    limits = {
        name: getattr(item, name)
        for field in metadata
        for item in (field, *getattr(field, "metadata", ()))
        for name in ("ge", "le", "min_length", "pattern")
        if getattr(item, name, None) is not None
    }
    if origin is Annotated:
        return of(arguments[0], arguments[1:], wild)
    if origin is typing.Union:
        return st.one_of(*(of(item, metadata, wild) for item in arguments))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is list:
        item = OPERATIONS if arguments == (Any,) else of(arguments[0], (), wild)
        return st.lists(item, min_size=limits.get("min_length", 0), max_size=2)
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return instances(annotation, wild)
    if annotation is int:
        return st.integers(limits.get("ge", -(2**53) + 1), limits.get("le", 2**53 - 1))
    if annotation is str:
        text = st.text(min_size=limits.get("min_length", 0), max_size=8)
        return POINTERS if "pattern" in limits else text
    value = WILD if wild else TAME
    objects = st.dictionaries(st.text(max_size=3), value, max_size=2)
    return {Any: value, dict: objects, bool: st.booleans(), type(None): st.none()}[
        origin or annotation
    ]


@functools.cache
def instances(cls: Any, wild: bool) -> st.SearchStrategy[Any]:
    """Valid models, with JSON of every kind in their open fields, or with what all wires hold."""
    required: dict[str, Any] = {}
    optional: dict[str, Any] = {}
    for name, field in cls.model_fields.items():
        annotation = field.annotation
        if typing.get_args(annotation) == (field.default,):
            continue
        if (cls.__name__, name) in NARROWER:
            annotation = NARROWER[cls.__name__, name]
        group = required if field.is_required() else optional
        group[name] = of(annotation, field.metadata, wild)
    values = st.fixed_dictionaries(required, optional=optional)
    return values.map(lambda given: cls(**given))


def loses_a_required_null(event: Any) -> bool:
    """Whether an old SDK's encoder leaves out what is data (a named difference)."""
    return DROPS_NULLS and any(
        getattr(event, name, "") is None for name in ("snapshot", "value", "event")
    )
