"""Our protobuf against `@ag-ui/proto`: its bytes read here, ours read there, and both the same."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE
from tests.conftest import wire_vectors
from tests.generators import EVENT_TYPES, random_event
from tests.interop.peer import Peer

EVENTS_OF_EACH_TYPE = 17

Object = dict[str, Any]


def write(event: Object) -> bytes:
    """Our payload for a JSON event."""
    frame = agui_wire.encode(agui_wire.from_dict(event), AGUI_MEDIA_TYPE)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    return frame[4:]


def read(payload: bytes) -> Object:
    """The JSON event that we read from a payload."""
    (event,) = agui_wire.decode(len(payload).to_bytes(4, "big") + payload, AGUI_MEDIA_TYPE)
    return agui_wire.to_dict(event)


def _integer_like_keys(value: Any) -> bool:
    """Whether JavaScript would put a key of `value` before its elders."""
    if isinstance(value, dict):
        return any(key.isdecimal() or _integer_like_keys(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_integer_like_keys, value))


@pytest.mark.parametrize(
    "vector", wire_vectors("events.jsonl"), ids=lambda vector: str(vector["name"])
)
def test_vectors(peer: Peer, vector: Object) -> None:
    event, decoded = vector["event"], vector.get("decoded", vector["event"])
    ours, theirs = write(event), peer.encode(event)
    assert theirs.hex() == vector["hex"]
    if not _integer_like_keys(event):
        assert ours == theirs
    assert peer.decode(ours) == decoded
    assert read(theirs) == decoded


@pytest.mark.parametrize("event_type", EVENT_TYPES)
def test_random_events(peer: Peer, event_type: str) -> None:
    rng = Random(event_type)
    for _ in range(EVENTS_OF_EACH_TYPE):
        event = random_event(rng, event_type)
        ours, theirs = write(event), peer.encode(event)
        assert ours == theirs, event
        assert peer.decode(ours) == event
        assert read(theirs) == event


def test_integer_like_keys_differ_in_order_only(peer: Peer) -> None:
    event: Object = {"type": "STATE_SNAPSHOT", "snapshot": {"b": 1, "7": 2, "0": 3}}
    ours, theirs = write(event), peer.encode(event)
    assert ours != theirs
    assert sorted(ours) == sorted(theirs)
    assert peer.decode(ours) == read(theirs) == event


def test_objects_nested_beyond_google_runtimes(peer: Peer) -> None:
    value: Any = 1
    for _ in range(60):
        value = {"a": [value]} if isinstance(value, int) else {"a": value}
    event: Object = {"type": "CUSTOM", "name": "deep", "value": value}
    ours = write(event)
    assert ours == peer.encode(event)
    assert peer.decode(ours) == read(ours) == event
