"""Payloads that are nearly right: mutated bytes, and mutated fields of well-formed messages."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from agui_wire.codecs.protobuf.wire import LENGTH, encode_varint, fields
from agui_wire.errors import MalformedFrame

__all__ = ["framed", "mutations"]

# Tags, wire types, sizes and bits at which readers go wrong.
_BYTES = (0x00, 0x01, 0x08, 0x0A, 0x0F, 0x12, 0x1A, 0x20, 0x22, 0x2A, 0x32, 0x7F, 0x80, 0xC0, 0xFF)
_VARINTS = (0, 1, 2, 5, 127, 128, 2**31, 2**53 - 1, 2**53, 2**63, 2**64 - 2**53 + 1, 2**64 - 1)
_DOUBLES = (
    bytes(8),
    bytes.fromhex("0000000000000080"),  # -0.0
    bytes.fromhex("000000000000f07f"),  # infinity
    bytes.fromhex("010000000000f87f"),  # NaN
    bytes.fromhex("0000000000004043"),  # 2**53
    bytes.fromhex("0100000000004043"),
    bytes.fromhex("0000000000002440"),  # 10.0
)


def framed(payload: bytes) -> bytes:
    """A payload behind its length."""
    return len(payload).to_bytes(4, "big") + payload


def mutations(payloads: list[bytes], count: int, seed: int) -> Iterator[bytes]:
    """`count` payloads, each made from one or two of `payloads`."""
    rng = Random(seed)
    for _ in range(count):
        payload = rng.choice(payloads)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            if rng.random() < 0.5:
                payload = _mutate_bytes(payload, rng, payloads)
            else:
                payload = _mutate_fields(payload, rng, 12)
        yield payload


def _mutate_bytes(payload: bytes, rng: Random, payloads: list[bytes]) -> bytes:
    if not payload:
        return rng.choice(payloads)
    data = bytearray(payload)
    place = rng.randrange(len(data))
    kind = rng.randrange(7)
    if kind == 0:
        data[place] ^= 1 << rng.randrange(8)
    elif kind == 1:
        data[place] = rng.choice(_BYTES)
    elif kind == 2:
        data.insert(place, rng.choice(_BYTES))
    elif kind == 3:
        del data[place]
    elif kind == 4:
        del data[place:]
    elif kind == 5:
        data[place:place] = rng.choice(payloads)[: rng.randrange(12)]
    else:
        stop = min(len(data), place + rng.randrange(1, 9))
        data[place:place] = data[place:stop]
    return bytes(data)


def _mutate_fields(payload: bytes, rng: Random, levels: int) -> bytes:
    """One field changed, at any level, with all the lengths around it right."""
    try:
        found = list(fields(payload))
    except MalformedFrame:
        return payload
    if not found:
        return payload
    index = rng.randrange(len(found))
    number, wire_type, value = found[index]
    raw = [_written(*field) for field in found]
    if levels and wire_type == LENGTH and not isinstance(value, int) and rng.random() < 0.75:
        raw[index] = _written(number, wire_type, _mutate_fields(bytes(value), rng, levels - 1))
        return b"".join(raw)
    kind = rng.randrange(9)
    if kind == 0:
        raw.append(raw[index])
    elif kind == 1:
        del raw[index]
    elif kind == 2:
        rng.shuffle(raw)
    elif kind == 3:
        raw[index] = _written(rng.randrange(1, 40), wire_type, value)
    elif kind == 4:
        raw[index] = _written(number, 0, rng.choice(_VARINTS))
    elif kind == 5:
        raw[index] = _written(number, 1, rng.choice(_DOUBLES))
    elif kind == 6:
        raw[index] = _written(
            number, LENGTH, rng.choice((b"", b"\xff", b"a", "ä".encode(), b"\x08\x00"))
        )
    elif kind == 7:
        raw.insert(index, _written(rng.randrange(1, 40), 0, rng.choice(_VARINTS)))
    else:
        raw[index] = _stretched(number, wire_type, value)
    return b"".join(raw)


def _written(number: int, wire_type: int, value: int | bytes | memoryview) -> bytes:
    tag = encode_varint(number << 3 | wire_type)
    if isinstance(value, int):
        return tag + encode_varint(value)
    return tag + (encode_varint(len(value)) if wire_type == LENGTH else b"") + bytes(value)


def _stretched(number: int, wire_type: int, value: int | bytes | memoryview) -> bytes:
    """A field whose tag, and whose length where it has one, takes more bytes than it must."""

    def longer(least: int) -> bytes:
        short = encode_varint(least)
        return short[:-1] + bytes((short[-1] | 0x80, 0x00))

    tag = longer(number << 3 | wire_type)
    if isinstance(value, int):
        return tag + longer(value)
    return tag + (longer(len(value)) if wire_type == LENGTH else b"") + bytes(value)
