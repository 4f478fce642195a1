"""The Python SDK, `ag-ui-protocol`: its encoder, its models' validation, its models through us."""

from __future__ import annotations

from functools import cache
from typing import Any

from ..encoder import EventEncoder
from .ours import WIRES
from .prepared import Context, Prepare, Prepared

__all__ = ["PREPARE"]


@cache
def _adapter() -> Any:
    from ag_ui.core import Event
    from pydantic import TypeAdapter

    return TypeAdapter(Event)


def _models(context: Context) -> list[Any]:
    validate = _adapter().validate_json
    return [validate(line) for line in context.lines()]


def _encode_theirs(context: Context) -> Prepared:
    from ag_ui.encoder import EventEncoder as TheirEncoder

    models = _models(context)
    encode = TheirEncoder().encode

    def run() -> None:
        for model in models:
            encode(model)

    return Prepared(run, len(models), sum(len(encode(model).encode()) for model in models))


def _encode_through_us(wire: str) -> Prepare:
    def prepare(context: Context) -> Prepared:
        models = _models(context)
        encode = EventEncoder(WIRES[wire]).encode_binary

        def run() -> None:
            for model in models:
                encode(model)

        return Prepared(run, len(models), sum(map(len, map(encode, models))))

    return prepare


def _decode(context: Context) -> Prepared:
    validate = _adapter().validate_json
    lines = context.lines()

    def run() -> None:
        for line in lines:
            validate(line)

    return Prepared(run, len(lines), sum(map(len, lines)))


def _hold(context: Context) -> Prepared:
    validate = _adapter().validate_json
    lines = context.lines()
    return Prepared(lambda: [validate(line) for line in lines], len(lines), sum(map(len, lines)))


PREPARE: dict[tuple[str, str], Prepare] = {
    ("encode", "ag_ui.encoder"): _encode_theirs,
    ("decode", "TypeAdapter"): _decode,
    ("hold", "TypeAdapter"): _hold,
    **{("encode", f"ag_ui to {wire}"): _encode_through_us(wire) for wire in WIRES},
}
