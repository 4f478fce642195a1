"""Shapes that protocol 1.0 retired and that older peers still send (protocol page "processing")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import NAMESPACE_OID, uuid5

__all__ = ["RETIRED_TYPES", "RetiredShapes", "upgrade_message"]

Warn = Callable[[str, str, str], None]

# Old type: its successor, which open thing it belongs to, and what it does to that thing's id.
RETIRED_TYPES = {
    "THINKING_START": ("REASONING_START", "span", "mint"),
    "THINKING_END": ("REASONING_END", "span", "end"),
    "THINKING_TEXT_MESSAGE_START": ("REASONING_MESSAGE_START", "message", "mint"),
    "THINKING_TEXT_MESSAGE_CONTENT": ("REASONING_MESSAGE_CONTENT", "message", "use"),
    "THINKING_TEXT_MESSAGE_END": ("REASONING_MESSAGE_END", "message", "end"),
}

# By the first half of a MIME type; any other is a document.
_MEDIA_KINDS = {"image": "image", "audio": "audio", "video": "video"}


class RetiredShapes:
    """Translates the retired shapes of one stream.

    THINKING_* events carry no id; one is minted at the opener and held to the end. Minted ids
    follow from the run's id, so that the same stream always gives the same ids.
    """

    def __init__(self) -> None:
        self._run_id = ""
        self._minted = 0
        self._open: dict[str, str] = {}

    def begin_run(self, run_id: str) -> None:
        """Note the run that minted ids belong to; nothing of an earlier one stays open."""
        # JSON may hold half a surrogate pair, which has no bytes to hash.
        self._run_id = run_id.encode("utf-8", "replace").decode()
        self._open.clear()

    def translate(self, obj: dict[str, Any], warn: Warn) -> dict[str, Any]:
        """`obj` in 1.0's shape: itself where nothing in it is retired. `obj` is not changed."""
        kind = obj.get("type")
        if kind == "RUN_STARTED":
            self.begin_run(str(obj.get("runId")))
            run_input = obj.get("input")
            if type(run_input) is dict and type(run_input.get("messages")) is list:
                messages = _upgrade_messages(run_input["messages"], "/input/messages", warn)
                return {**obj, "input": {**run_input, "messages": messages}}
        elif kind == "MESSAGES_SNAPSHOT":
            if type(obj.get("messages")) is list:
                return {**obj, "messages": _upgrade_messages(obj["messages"], "/messages", warn)}
        elif type(kind) is str and kind in RETIRED_TYPES:
            return self._translate_thinking(obj, kind, warn)
        return obj

    def _translate_thinking(self, obj: dict[str, Any], kind: str, warn: Warn) -> dict[str, Any]:
        successor, thing, step = RETIRED_TYPES[kind]
        title = "; its title is dropped" if "title" in obj else ""
        warn("retired", "/type", f"read {kind} as {successor}{title}")
        if step == "mint" or thing not in self._open:
            self._minted += 1
            self._open[thing] = str(uuid5(NAMESPACE_OID, f"{self._run_id}/{thing}/{self._minted}"))
        message_id = self._open.pop(thing) if step == "end" else self._open[thing]
        translated = {**obj, "type": successor, "messageId": message_id}
        translated.pop("title", None)
        if successor == "REASONING_MESSAGE_START":
            translated["role"] = "reasoning"
        return translated


def _upgrade_messages(messages: list[Any], path: str, warn: Warn) -> list[Any]:
    return [
        upgrade_message(message, f"{path}/{index}", warn) if type(message) is dict else message
        for index, message in enumerate(messages)
    ]


def upgrade_message(message: dict[str, Any], path: str, warn: Warn) -> dict[str, Any]:
    """A message with its `binary` parts and `encryptedContent` in 1.0's shape."""
    message = _upgrade_encrypted(message, path, warn)
    content = message.get("content")
    if type(content) is list and any(_is_binary(part) for part in content):
        parts = [
            _upgrade_binary(part, f"{path}/content/{index}", warn) if _is_binary(part) else part
            for index, part in enumerate(content)
        ]
        message = {**message, "content": parts}
    calls = message.get("toolCalls")
    if type(calls) is list and any(type(c) is dict and "encryptedContent" in c for c in calls):
        upgraded = [
            _upgrade_encrypted(call, f"{path}/toolCalls/{index}", warn)
            if type(call) is dict
            else call
            for index, call in enumerate(calls)
        ]
        message = {**message, "toolCalls": upgraded}
    return message


def _upgrade_encrypted(obj: dict[str, Any], path: str, warn: Warn) -> dict[str, Any]:
    if "encryptedContent" not in obj:
        return obj
    upgraded = {key: value for key, value in obj.items() if key != "encryptedContent"}
    if upgraded.get("encryptedValue") is None:
        upgraded["encryptedValue"] = obj["encryptedContent"]
    warn("retired", f"{path}/encryptedContent", "read encryptedContent as encryptedValue")
    return upgraded


def _is_binary(part: Any) -> bool:
    return type(part) is dict and part.get("type") == "binary"


def _upgrade_binary(part: dict[str, Any], path: str, warn: Warn) -> dict[str, Any]:
    """A `binary` part as the media part that its MIME type asks for.

    One that has only an id has no source in 1.0: it stays, and goes as an unknown part.
    """
    mime_type = part.get("mimeType")
    if type(mime_type) is not str:
        return part
    source: dict[str, Any]
    if type(part.get("data")) is str and part["data"]:
        source = {"type": "data", "value": part["data"], "mimeType": mime_type}
    elif type(part.get("url")) is str and part["url"]:
        source = {"type": "url", "value": part["url"], "mimeType": mime_type}
    else:
        return part
    kind = _MEDIA_KINDS.get(mime_type.partition("/")[0].lower(), "document")
    upgraded: dict[str, Any] = {"type": kind, "source": source}
    if type(part.get("filename")) is str:
        upgraded["metadata"] = {"filename": part["filename"]}
    warn("retired", path, f"read a binary part as {upgraded['type']}")
    return upgraded
