"""The SDK's models of patch operations, on each wire: as the pure engine and the SDK write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    SSE_MEDIA_TYPE,
    EventEncoder,
    StreamDecoder,
    StreamWarning,
)
from agui_wire import events as ev
from agui_wire.errors import EncodeError
from tests.native.engines import Refused, native_encoder, reference

# The SDK has had these classes since it was generated from the protocol's schema.
models = pytest.importorskip("ag_ui._generated.models")
core = pytest.importorskip("ag_ui.core")
sdk = pytest.importorskip("tests.sdk")

MEDIA_TYPES = (AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, MSGPACK_MEDIA_TYPE)
AddOperation: Any = models.AddOperation
ReplaceOperation: Any = models.ReplaceOperation
CLASSES = {
    name: getattr(models, f"{name.capitalize()}Operation")
    for name in ("add", "remove", "replace", "move", "copy", "test")
}
# Of each class, one that is right.
GIVEN: dict[str, dict[str, Any]] = {
    **{name: {"path": "/a/ä~1", "value": [1, None]} for name in ("add", "replace", "test")},
    **{name: {"path": "", "from": "/b"} for name in ("move", "copy")},
    "remove": {"path": "/a"},
}


def holding(operation: Any) -> list[Any]:
    """Events with an operation in them: both of the SDK's, and one of ours."""
    return [
        core.StateDeltaEvent.model_construct(delta=[operation, operation]),
        core.ActivityDeltaEvent.model_construct(
            message_id="m", activity_type="t", patch=[operation]
        ),
        ev.StateDeltaEvent(delta=[operation]),
    ]


def outcome(make: Any, media_type: str, event: Any) -> Any:
    """What an encoder gives, warns of and raises."""
    warnings: list[StreamWarning] = []
    encoder = make(EventEncoder, media_type, on_warning=warnings.append)
    try:
        return encoder.encode(event), warnings
    except EncodeError as error:
        return str(error), warnings


def build(cls: Any, *args: Any, **options: Any) -> Any:
    return cls(*args, **options)


def theirs(event: Any) -> str | None:
    """What the SDK's encoder writes, or None where it fails or writes what is no event."""
    try:
        text: str = sdk.theirs(event)
        StreamDecoder(SSE_MEDIA_TYPE).feed(text.encode())
    except Exception:
        return None
    return text


def check(operation: Any) -> None:
    for event in holding(operation):
        for media_type in MEDIA_TYPES:
            seen = outcome(build, media_type, event)
            assert seen == outcome(reference, media_type, event), (media_type, operation)
            if media_type == SSE_MEDIA_TYPE and type(event) is core.StateDeltaEvent:
                assert theirs(event) in (None, seen[0])


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
@pytest.mark.parametrize("name", CLASSES)
def test_each_class_is_written_without_the_python_codec(name: str, media_type: str) -> None:
    operation = CLASSES[name](**GIVEN[name])
    for event in holding(operation):
        expected = reference(EventEncoder, media_type).encode(event)
        assert native_encoder(media_type).encode(event) == expected
    check(operation)


@settings(max_examples=150)
@given(st.one_of(*(sdk.instances(cls, True) for cls in CLASSES.values())))
def test_operations_with_any_json_in_them(operation: Any) -> None:
    check(operation)


class Plain(AddOperation):  # type: ignore[misc]
    """Adds nothing."""


class Wider(ReplaceOperation):  # type: ignore[misc]
    """Adds a field."""

    reason: str = "because"


class Narrower(AddOperation):  # type: ignore[misc]
    """Gives a default to what has none."""

    value: Any = None


@pytest.mark.parametrize("cls", [Plain, Wider, Narrower])
def test_subclasses(cls: Any) -> None:
    for value in (None, 0, {"a": [None]}):
        check(cls(path="/a", value=value))
    event = core.StateDeltaEvent.model_construct(delta=[cls(path="/a", value=1)])
    encoder = native_encoder(AGUI_MEDIA_TYPE)
    if cls is Plain:
        assert encoder.encode(event)
    else:
        with pytest.raises(Refused):
            encoder.encode(event)


@pytest.mark.parametrize("name", CLASSES)
def test_members_that_an_operation_does_not_define(name: str) -> None:
    for extra in ({"when": 3}, {"value": 1}, {"from": "/c"}, {"from": 3}, {"note": None}):
        if extra.keys() & GIVEN[name].keys():
            continue
        check(CLASSES[name](**GIVEN[name], **extra))


@pytest.mark.parametrize("name", CLASSES)
def test_members_that_are_missing_or_wrong(name: str) -> None:
    for member in ("op", "path", "value", "from_"):
        operation = CLASSES[name](**GIVEN[name])
        if member not in operation.__dict__:
            continue
        del operation.__dict__[member]
        check(operation)
        wrongs: list[Any] = [None, 3, "~", "a", "/~2", "\ud83d", [], "remove"]
        for wrong in wrongs:
            operation.__dict__[member] = wrong
            check(operation)


def test_none_is_a_value() -> None:
    for name in ("add", "replace", "test"):
        event = core.StateDeltaEvent(delta=[CLASSES[name](path="/a", value=None)])
        assert '"value":null' in EventEncoder().encode(event)
        check(event.delta[0])


def test_operations_among_dicts() -> None:
    mixed = [CLASSES["add"](path="/a", value=1), {"op": "remove", "path": "/a"}]
    for event in (
        core.StateDeltaEvent.model_construct(delta=mixed),
        ev.StateDeltaEvent(delta=mixed),
    ):
        for media_type in MEDIA_TYPES:
            expected = outcome(reference, media_type, event)
            assert outcome(build, media_type, event) == expected
