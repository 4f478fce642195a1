"""What each event makes of the messages (protocol page "processing", Assemble)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..events import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    Event,
    MessagesSnapshotEvent,
    ReasoningEncryptedValueEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ..messages import (
    ActivityMessage,
    AssistantMessage,
    DeveloperMessage,
    FunctionCall,
    Message,
    ReasoningMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from ._text import TextBuffer
from ._transcript import Call, Entry, Transcript
from .patch import Document, PatchError

__all__ = ["MESSAGE_HANDLERS"]

TextStart = TextMessageStartEvent | ReasoningMessageStartEvent
TextContent = TextMessageContentEvent | ReasoningMessageContentEvent
TextEnd = TextMessageEndEvent | ReasoningMessageEndEvent

_TEXT_MESSAGES: dict[str, Callable[..., Message]] = {
    "assistant": AssistantMessage,
    "developer": DeveloperMessage,
    "system": SystemMessage,
    "user": UserMessage,
}


def _unplaced(transcript: Transcript, event: Event, path: str, reason: str) -> None:
    transcript.warn("unplaced", path, f"{event.type.value} left out: {reason}")


def _text_entry(transcript: Transcript, event: TextStart | TextContent | TextEnd) -> Entry | None:
    """The message that text goes to, or a warning that there is none."""
    entry = transcript.by_id.get(event.message_id)
    if entry is None:
        _unplaced(transcript, event, "/messageId", f"there is no message {event.message_id!r}")
    elif isinstance(entry.message, ActivityMessage):
        _unplaced(transcript, event, "/messageId", f"{event.message_id!r} is an activity")
    else:
        return entry
    return None


def text_start(transcript: Transcript, event: TextStart) -> None:
    if event.message_id not in transcript.by_id:
        transcript.add(_text_message(event), ours=True).text = TextBuffer()
        return
    entry = _text_entry(transcript, event)
    if entry is not None:
        transcript.close_part(entry)
        _merge(transcript, entry, event)


def text_content(transcript: Transcript, event: TextContent) -> None:
    entry = transcript.by_id.get(event.message_id)
    if entry is None or entry.text is None:
        entry = _text_entry(transcript, event)
        if entry is not None:
            transcript.open_text(entry)
            text_content(transcript, event)
        return
    entry.text.append(event.delta)
    if not entry.dirty:
        transcript.touch(entry)
    if event.metadata is not None:
        _merge(transcript, entry, event)


def text_end(transcript: Transcript, event: TextEnd) -> None:
    entry = _text_entry(transcript, event)
    if entry is not None:
        if entry.text is not None:
            entry.text.finish(transcript.warn)
        _merge(transcript, entry, event)


def _call(transcript: Transcript, event: ToolCallArgsEvent | ToolCallEndEvent) -> Call | None:
    call = transcript.calls.get(event.tool_call_id)
    if call is None:
        _unplaced(transcript, event, "/toolCallId", f"there is no tool call {event.tool_call_id!r}")
    return call


def tool_start(transcript: Transcript, event: ToolCallStartEvent) -> None:
    id, name = event.tool_call_id, event.tool_call_name
    transcript.started[id] = None
    transcript.open_calls.add(id)
    call = transcript.calls.get(id)
    if call is None:
        value = ToolCall(id=id, function=FunctionCall(name=name, arguments=""))
        call = transcript.add_call(_call_message(transcript, event), value)
    else:
        held = call.value.function.name
        if held != name:
            transcript.warn(
                "renamed", "/toolCallName", f"tool call {id!r} was {held!r} and is now {name!r}"
            )
            transcript.touch_call(call).function.name = name
        transcript.begin_arguments(call)
    _merge(transcript, call, event)


def _call_message(transcript: Transcript, event: ToolCallStartEvent) -> Entry:
    """The assistant message for a new call: its parent, or one made for it."""
    id = event.parent_message_id
    parent = None if id is None else transcript.by_id.get(id)
    if parent is not None:
        if isinstance(parent.message, AssistantMessage):
            return parent
        role = parent.message.role
        transcript.warn("unplaced", "/parentMessageId", f"{id!r} is a message of role {role!r}")
        id = None
    if id is None:
        id = event.tool_call_id
    message = AssistantMessage(id=id, subagent_run_id=event.subagent_run_id)
    return transcript.add(message, ours=True)


def tool_args(transcript: Transcript, event: ToolCallArgsEvent) -> None:
    call = transcript.calls.get(event.tool_call_id)
    if call is None or call.append is None:
        call = _call(transcript, event)
        if call is not None:
            transcript.begin_arguments(call)
            tool_args(transcript, event)
        return
    call.append(event.delta)
    if not call.dirty:
        transcript.touch_call(call)
    if event.metadata is not None:
        _merge(transcript, call, event)


def tool_end(transcript: Transcript, event: ToolCallEndEvent) -> None:
    transcript.open_calls.discard(event.tool_call_id)
    call = _call(transcript, event)
    if call is not None:
        transcript.end_arguments(call)
        _merge(transcript, call, event)


def tool_result(transcript: Transcript, event: ToolCallResultEvent) -> None:
    transcript.answered.add(event.tool_call_id)
    transcript.add_result(
        ToolMessage(
            id=event.message_id,
            tool_call_id=event.tool_call_id,
            content=event.content,
            subagent_run_id=event.subagent_run_id,
            metadata=event.metadata,
        )
    )


def encrypted_value(transcript: Transcript, event: ReasoningEncryptedValueEvent) -> None:
    value: Any = None
    if event.subtype == "tool-call":
        call = transcript.calls.get(event.entity_id)
        if call is not None:
            value = transcript.touch_call(call)
    else:
        entry = transcript.by_id.get(event.entity_id)
        if entry is not None and not isinstance(entry.message, ActivityMessage):
            value = transcript.touch(entry)
    if value is None:
        reason = f"no {event.subtype} {event.entity_id!r} takes an encrypted value"
        _unplaced(transcript, event, "/entityId", reason)
    else:
        value.encrypted_value = event.encrypted_value
        value.encrypted_value_type = event.encrypted_value_type


def activity_snapshot(transcript: Transcript, event: ActivitySnapshotEvent) -> None:
    entry = transcript.by_id.get(event.message_id)
    keep = event.replace is False
    if entry is not None and isinstance(entry.message, ActivityMessage):
        if not keep:
            message = transcript.touch(entry)
            message.activity_type = event.activity_type
            message.content = event.content
            message.subagent_run_id = event.subagent_run_id
            entry.document = None
        _merge(transcript, entry, event)
        return
    if entry is not None and keep:
        reason = f"{event.message_id!r} is no activity, and is not to be replaced"
        _unplaced(transcript, event, "/messageId", reason)
        return
    activity = ActivityMessage(
        id=event.message_id,
        activity_type=event.activity_type,
        content=event.content,
        subagent_run_id=event.subagent_run_id,
        metadata=event.metadata,
    )
    if entry is None:
        transcript.add(activity, ours=True)
    else:
        transcript.replace(entry, activity)


def activity_delta(transcript: Transcript, event: ActivityDeltaEvent) -> None:
    entry = transcript.by_id.get(event.message_id)
    if entry is None or not isinstance(entry.message, ActivityMessage):
        _unplaced(transcript, event, "/messageId", f"there is no activity {event.message_id!r}")
        return
    _merge(transcript, entry, event)
    if entry.document is None:
        entry.document = Document(entry.message.content, object_only=True)
    try:
        entry.document.patch(event.patch)
    except PatchError as error:
        transcript.warn("patch", f"/patch/{error.index}", f"the activity stays as it is: {error}")
    else:
        transcript.touch(entry).activity_type = event.activity_type


def messages_snapshot(transcript: Transcript, event: MessagesSnapshotEvent) -> None:
    transcript.reconcile(event.messages)


def _merge(transcript: Transcript, target: Entry | Call, event: Event) -> None:
    """An event's metadata goes into what it builds, key by key, and never deeper."""
    if event.metadata is None:
        return
    if isinstance(target, Call):
        value: Any = transcript.touch_call(target)
    else:
        value = transcript.touch(target)
    if target.owns_metadata:
        value.metadata.update(event.metadata)
    else:
        value.metadata = {**(value.metadata or {}), **event.metadata}
        target.owns_metadata = True


def _text_message(event: TextStart) -> Message:
    if isinstance(event, ReasoningMessageStartEvent):
        return ReasoningMessage(
            id=event.message_id,
            content="",
            subagent_run_id=event.subagent_run_id,
            metadata=event.metadata,
        )
    cls = _TEXT_MESSAGES.get(event.role or "assistant", AssistantMessage)
    return cls(
        id=event.message_id,
        content="",
        name=event.name,
        subagent_run_id=event.subagent_run_id,
        metadata=event.metadata,
    )


MESSAGE_HANDLERS: dict[type, Callable[[Transcript, Any], None]] = {
    TextMessageStartEvent: text_start,
    TextMessageContentEvent: text_content,
    TextMessageEndEvent: text_end,
    ReasoningMessageStartEvent: text_start,
    ReasoningMessageContentEvent: text_content,
    ReasoningMessageEndEvent: text_end,
    ReasoningEncryptedValueEvent: encrypted_value,
    ToolCallStartEvent: tool_start,
    ToolCallArgsEvent: tool_args,
    ToolCallEndEvent: tool_end,
    ToolCallResultEvent: tool_result,
    ActivitySnapshotEvent: activity_snapshot,
    ActivityDeltaEvent: activity_delta,
    MessagesSnapshotEvent: messages_snapshot,
}
"""The events that build messages, and what each does to them; none raises, what has no place is
left out with a warning."""
