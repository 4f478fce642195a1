"""The streams that are measured: seeded, so that every run of a benchmark makes the same bytes.

Each is a whole run that a consumer accepts. They leave as recordings (JSON lines), which is how
workers, and anyone who wants to look at them, get them; a user's recording is one more.
"""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from ..convert import from_dict
from ..errors import AguiWireError
from ..events import Event
from ..recording import json_line, read_recording, shipped_recording

__all__ = [
    "RECORDED",
    "SEED",
    "SEEDED",
    "Workload",
    "WorkloadFile",
    "add_recording",
    "load",
    "write_workloads",
]

SEED = 20_261
"""What every workload is made from, together with its name."""

RECORDED = "recorded run"

_EPOCH_MS = 1_790_000_000_000
_TEXT = (
    "the a of and to in is it you that was for on are with as his they be at one have this from "
    "or had by hot word but what some we can out other were all there when up use your how said "
    "an each she which do their time if will way about many then them write would like so these "
    "her long make thing see him two has look more day could go come did number sound no most "
    "people my over know water than call first who may down side been now find naïve café 東京 "
    "déjà function return import result value index agent protocol stream state message 🚀 "
)
_WORDS = _TEXT.split()

Object = dict[str, Any]


class Workload(NamedTuple):
    """One stream to measure: what it is called, what it stands for, and how it is made."""

    name: str
    what: str
    make: Callable[[random.Random], Iterator[Object]]


class WorkloadFile(NamedTuple):
    """A workload as a recording: JSON lines of `size` bytes.

    `events` leaves out the start and the end of the run around a seeded workload, of which each
    costs next to nothing beside a state of 100 KB.
    """

    name: str
    what: str
    path: Path
    events: int
    size: int
    sha256: str


def _uuid(rng: random.Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=4))


def _token(rng: random.Random) -> str:
    return " " + rng.choice(_WORDS)


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words))


def _run(rng: random.Random, events: Iterator[Object]) -> Iterator[Object]:
    run = {"threadId": _uuid(rng), "runId": _uuid(rng)}
    yield {"type": "RUN_STARTED", **run}
    yield from events
    yield {"type": "RUN_FINISHED", **run}


def _message(rng: random.Random, deltas: int) -> Iterator[Object]:
    message_id = _uuid(rng)
    yield {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"}
    for _ in range(deltas):
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": _token(rng)}
    yield {"type": "TEXT_MESSAGE_END", "messageId": message_id}


def _tokens(rng: random.Random) -> Iterator[Object]:
    return _message(rng, 1000)


def _timed_tokens(rng: random.Random) -> Iterator[Object]:
    now = _EPOCH_MS
    for event in _message(rng, 1000):
        now += rng.randrange(5, 40)
        kind = event.pop("type")
        yield {"type": kind, "timestamp": now, **event}


def _tool_arguments(rng: random.Random) -> Iterator[Object]:
    for _ in range(20):
        call = {"toolCallId": f"call_{_uuid(rng)}"}
        yield {"type": "TOOL_CALL_START", **call, "toolCallName": "search_documents"}
        arguments = msgspec.json.encode({"query": _text(rng, 30), "limit": rng.randrange(99)})
        pieces = arguments.decode()
        for start in range(0, len(pieces), 4):
            yield {"type": "TOOL_CALL_ARGS", **call, "delta": pieces[start : start + 4]}
        yield {"type": "TOOL_CALL_END", **call}


def _reasoning(rng: random.Random) -> Iterator[Object]:
    for _ in range(5):
        message = {"messageId": _uuid(rng)}
        yield {"type": "REASONING_START", **message}
        yield {"type": "REASONING_MESSAGE_START", **message, "role": "reasoning"}
        for _ in range(200):
            yield {"type": "REASONING_MESSAGE_CONTENT", **message, "delta": _token(rng)}
        yield {"type": "REASONING_MESSAGE_END", **message}
        yield {"type": "REASONING_END", **message}


def _record(rng: random.Random, number: int) -> Object:
    return {
        "id": number,
        "title": _text(rng, 4),
        "done": rng.random() < 0.5,
        "score": round(rng.random() * 100, 2),
        "tags": [rng.choice(_WORDS), rng.choice(_WORDS)],
        "owner": {"id": rng.randrange(1000), "name": _text(rng, 2), "email": None},
    }


def _state(rng: random.Random, size: int) -> Object:
    records: list[Object] = []
    state = {"version": 1, "items": records}
    held = 0
    while held < size:
        records.append(_record(rng, len(records)))
        held += len(msgspec.json.encode(records[-1])) + 1
    return state


def _states(size: int, count: int) -> Callable[[random.Random], Iterator[Object]]:
    def make(rng: random.Random) -> Iterator[Object]:
        for _ in range(count):
            yield {"type": "STATE_SNAPSHOT", "snapshot": _state(rng, size)}

    return make


def _state_deltas(rng: random.Random) -> Iterator[Object]:
    state = _state(rng, 10_000)
    yield {"type": "STATE_SNAPSHOT", "snapshot": state}
    for _ in range(2000):
        path = f"/items/{rng.randrange(len(state['items']))}/score"
        operation = {"op": "replace", "path": path, "value": round(rng.random() * 100, 2)}
        yield {"type": "STATE_DELTA", "delta": [operation]}


def _conversation(rng: random.Random, count: int) -> list[Object]:
    messages: list[Object] = []
    while len(messages) < count:
        call = f"call_{_uuid(rng)}"
        arguments = msgspec.json.encode({"query": _text(rng, 6)}).decode()
        function = {"name": "search_documents", "arguments": arguments}
        messages += [
            {"id": _uuid(rng), "role": "user", "content": _text(rng, 15)},
            {
                "id": _uuid(rng),
                "role": "assistant",
                "toolCalls": [{"id": call, "type": "function", "function": function}],
            },
            {"id": _uuid(rng), "role": "tool", "toolCallId": call, "content": _text(rng, 60)},
            {"id": _uuid(rng), "role": "assistant", "content": _text(rng, 80)},
        ]
    return messages[:count]


def _messages(rng: random.Random) -> Iterator[Object]:
    conversation = _conversation(rng, 200)
    for _ in range(3):
        yield {"type": "MESSAGES_SNAPSHOT", "messages": conversation}


def _multimodal(rng: random.Random) -> Iterator[Object]:
    for kind, mime_type, size in (
        ("image", "image/png", 3_000),
        ("image", "image/jpeg", 48_000),
        ("document", "application/pdf", 96_000),
    ):
        value = base64.b64encode(rng.randbytes(size)).decode()
        source = {"type": "data", "value": value, "mimeType": mime_type}
        content = [{"type": "text", "text": _text(rng, 12)}, {"type": kind, "source": source}]
        message = {"id": _uuid(rng), "role": "user", "content": content}
        yield {"type": "MESSAGES_SNAPSHOT", "messages": [message]}


SEEDED: tuple[Workload, ...] = (
    Workload("tokens", "1,000 short text deltas of one message, UUID ids", _tokens),
    Workload(
        "tokens, timed",
        "the same with a timestamp on every event, as pydantic-ai writes it",
        _timed_tokens,
    ),
    Workload(
        "tool arguments", "20 tool calls, arguments in pieces of 4 characters", _tool_arguments
    ),
    Workload("reasoning", "5 reasoning messages of 200 deltas", _reasoning),
    Workload("state 1 KB", "50 state snapshots of 1 KB of records", _states(1_000, 50)),
    Workload("state 100 KB", "4 state snapshots of 100 KB of records", _states(100_000, 4)),
    Workload("state deltas", "2,000 one-field changes to a state of 10 KB", _state_deltas),
    Workload("200 messages", "3 snapshots of a conversation of 200 messages", _messages),
    Workload("multimodal", "3 messages with base64 media of 4 to 128 KB", _multimodal),
)


def seeded_events(workload: Workload, seed: int = SEED) -> list[Event]:
    """The events of a seeded workload, with a start and an end of the run around them."""
    # A str seed is hashed by its bytes, alike in every process.
    rng = random.Random(f"{seed}/{workload.name}")
    return [from_dict(obj) for obj in _run(rng, workload.make(rng))]


@lru_cache(maxsize=4)
def load(path: Path) -> list[Event]:
    """The events of a recording, kept for who asks again.

    Raises OSError, and StreamError where it is broken.
    """
    with path.open("rb") as stream:
        return [event for recorded in read_recording(stream) for event in recorded.events]


def write_workloads(
    directory: Path, names: frozenset[str] | None = None, seed: int = SEED
) -> list[WorkloadFile]:
    """Write the workloads (those in `names`, or all) as recordings; gives what was written.

    Raises OSError.
    """
    files = [
        _write(directory, workload.name, workload.what, seeded_events(workload, seed), 2)
        for workload in SEEDED
        if names is None or workload.name in names
    ]
    if names is None or RECORDED in names:
        what = "one run of a pydantic-ai agent: text, reasoning, tools, state, activities"
        files.append(_write(directory, RECORDED, what, load(shipped_recording())))
    return files


def add_recording(directory: Path, recording: Path) -> WorkloadFile:
    """A user's recording, of any wire, as one more workload.

    Raises OSError, and AguiWireError where it is broken or holds no event.
    """
    events = load(recording)
    if not events:
        raise AguiWireError(f"{recording} holds no event")
    return _write(directory, f"yours: {recording.name}", "the recording you gave", events)


def _write(
    directory: Path, name: str, what: str, events: list[Event], uncounted: int = 0
) -> WorkloadFile:
    body = b"".join(map(json_line, events))
    stem = "".join(c if c.isalnum() and c.isascii() else "-" for c in name)
    path = directory / f"{stem}.jsonl"
    path.write_bytes(body)
    digest = hashlib.sha256(body).hexdigest()[:16]
    return WorkloadFile(name, what, path, len(events) - uncounted, len(body), digest)
