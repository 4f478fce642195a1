"""The native engine, where it was built and may run; else the pure one does everything.

It is loaded when an encoder or a decoder first asks for it, and only trusted once it has written
and read every Struct of the model the way msgspec makes it.
"""

from __future__ import annotations

import gc
import logging
import os
import threading
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from ..._sdk import sdk_model
from ...events import Event
from ...media_types import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, wire_of
from ..protobuf.shapes import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from .engine import Decoder
    from .tables import Class, Slot

__all__ = ["decoder", "encoder_methods", "load"]

logger = logging.getLogger("agui_wire")

_WIRES = {AGUI_MEDIA_TYPE: "protobuf", MSGPACK_MEDIA_TYPE: "msgpack", SSE_MEDIA_TYPE: "sse"}
_DECODERS = {
    SSE_MEDIA_TYPE: msgspec.json.Decoder(Event).decode,
    MSGPACK_MEDIA_TYPE: msgspec.msgpack.Decoder(Event).decode,
}

# The SDK's models of patch operations, which are dicts here.
_OPERATIONS = {f"{name.capitalize()}Operation" for name in OPERATIONS}

# Set in the environment, it forces the pure engine.
PURE = os.environ.get("AGUI_WIRE_PURE") == "1"

_loading = threading.Lock()


@cache
def load() -> ModuleType | None:
    """The engine's module, ready for use, or None where the pure engine has to do."""
    if PURE:
        return None
    # A cache alone lets two threads in at once, and the tables are filled in once.
    with _loading:
        return _loaded()


@cache
def _loaded() -> ModuleType | None:
    try:
        from . import engine  # type: ignore[attr-defined,unused-ignore]
    except ImportError:
        return None
    try:
        from .tables import classes, messages, operations

        _check_layout()
        engine.configure(messages(), classes(), operations(), _resolver(engine))
        _check_objects(engine)
    except Exception as error:  # whatever a future msgspec does, the pure engine does without
        logger.warning("the native engine does not fit this msgspec; the pure one runs: %r", error)
        return None
    module: ModuleType = engine
    return module


def encoder_methods(
    media_type: str, max_frame_size: int, max_depth: int, fallback: Callable[[Any], bytes]
) -> dict[str, Callable[[Any], Any]]:
    """The native methods of an EventEncoder by name, or none where there is no engine.

    `fallback` writes what needs a judgement.
    """
    engine = load()
    if engine is None:
        return {}
    encoder = engine.Encoder(fallback, max_frame_size, max_depth, _WIRES[media_type])
    return {
        "encode": encoder.encode,
        "encode_binary": encoder.encode_binary,
        "encode_many": encoder.encode_many,
    }


def decoder(
    content_type: str,
    hand_back: Callable[[list[Event], int, int, bytes], bool],
    feed_on: Callable[[bytes], list[Event]],
    max_frame_size: int,
    max_depth: int,
    sized: bool = False,
) -> Decoder | None:
    """A native reader of one stream, or None where there is no engine.

    `sized` is for callers that will ask for the sizes of the frames. What `hand_back` and
    `feed_on` do is said in engine.pyi.
    """
    engine = load()
    if engine is None:
        return None
    wire = wire_of(content_type)
    made: Decoder = engine.Decoder(
        hand_back,
        feed_on,
        max_frame_size,
        max_depth,
        sized,
        _DECODERS.get(wire),
        wire == SSE_MEDIA_TYPE,
    )
    return made


def _check_layout() -> None:
    """That an instance is its header and its slots, and that nothing runs when it is made."""
    from .tables import classes

    for spec in classes():
        cls: Any = spec.cls
        size = object.__basicsize__ + len(spec.slots) * object.__basicsize__ // 2
        if cls.__basicsize__ != size or cls.__itemsize__ or hasattr(cls, "__post_init__"):
            raise TypeError(f"{cls.__name__} is laid out in an unknown way")


def _check_objects(engine: ModuleType) -> None:
    """That what the engine makes equals what msgspec makes, and is tracked alike."""
    from .tables import classes

    def refuse(*args: Any) -> None:
        raise TypeError("the native engine hands back an event that is in no way odd")

    encoder = engine.Encoder(refuse, 2**20, 100, "protobuf")
    decoder = engine.Decoder(refuse, refuse, 2**20, 100, False, None, False)
    for spec in classes():
        if spec.is_event:
            for event in _samples(spec):
                made = decoder.feed(encoder.encode(event))
                if made != [event] or not _tracked_alike(made[0], event):
                    raise TypeError(f"a {spec.cls.__name__} comes out different")


def _tracked_alike(made: Any, given: Any) -> bool:
    if isinstance(made, msgspec.Struct):
        pairs = [(getattr(made, name), getattr(given, name)) for name in made.__struct_fields__]
    elif type(made) is list:
        pairs = list(zip(made, given))
    else:
        return True
    return gc.is_tracked(made) == gc.is_tracked(given) and all(_tracked_alike(*p) for p in pairs)


def _samples(spec: Class) -> list[Any]:
    """Instances of a Struct: with nothing optional, and with everything."""
    from .tables import classes

    by_class = {each.cls: each for each in classes()}

    def values(slot: Slot) -> list[Any]:
        inner = [sample for cls in slot.members for sample in _samples(by_class[cls])]
        if slot.kind == "operations":
            return [[{"op": "add", "path": "/a", "value": 1}]]
        if slot.kind == "structs":
            return [inner]
        if slot.kind == "content":
            return ["text", inner]
        if inner:
            return inner
        simple: dict[str, Any] = {"int": 1, "bool": True, "any": None, "open": [1]}
        simple |= {"object": {}, "texts": ["a"]}
        return [slot.choices[0] if slot.choices else simple.get(slot.kind, "text")]

    made: list[Any] = []
    required = {slot.name: values(slot)[0] for slot in spec.slots if not slot.optional}
    # The lists that are always filled in belong to the normal form of a run input.
    required |= {slot.name: [] for slot in spec.slots if slot.filled and slot.optional}
    made.append(spec.cls(**required))
    made += [
        spec.cls(**{**required, slot.name: value}) for slot in spec.slots for value in values(slot)
    ]
    return made


def _resolver(engine: ModuleType) -> Any:
    """What tells the engine of a class that it does not know: how to read it, or to leave it."""
    from .tables import classes

    by_name = {spec.cls.__name__: spec for spec in classes()}

    def resolve(cls: Any) -> None:
        try:
            add(cls)
        except (AttributeError, TypeError, ValueError):
            # Laid out in a way of its own.
            engine.add_model(cls, None, (), None)

    def add(cls: Any) -> None:
        model = sdk_model(cls)
        if model is None or model.fields is None or model.drops_nulls:
            engine.add_model(cls, None, (), None)
            return
        origin = next(base for base in cls.__mro__ if base.__module__.partition(".")[0] == "ag_ui")
        spec = by_name.get(origin.__name__)
        attributes = [(name, key, absent) for name, (key, absent) in model.fields.items()]
        keys = {key for _, key, _ in attributes}
        if origin.__name__ in _OPERATIONS and keys <= {"op", "path", "from", "value"}:
            engine.add_operation(cls, attributes)
            return
        if (
            spec is None
            or model.is_event != spec.is_event
            or not keys <= {slot.key for slot in spec.slots} | {spec.tag_key}
            or (spec.tag and spec.tag_key not in keys)
        ):
            engine.add_model(cls, None, (), None)
            return
        tags = [name for name, key, _ in attributes if spec.tag and key == spec.tag_key]
        member = cls.model_fields[tags[0]].default if tags else None
        engine.add_model(cls, spec.cls, attributes, member if member == spec.tag else None)

    return resolve
