"""The error tree: who is whose child, what each carries and says, and pickling."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import agui_wire
from agui_wire import (
    AguiWireError,
    DepthExceeded,
    EncodeError,
    FrameTooLarge,
    MalformedEvent,
    MalformedFrame,
    ProtocolViolation,
    RunInputError,
    StreamError,
    TruncatedStream,
    UnexpectedResponse,
    errors,
)

TREE: dict[type[AguiWireError], type[Exception]] = {
    AguiWireError: Exception,
    EncodeError: AguiWireError,
    StreamError: AguiWireError,
    MalformedEvent: StreamError,
    MalformedFrame: MalformedEvent,
    DepthExceeded: MalformedEvent,
    FrameTooLarge: StreamError,
    ProtocolViolation: StreamError,
    TruncatedStream: StreamError,
    RunInputError: AguiWireError,
    UnexpectedResponse: AguiWireError,
}


@pytest.mark.parametrize("cls", TREE)
def test_the_tree(cls: type[AguiWireError]) -> None:
    assert cls.__bases__ == (TREE[cls],)
    assert getattr(agui_wire, cls.__name__) is cls
    assert not issubclass(cls, (ValueError, KeyError, RecursionError))


def test_the_tree_is_complete_and_drawn() -> None:
    assert sorted(errors.__all__) == sorted(cls.__name__ for cls in TREE)
    assert errors.__doc__ is not None
    assert all(cls.__name__ in errors.__doc__ for cls in TREE)


# An error, its attributes, its words.
ERRORS: list[tuple[AguiWireError, dict[str, Any], str]] = [
    (EncodeError("no form"), {"reason": "no form", "path": ""}, "no form"),
    (EncodeError("no form", "/a"), {"path": "/a"}, "no form (at /a)"),
    (StreamError("bad"), {"reason": "bad", "event_index": None, "offset": None}, "bad"),
    (
        StreamError("bad", event_index=0, offset=0),
        {"event_index": 0, "offset": 0},
        "bad (event 0, byte 0)",
    ),
    (MalformedEvent("bad"), {"path": ""}, "bad"),
    (
        MalformedEvent("bad", "/a/0", event_index=2, offset=7),
        {"reason": "bad", "path": "/a/0", "event_index": 2, "offset": 7},
        "bad (at /a/0, event 2, byte 7)",
    ),
    (MalformedFrame("bad", event_index=2), {"path": "", "offset": None}, "bad (event 2)"),
    (DepthExceeded("deep", offset=9), {"event_index": None, "offset": 9}, "deep (byte 9)"),
    (
        FrameTooLarge(20, 10, event_index=1, offset=5),
        {"size": 20, "limit": 10, "event_index": 1, "offset": 5},
        "a frame of 20 bytes is over the limit of 10 bytes (event 1, byte 5)",
    ),
    (
        FrameTooLarge(20, 10, "; it is text"),
        {"size": 20, "limit": 10},
        "a frame of 20 bytes is over the limit of 10 bytes; it is text",
    ),
    (
        ProtocolViolation("not open", "TEXT_MESSAGE_END", "m", event_index=3),
        {"event_type": "TEXT_MESSAGE_END", "id": "m", "event_index": 3, "reason": "not open"},
        "not open (event 3)",
    ),
    (ProtocolViolation("first"), {"event_type": "", "id": None}, "first"),
    (TruncatedStream("cut", event_index=4, offset=8), {"offset": 8}, "cut (event 4, byte 8)"),
    (RunInputError("missing"), {"http_status": 400, "path": ""}, "missing"),
    (RunInputError("missing", "/runId"), {"reason": "missing"}, "missing (at /runId)"),
    (
        UnexpectedResponse(502, "text/html", "<html>"),
        {"status": 502, "content_type": "text/html", "body": "<html>"},
        "HTTP 502 with content type 'text/html': <html>",
    ),
    (UnexpectedResponse(200, ""), {"body": ""}, "HTTP 200 with content type ''"),
]

each_error = pytest.mark.parametrize(("error", "attributes", "words"), ERRORS)


@each_error
def test_attributes_and_words(error: AguiWireError, attributes: dict[str, Any], words: str) -> None:
    assert {name: getattr(error, name) for name in attributes} == attributes
    assert str(error) == words
    assert type(error).__name__ in repr(error)


@each_error
@pytest.mark.parametrize(
    "again", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy]
)
def test_pickling_and_copying(
    error: AguiWireError, attributes: dict[str, Any], words: str, again: Any
) -> None:
    same = again(error)
    assert type(same) is type(error)
    assert vars(same) == vars(error)
    assert str(same) == words
    assert same.args == error.args


def test_a_place_is_filled_in_once() -> None:
    error = MalformedEvent("bad", "/a")
    assert error.located(3, 40) is error
    assert (error.event_index, error.offset) == (3, 40)
    error.located(9, 99)
    assert (error.event_index, error.offset) == (3, 40)
    assert str(error) == "bad (at /a, event 3, byte 40)"


def test_a_run_input_error_is_an_http_answer() -> None:
    assert RunInputError("Object missing required field `runId`", "/runId").to_dict() == {
        "error": "invalid run input",
        "message": "Object missing required field `runId`",
        "path": "/runId",
    }
