"""Events and messages in short, and an assembler that watches what goes in and comes out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from agui_wire import Event, StreamWarning, from_dict, to_dict
from agui_wire._warnings import WarningLog
from agui_wire.messages import Message
from agui_wire.pipeline.assemble import MessageAssembler

Json = dict[str, Any]


def message(obj: Json) -> Message:
    built: Message = msgspec.convert(obj, Message)
    return built


def start(id: str = "m", **more: Any) -> Json:
    return {"type": "TEXT_MESSAGE_START", "messageId": id, **more}


def text(delta: str, id: str = "m", **more: Any) -> Json:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta, **more}


def end(id: str = "m", **more: Any) -> Json:
    return {"type": "TEXT_MESSAGE_END", "messageId": id, **more}


def whole(id: str, *deltas: str) -> list[Json]:
    return [start(id), *(text(delta, id) for delta in deltas), end(id)]


def tool(id: str = "c", name: str = "f", **more: Any) -> Json:
    return {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name, **more}


def args(delta: str, id: str = "c", **more: Any) -> Json:
    return {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta, **more}


def tool_end(id: str = "c", **more: Any) -> Json:
    return {"type": "TOOL_CALL_END", "toolCallId": id, **more}


def called(id: str, *deltas: str, **more: Any) -> list[Json]:
    return [tool(id, **more), *(args(delta, id) for delta in deltas), tool_end(id)]


def result(call: str, id: str, content: Any = "done", **more: Any) -> Json:
    return {
        "type": "TOOL_CALL_RESULT",
        "messageId": id,
        "toolCallId": call,
        "content": content,
        **more,
    }


def reasoning(step: str, id: str = "r", **more: Any) -> Json:
    return {"type": f"REASONING_MESSAGE_{step}", "messageId": id, **more}


def encrypted(id: str, subtype: str = "message", value: str = "x", **more: Any) -> Json:
    return {
        "type": "REASONING_ENCRYPTED_VALUE",
        "subtype": subtype,
        "entityId": id,
        "encryptedValue": value,
        **more,
    }


def activity(content: Json, id: str = "a", kind: str = "plan", **more: Any) -> Json:
    return {
        "type": "ACTIVITY_SNAPSHOT",
        "messageId": id,
        "activityType": kind,
        "content": content,
        **more,
    }


def activity_delta(*patch: Json, id: str = "a", kind: str = "plan", **more: Any) -> Json:
    return {
        "type": "ACTIVITY_DELTA",
        "messageId": id,
        "activityType": kind,
        "patch": list(patch),
        **more,
    }


def op(name: str, path: str, value: Any = None) -> Json:
    return {"op": name, "path": path, "value": value}


def state(snapshot: Any) -> Json:
    return {"type": "STATE_SNAPSHOT", "snapshot": snapshot}


def delta(*patch: Json) -> Json:
    return {"type": "STATE_DELTA", "delta": list(patch)}


def snapshot(*messages: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def run(id: str = "1", **more: Any) -> Json:
    return {"type": "RUN_STARTED", "threadId": "t", "runId": id, **more}


def finish(id: str = "1", **more: Any) -> Json:
    return {"type": "RUN_FINISHED", "threadId": "t", "runId": id, **more}


def run_input(*messages: Json) -> Json:
    return {"threadId": "t", "runId": "1", "messages": list(messages)}


def said(id: str, content: Any = None, role: str = "assistant", **more: Any) -> Json:
    return {"id": id, "role": role, **({} if content is None else {"content": content}), **more}


def call(id: str, arguments: str = "", name: str = "f", **more: Any) -> Json:
    function = {"name": name, "arguments": arguments}
    return {"id": id, "type": "function", "function": function, **more}


def answer(call_id: str, id: str, content: Any = "done", **more: Any) -> Json:
    return {"id": id, "role": "tool", "toolCallId": call_id, "content": content, **more}


def acting(id: str, content: Json, kind: str = "plan", **more: Any) -> Json:
    return {"id": id, "role": "activity", "activityType": kind, "content": content, **more}


def part(words: str) -> Json:
    return {"type": "text", "text": words}


IMAGE: Json = {"type": "image", "source": {"type": "url", "value": "https://example.com/i.png"}}


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def as_json(messages: Iterable[Message]) -> list[Json]:
    return [to_dict(each) for each in messages]


class Watched:
    """Values that must not change any more, each with what it looked like."""

    def __init__(self) -> None:
        self._held: list[tuple[Any, str]] = []

    def hold(self, value: Any) -> None:
        self._held.append((value, self._picture(value)))

    def check(self) -> None:
        for value, picture in self._held:
            assert self._picture(value) == picture

    def _picture(self, value: Any) -> str:
        return msgspec.json.encode(value).decode() if _encodable(value) else repr(value)


def _encodable(value: Any) -> bool:
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return False
    return True


def assemble(
    events: Iterable[Json | Event],
    messages: Iterable[Json] = (),
    initial: Any = None,
    *,
    read_each: bool = False,
) -> tuple[MessageAssembler, list[StreamWarning]]:
    """An assembler that took the events; nothing that went in or came out may change."""
    warnings: list[StreamWarning] = []
    watched = Watched()
    held = [message(each) for each in messages]
    watched.hold(held)
    log = WarningLog(warnings.append)
    assembler = (
        MessageAssembler(held, warnings=log)
        if initial is None
        else MessageAssembler(held, initial, warnings=log)
    )
    watched.hold(initial)
    for each in events:
        event = from_dict(each) if isinstance(each, dict) else each
        watched.hold(event)
        assembler.apply(event)
        if read_each:
            watched.hold(assembler.messages)
            watched.hold(assembler.state)
    watched.hold(assembler.messages)
    watched.check()
    return assembler, warnings
