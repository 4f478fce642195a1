"""Random events of protocol 1.0, as camelCase JSON objects in their normal form.

Each is what all three wires give back unchanged: integers stay within 2**53, numbers are
finite, keys are not integer-like (JavaScript would reorder them), and lists whose emptiness
means absence are not empty.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import strategies as st

__all__ = ["EVENT_TYPES", "events", "random_event", "random_json", "random_text"]

Make = Callable[[Random], Any]
Shape = dict[str, Make]
"""A key's value, by key; a `?` behind a key makes it optional."""

MAX_SAFE = 2**53 - 1

_CHARACTERS = (
    "abcdefghijklmnopqrstuvwxyzABCXYZ0189 .,:;-_/~'\"\\{}[]"
    "\n\r\t\x00\x1f\x7f\x85\u2028\u2029äßéœ漢字かな\u0301\u200dنص\ufeff\ufffd\U0001f600\U0001f469\U0001f3fd"
)


def random_text(rng: Random) -> str:
    """Text of 0 to 200 characters, mostly short, of every UTF-8 length."""
    length = rng.choice((0, 1, 3, 8, 8, 20, 60, 200))
    return "".join(rng.choices(_CHARACTERS, k=length))


def _key(rng: Random) -> str:
    return rng.choice(("a", "id", "größe", "snake_case", "a/b", "~", "", "k" + random_text(rng)))


def _identifier(rng: Random) -> str:
    return rng.choice(("", "m1", "msg-42", "日本", f"{rng.getrandbits(64):016x}"))


def _number(rng: Random) -> int | float:
    return rng.choice(
        (
            rng.randint(-10, 10),
            rng.randint(-MAX_SAFE, MAX_SAFE),
            MAX_SAFE,
            -MAX_SAFE,
            rng.uniform(-1, 1),
            0.1,
            1e-7,
            -2.5e300,
            5e-324,
        )
    )


def random_json(rng: Random, depth: int = 4) -> Any:
    """Any JSON value, of at most `depth` levels."""
    kind = rng.randrange(8 if depth > 0 else 5)
    if kind == 0:
        return None
    if kind == 1:
        return rng.random() < 0.5
    if kind == 2:
        return _number(rng)
    if kind in (3, 4):
        return random_text(rng)
    if kind == 5:
        return [random_json(rng, depth - 1) for _ in range(rng.randrange(4))]
    return _json_object(rng, depth)


def _json_object(rng: Random, depth: int = 4) -> dict[str, Any]:
    return {_key(rng): random_json(rng, depth - 1) for _ in range(rng.randrange(5))}


def _present_json(rng: Random) -> Any:
    value = random_json(rng)
    return "" if value is None else value


def _build(shape: Shape, rng: Random) -> dict[str, Any]:
    return {
        key.rstrip("?"): make(rng)
        for key, make in shape.items()
        if not key.endswith("?") or rng.random() < 0.5
    }


def _object(**shape: Make) -> Make:
    return lambda rng: _build(shape, rng)


def _shaped(shape: Shape) -> Make:
    return lambda rng: _build(shape, rng)


def _one_of(*values: str) -> Make:
    return lambda rng: rng.choice(values)


def _either(*makes: Make) -> Make:
    return lambda rng: rng.choice(makes)(rng)


def _list(make: Make, least: int = 0) -> Make:
    return lambda rng: [make(rng) for _ in range(rng.randint(least, 3))]


def _boolean(rng: Random) -> bool:
    return rng.random() < 0.5


def _timestamp(rng: Random) -> int:
    return rng.choice((0, 1, -1, 1790000000000, MAX_SAFE, -MAX_SAFE))


def _count(rng: Random) -> int:
    return rng.choice((0, 1, 127, 128, 40_000, 2**31, MAX_SAFE))


def _pointer(rng: Random) -> str:
    steps = (_key(rng).replace("~", "~0").replace("/", "~1") for _ in range(rng.randrange(4)))
    return "".join(f"/{step}" for step in steps)


_TAG: Shape = {"subagentRunId?": _identifier}
_METADATA: Shape = {"metadata?": _json_object}
_ENCRYPTED: Shape = {"encryptedValue?": random_text}

_SOURCE = _either(
    _shaped({"type": _one_of("data"), "value": random_text, "mimeType": random_text}),
    _shaped({"type": _one_of("url"), "value": random_text, "mimeType?": random_text}),
    _shaped(
        {
            "type": _one_of("file"),
            "value": random_text,
            "provider?": random_text,
            "mimeType?": random_text,
        }
    ),
)
_PART = _either(
    _shaped(
        {
            "type": _one_of("text"),
            "text": random_text,
            "id?": _identifier,
            "metadata?": _present_json,
        }
    ),
    _shaped(
        {
            "type": _one_of("image", "audio", "video", "document"),
            "source": _SOURCE,
            "id?": _identifier,
            "metadata?": _present_json,
        }
    ),
)
_CONTENT = _either(random_text, _list(_PART))

_TOOL_CALL = _shaped(
    {
        "id": _identifier,
        "type": _one_of("function"),
        "function": _object(name=random_text, arguments=random_text),
        **_ENCRYPTED,
        **_METADATA,
    }
)

_NAMED: Shape = {"id": _identifier, "name?": random_text, **_TAG, **_ENCRYPTED, **_METADATA}
_MESSAGE = _either(
    _shaped(
        {**_NAMED, "role": _one_of("developer", "system"), "content": random_text},
    ),
    _shaped(
        {
            **_NAMED,
            "role": _one_of("assistant"),
            "content?": random_text,
            "toolCalls?": _list(_TOOL_CALL, least=1),
        }
    ),
    _shaped({**_NAMED, "role": _one_of("user"), "content": _CONTENT}),
    _shaped(
        {
            "id": _identifier,
            "role": _one_of("tool"),
            "content": _CONTENT,
            "toolCallId": _identifier,
            "error?": random_text,
            **_TAG,
            **_ENCRYPTED,
            **_METADATA,
        }
    ),
    _shaped(
        {
            "id": _identifier,
            "role": _one_of("activity"),
            "activityType": random_text,
            "content": _json_object,
            **_TAG,
            **_METADATA,
        }
    ),
    _shaped(
        {
            "id": _identifier,
            "role": _one_of("reasoning"),
            "content": random_text,
            **_TAG,
            **_ENCRYPTED,
            **_METADATA,
        }
    ),
)

_OPERATION = _either(
    _shaped({"op": _one_of("add", "replace", "test"), "path": _pointer, "value": random_json}),
    # RFC 6902 lets an operation carry more than it needs.
    _shaped({"op": _one_of("remove"), "path": _pointer, "value?": random_json}),
    _shaped({"op": _one_of("move", "copy"), "from": _pointer, "path": _pointer}),
)

_USAGE = _list(
    _shaped(
        {
            "provider?": random_text,
            "model?": random_text,
            "inputTokens?": _count,
            "outputTokens?": _count,
            "totalTokens?": _count,
            "reasoningTokens?": _count,
            "cachedInputTokens?": _count,
            "cacheWriteInputTokens?": _count,
        }
    ),
    least=1,
)
_INTERRUPT = _shaped(
    {
        "id": _identifier,
        "reason": random_text,
        "message?": random_text,
        "toolCallId?": _identifier,
        "responseSchema?": _json_object,
        "expiresAt?": random_text,
        **_METADATA,
        **_TAG,
    }
)
_RUN_OUTCOME = _either(
    _shaped({"type": _one_of("success"), "pendingToolCallIds?": _list(_identifier, least=1)}),
    _shaped({"type": _one_of("interrupt"), "interrupts": _list(_INTERRUPT, least=1)}),
    _shaped({"type": _one_of("cancelled")}),
)
_SUBAGENT_OUTCOME = _either(
    _shaped({"type": _one_of("success")}),
    _shaped({"type": _one_of("suspended"), "interruptIds?": _list(_identifier, least=1)}),
)
_RUN_INPUT = _shaped(
    {
        "threadId": _identifier,
        "runId": _identifier,
        "parentRunId?": _identifier,
        "state?": _present_json,
        "messages": _list(_MESSAGE),
        "tools": _list(
            _shaped(
                {
                    "name": random_text,
                    "description": random_text,
                    "parameters?": _present_json,
                    **_METADATA,
                }
            )
        ),
        "context": _list(_object(description=random_text, value=random_text)),
        "forwardedProps?": _present_json,
        "resume": _list(
            _shaped(
                {
                    "interruptId": _identifier,
                    "status": _one_of("resolved", "cancelled"),
                    "payload?": _present_json,
                    **_METADATA,
                }
            )
        ),
        "protocolVersion?": _one_of("1.0"),
    }
)

_ROLE = _one_of("developer", "system", "assistant", "user")
_IN_MESSAGE: Shape = {"messageId": _identifier, **_TAG}
_IN_CALL: Shape = {"toolCallId": _identifier, **_TAG}
_ACTIVITY: Shape = {**_IN_MESSAGE, "activityType": random_text}
_STEP: Shape = {"stepName": random_text, **_TAG}
_RUN: Shape = {"threadId": _identifier, "runId": _identifier}

_SHAPES: dict[str, Shape] = {
    "TEXT_MESSAGE_START": {**_IN_MESSAGE, "role?": _ROLE, "name?": random_text},
    "TEXT_MESSAGE_CONTENT": {**_IN_MESSAGE, "delta": random_text},
    "TEXT_MESSAGE_END": _IN_MESSAGE,
    "TEXT_MESSAGE_CHUNK": {
        "messageId?": _identifier,
        "role?": _ROLE,
        "delta?": random_text,
        "name?": random_text,
        **_TAG,
    },
    "TOOL_CALL_START": {**_IN_CALL, "toolCallName": random_text, "parentMessageId?": _identifier},
    "TOOL_CALL_ARGS": {**_IN_CALL, "delta": random_text},
    "TOOL_CALL_END": _IN_CALL,
    "TOOL_CALL_CHUNK": {
        "toolCallId?": _identifier,
        "toolCallName?": random_text,
        "parentMessageId?": _identifier,
        "delta?": random_text,
        **_TAG,
    },
    "TOOL_CALL_RESULT": {
        **_IN_CALL,
        "messageId": _identifier,
        "content": _CONTENT,
        "role?": _one_of("tool"),
    },
    "STATE_SNAPSHOT": {"snapshot": random_json, **_TAG},
    "STATE_DELTA": {"delta": _list(_OPERATION), **_TAG},
    "MESSAGES_SNAPSHOT": {"messages": _list(_MESSAGE)},
    "ACTIVITY_SNAPSHOT": {**_ACTIVITY, "content": _json_object, "replace?": _boolean},
    "ACTIVITY_DELTA": {**_ACTIVITY, "patch": _list(_OPERATION)},
    "RAW": {"event": random_json, "source?": random_text, **_TAG},
    "CUSTOM": {"name": random_text, "value": random_json, **_TAG},
    "RUN_STARTED": {
        **_RUN,
        "parentRunId?": _identifier,
        "input?": _RUN_INPUT,
        "protocolVersion?": _one_of("1.0"),
    },
    "RUN_FINISHED": {
        **_RUN,
        "result?": _present_json,
        "outcome?": _RUN_OUTCOME,
        "usage?": _USAGE,
    },
    "RUN_ERROR": {"message": random_text, "code?": random_text, "usage?": _USAGE},
    "STEP_STARTED": _STEP,
    "STEP_FINISHED": _STEP,
    "REASONING_START": _IN_MESSAGE,
    "REASONING_MESSAGE_START": {**_IN_MESSAGE, "role": _one_of("reasoning")},
    "REASONING_MESSAGE_CONTENT": {**_IN_MESSAGE, "delta": random_text},
    "REASONING_MESSAGE_END": _IN_MESSAGE,
    "REASONING_MESSAGE_CHUNK": {"messageId?": _identifier, "delta?": random_text, **_TAG},
    "REASONING_END": _IN_MESSAGE,
    "REASONING_ENCRYPTED_VALUE": {
        "subtype": _one_of("tool-call", "message"),
        "entityId": _identifier,
        "encryptedValue": random_text,
        **_TAG,
    },
    "SUBAGENT_STARTED": {
        "subagentRunId": _identifier,
        "name": random_text,
        "description?": random_text,
        "parentSubagentRunId?": _identifier,
        "parentToolCallId?": _identifier,
        "parentMessageId?": _identifier,
    },
    "SUBAGENT_FINISHED": {
        "subagentRunId": _identifier,
        "result?": _present_json,
        "outcome?": _SUBAGENT_OUTCOME,
    },
    "SUBAGENT_ERROR": {"subagentRunId": _identifier, "message": random_text, "code?": random_text},
}
_BASE: Shape = {"timestamp?": _timestamp, "rawEvent?": _present_json, **_METADATA}

EVENT_TYPES = tuple(_SHAPES)


def random_event(rng: Random, event_type: str | None = None) -> dict[str, Any]:
    """A random event, of `event_type` or of any of the 31."""
    chosen = event_type or rng.choice(EVENT_TYPES)
    return {"type": chosen, **_build({**_SHAPES[chosen], **_BASE}, rng)}


def events() -> st.SearchStrategy[dict[str, Any]]:
    """The same events as a Hypothesis strategy, which shrinks."""
    return st.builds(random_event, st.randoms(use_true_random=False), st.sampled_from(EVENT_TYPES))
