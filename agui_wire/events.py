"""The 31 events of protocol 1.0, one Struct each."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, ClassVar, Literal, Union, get_args

import msgspec

from ._struct import Absent, JsonValue, Metadata, Model, SafeInt
from .messages import ContentPart, Interrupt, Message, TokenUsage
from .run_input import RunAgentInput

__all__ = [
    "ActivityDeltaEvent",
    "ActivitySnapshotEvent",
    "BaseEvent",
    "CustomEvent",
    "Event",
    "EventType",
    "MessagesSnapshotEvent",
    "PatchOperation",
    "RawEvent",
    "ReasoningEncryptedValueEvent",
    "ReasoningEndEvent",
    "ReasoningMessageChunkEvent",
    "ReasoningMessageContentEvent",
    "ReasoningMessageEndEvent",
    "ReasoningMessageStartEvent",
    "ReasoningStartEvent",
    "RunErrorEvent",
    "RunFinishedCancelledOutcome",
    "RunFinishedEvent",
    "RunFinishedInterruptOutcome",
    "RunFinishedOutcome",
    "RunFinishedSuccessOutcome",
    "RunStartedEvent",
    "StateDeltaEvent",
    "StateSnapshotEvent",
    "StepFinishedEvent",
    "StepStartedEvent",
    "SubagentErrorEvent",
    "SubagentFinishedEvent",
    "SubagentFinishedOutcome",
    "SubagentFinishedSuccessOutcome",
    "SubagentFinishedSuspendedOutcome",
    "SubagentStartedEvent",
    "TextMessageChunkEvent",
    "TextMessageContentEvent",
    "TextMessageEndEvent",
    "TextMessageRole",
    "TextMessageStartEvent",
    "ToolCallArgsEvent",
    "ToolCallChunkEvent",
    "ToolCallEndEvent",
    "ToolCallResultEvent",
    "ToolCallStartEvent",
]


class EventType(str, Enum):
    """The `type` of each event."""

    TEXT_MESSAGE_START = "TEXT_MESSAGE_START"
    TEXT_MESSAGE_CONTENT = "TEXT_MESSAGE_CONTENT"
    TEXT_MESSAGE_END = "TEXT_MESSAGE_END"
    TEXT_MESSAGE_CHUNK = "TEXT_MESSAGE_CHUNK"
    TOOL_CALL_START = "TOOL_CALL_START"
    TOOL_CALL_ARGS = "TOOL_CALL_ARGS"
    TOOL_CALL_END = "TOOL_CALL_END"
    TOOL_CALL_CHUNK = "TOOL_CALL_CHUNK"
    TOOL_CALL_RESULT = "TOOL_CALL_RESULT"
    STATE_SNAPSHOT = "STATE_SNAPSHOT"
    STATE_DELTA = "STATE_DELTA"
    MESSAGES_SNAPSHOT = "MESSAGES_SNAPSHOT"
    ACTIVITY_SNAPSHOT = "ACTIVITY_SNAPSHOT"
    ACTIVITY_DELTA = "ACTIVITY_DELTA"
    RAW = "RAW"
    CUSTOM = "CUSTOM"
    RUN_STARTED = "RUN_STARTED"
    RUN_FINISHED = "RUN_FINISHED"
    RUN_ERROR = "RUN_ERROR"
    STEP_STARTED = "STEP_STARTED"
    STEP_FINISHED = "STEP_FINISHED"
    REASONING_START = "REASONING_START"
    REASONING_MESSAGE_START = "REASONING_MESSAGE_START"
    REASONING_MESSAGE_CONTENT = "REASONING_MESSAGE_CONTENT"
    REASONING_MESSAGE_END = "REASONING_MESSAGE_END"
    REASONING_MESSAGE_CHUNK = "REASONING_MESSAGE_CHUNK"
    REASONING_END = "REASONING_END"
    REASONING_ENCRYPTED_VALUE = "REASONING_ENCRYPTED_VALUE"
    SUBAGENT_STARTED = "SUBAGENT_STARTED"
    SUBAGENT_FINISHED = "SUBAGENT_FINISHED"
    SUBAGENT_ERROR = "SUBAGENT_ERROR"


TextMessageRole = Literal["developer", "system", "assistant", "user"]

PatchOperation = dict[str, Any]
"""One JSON Patch operation, a plain dict: RFC 6902 lets it carry members of its own."""


class RunFinishedSuccessOutcome(Model, kw_only=True, tag_field="type", tag="success"):
    """The run is done; calls that the front end still has to answer are listed."""

    type: ClassVar[Literal["success"]] = "success"
    pending_tool_call_ids: Absent[Annotated[list[str], msgspec.Meta(min_length=1)]] = None


class RunFinishedInterruptOutcome(Model, kw_only=True, tag_field="type", tag="interrupt"):
    """The run waits for answers to its interrupts."""

    type: ClassVar[Literal["interrupt"]] = "interrupt"
    interrupts: Annotated[list[Interrupt], msgspec.Meta(min_length=1)]


class RunFinishedCancelledOutcome(Model, kw_only=True, tag_field="type", tag="cancelled"):
    """The run was cancelled."""

    type: ClassVar[Literal["cancelled"]] = "cancelled"


RunFinishedOutcome = Union[
    RunFinishedSuccessOutcome, RunFinishedInterruptOutcome, RunFinishedCancelledOutcome
]


class SubagentFinishedSuccessOutcome(Model, kw_only=True, tag_field="type", tag="success"):
    """The subagent is done."""

    type: ClassVar[Literal["success"]] = "success"


class SubagentFinishedSuspendedOutcome(Model, kw_only=True, tag_field="type", tag="suspended"):
    """The subagent waits for the interrupts that are named."""

    type: ClassVar[Literal["suspended"]] = "suspended"
    interrupt_ids: Absent[Annotated[list[str], msgspec.Meta(min_length=1)]] = None


SubagentFinishedOutcome = Union[SubagentFinishedSuccessOutcome, SubagentFinishedSuspendedOutcome]


def _reasoning() -> Literal["reasoning"]:
    # A plain default would be omitted on the wire, where the role is required.
    return "reasoning"


class BaseEvent(Model, kw_only=True, tag_field="type"):
    """What every event may carry. `timestamp` is in milliseconds since the epoch."""

    type: ClassVar[EventType]
    timestamp: Absent[SafeInt] = None
    raw_event: Absent[JsonValue] = None
    metadata: Absent[Metadata] = None


class TextMessageStartEvent(BaseEvent, kw_only=True, tag="TEXT_MESSAGE_START"):
    """A text message begins."""

    type: ClassVar[EventType] = EventType.TEXT_MESSAGE_START
    subagent_run_id: Absent[str] = None
    message_id: str
    role: Absent[TextMessageRole] = None
    name: Absent[str] = None


class TextMessageContentEvent(BaseEvent, kw_only=True, tag="TEXT_MESSAGE_CONTENT"):
    """More text of an open message."""

    type: ClassVar[EventType] = EventType.TEXT_MESSAGE_CONTENT
    subagent_run_id: Absent[str] = None
    message_id: str
    delta: str


class TextMessageEndEvent(BaseEvent, kw_only=True, tag="TEXT_MESSAGE_END"):
    """A text message is complete."""

    type: ClassVar[EventType] = EventType.TEXT_MESSAGE_END
    subagent_run_id: Absent[str] = None
    message_id: str


class TextMessageChunkEvent(BaseEvent, kw_only=True, tag="TEXT_MESSAGE_CHUNK"):
    """Start, content and end of a text message in one short form."""

    type: ClassVar[EventType] = EventType.TEXT_MESSAGE_CHUNK
    subagent_run_id: Absent[str] = None
    message_id: Absent[str] = None
    role: Absent[TextMessageRole] = None
    delta: Absent[str] = None
    name: Absent[str] = None


class ToolCallStartEvent(BaseEvent, kw_only=True, tag="TOOL_CALL_START"):
    """A tool call begins."""

    type: ClassVar[EventType] = EventType.TOOL_CALL_START
    subagent_run_id: Absent[str] = None
    tool_call_id: str
    tool_call_name: str
    parent_message_id: Absent[str] = None


class ToolCallArgsEvent(BaseEvent, kw_only=True, tag="TOOL_CALL_ARGS"):
    """More of an open call's arguments, as JSON text."""

    type: ClassVar[EventType] = EventType.TOOL_CALL_ARGS
    subagent_run_id: Absent[str] = None
    tool_call_id: str
    delta: str


class ToolCallEndEvent(BaseEvent, kw_only=True, tag="TOOL_CALL_END"):
    """A tool call's arguments are complete."""

    type: ClassVar[EventType] = EventType.TOOL_CALL_END
    subagent_run_id: Absent[str] = None
    tool_call_id: str


class ToolCallChunkEvent(BaseEvent, kw_only=True, tag="TOOL_CALL_CHUNK"):
    """Start, arguments and end of a tool call in one short form."""

    type: ClassVar[EventType] = EventType.TOOL_CALL_CHUNK
    subagent_run_id: Absent[str] = None
    tool_call_id: Absent[str] = None
    tool_call_name: Absent[str] = None
    parent_message_id: Absent[str] = None
    delta: Absent[str] = None


class ToolCallResultEvent(BaseEvent, kw_only=True, tag="TOOL_CALL_RESULT"):
    """The result of a tool call: text, or a list of parts."""

    type: ClassVar[EventType] = EventType.TOOL_CALL_RESULT
    subagent_run_id: Absent[str] = None
    message_id: str
    tool_call_id: str
    content: Union[str, list[ContentPart]]
    role: Absent[Literal["tool"]] = None


class StateSnapshotEvent(BaseEvent, kw_only=True, tag="STATE_SNAPSHOT"):
    """The whole shared state, any JSON value."""

    type: ClassVar[EventType] = EventType.STATE_SNAPSHOT
    subagent_run_id: Absent[str] = None
    snapshot: Any


class StateDeltaEvent(BaseEvent, kw_only=True, tag="STATE_DELTA"):
    """Changes to the shared state, as JSON Patch operations (RFC 6902)."""

    type: ClassVar[EventType] = EventType.STATE_DELTA
    subagent_run_id: Absent[str] = None
    delta: list[PatchOperation]


class MessagesSnapshotEvent(BaseEvent, kw_only=True, tag="MESSAGES_SNAPSHOT"):
    """The whole conversation."""

    type: ClassVar[EventType] = EventType.MESSAGES_SNAPSHOT
    messages: list[Message]


class ActivitySnapshotEvent(BaseEvent, kw_only=True, tag="ACTIVITY_SNAPSHOT"):
    """The whole content of an activity message."""

    type: ClassVar[EventType] = EventType.ACTIVITY_SNAPSHOT
    subagent_run_id: Absent[str] = None
    message_id: str
    activity_type: str
    content: dict[str, Any]
    replace: Absent[bool] = None


class ActivityDeltaEvent(BaseEvent, kw_only=True, tag="ACTIVITY_DELTA"):
    """Changes to an activity's content, as JSON Patch operations (RFC 6902)."""

    type: ClassVar[EventType] = EventType.ACTIVITY_DELTA
    subagent_run_id: Absent[str] = None
    message_id: str
    activity_type: str
    patch: list[PatchOperation]


class RawEvent(BaseEvent, kw_only=True, tag="RAW"):
    """An event of another system, passed through."""

    type: ClassVar[EventType] = EventType.RAW
    subagent_run_id: Absent[str] = None
    event: Any
    source: Absent[str] = None


class CustomEvent(BaseEvent, kw_only=True, tag="CUSTOM"):
    """An event of the application's own."""

    type: ClassVar[EventType] = EventType.CUSTOM
    subagent_run_id: Absent[str] = None
    name: str
    value: Any


class RunStartedEvent(BaseEvent, kw_only=True, tag="RUN_STARTED"):
    """A run begins."""

    type: ClassVar[EventType] = EventType.RUN_STARTED
    thread_id: str
    run_id: str
    protocol_version: Absent[str] = None
    parent_run_id: Absent[str] = None
    input: Absent[RunAgentInput] = None


class RunFinishedEvent(BaseEvent, kw_only=True, tag="RUN_FINISHED"):
    """A run ended well, was interrupted or cancelled."""

    type: ClassVar[EventType] = EventType.RUN_FINISHED
    thread_id: str
    run_id: str
    result: Absent[JsonValue] = None
    outcome: Absent[RunFinishedOutcome] = None
    usage: Absent[Annotated[list[TokenUsage], msgspec.Meta(min_length=1)]] = None


class RunErrorEvent(BaseEvent, kw_only=True, tag="RUN_ERROR"):
    """A run failed."""

    type: ClassVar[EventType] = EventType.RUN_ERROR
    message: str
    code: Absent[str] = None
    usage: Absent[Annotated[list[TokenUsage], msgspec.Meta(min_length=1)]] = None


class StepStartedEvent(BaseEvent, kw_only=True, tag="STEP_STARTED"):
    """A step begins."""

    type: ClassVar[EventType] = EventType.STEP_STARTED
    subagent_run_id: Absent[str] = None
    step_name: str


class StepFinishedEvent(BaseEvent, kw_only=True, tag="STEP_FINISHED"):
    """A step ended."""

    type: ClassVar[EventType] = EventType.STEP_FINISHED
    subagent_run_id: Absent[str] = None
    step_name: str


class ReasoningStartEvent(BaseEvent, kw_only=True, tag="REASONING_START"):
    """A span of reasoning begins."""

    type: ClassVar[EventType] = EventType.REASONING_START
    subagent_run_id: Absent[str] = None
    message_id: str


class ReasoningMessageStartEvent(BaseEvent, kw_only=True, tag="REASONING_MESSAGE_START"):
    """A reasoning message begins."""

    type: ClassVar[EventType] = EventType.REASONING_MESSAGE_START
    subagent_run_id: Absent[str] = None
    message_id: str
    role: Literal["reasoning"] = msgspec.field(default_factory=_reasoning)


class ReasoningMessageContentEvent(BaseEvent, kw_only=True, tag="REASONING_MESSAGE_CONTENT"):
    """More text of an open reasoning message."""

    type: ClassVar[EventType] = EventType.REASONING_MESSAGE_CONTENT
    subagent_run_id: Absent[str] = None
    message_id: str
    delta: str


class ReasoningMessageEndEvent(BaseEvent, kw_only=True, tag="REASONING_MESSAGE_END"):
    """A reasoning message is complete."""

    type: ClassVar[EventType] = EventType.REASONING_MESSAGE_END
    subagent_run_id: Absent[str] = None
    message_id: str


class ReasoningMessageChunkEvent(BaseEvent, kw_only=True, tag="REASONING_MESSAGE_CHUNK"):
    """Start, content and end of a reasoning message in one short form."""

    type: ClassVar[EventType] = EventType.REASONING_MESSAGE_CHUNK
    subagent_run_id: Absent[str] = None
    message_id: Absent[str] = None
    delta: Absent[str] = None


class ReasoningEndEvent(BaseEvent, kw_only=True, tag="REASONING_END"):
    """A span of reasoning ended."""

    type: ClassVar[EventType] = EventType.REASONING_END
    subagent_run_id: Absent[str] = None
    message_id: str


class ReasoningEncryptedValueEvent(BaseEvent, kw_only=True, tag="REASONING_ENCRYPTED_VALUE"):
    """An encrypted value for the message or tool call `entity_id`."""

    type: ClassVar[EventType] = EventType.REASONING_ENCRYPTED_VALUE
    subagent_run_id: Absent[str] = None
    subtype: Literal["tool-call", "message"]
    entity_id: str
    encrypted_value: str
    encrypted_value_type: Absent[str] = None


class SubagentStartedEvent(BaseEvent, kw_only=True, tag="SUBAGENT_STARTED"):
    """A subagent's run begins inside the parent's."""

    type: ClassVar[EventType] = EventType.SUBAGENT_STARTED
    subagent_run_id: str
    name: str
    description: Absent[str] = None
    parent_subagent_run_id: Absent[str] = None
    parent_tool_call_id: Absent[str] = None
    parent_message_id: Absent[str] = None


class SubagentFinishedEvent(BaseEvent, kw_only=True, tag="SUBAGENT_FINISHED"):
    """A subagent's run ended well or was suspended."""

    type: ClassVar[EventType] = EventType.SUBAGENT_FINISHED
    subagent_run_id: str
    result: Absent[JsonValue] = None
    outcome: Absent[SubagentFinishedOutcome] = None


class SubagentErrorEvent(BaseEvent, kw_only=True, tag="SUBAGENT_ERROR"):
    """A subagent's run failed."""

    type: ClassVar[EventType] = EventType.SUBAGENT_ERROR
    subagent_run_id: str
    message: str
    code: Absent[str] = None


Event = Union[
    TextMessageStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageChunkEvent,
    ToolCallStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallChunkEvent,
    ToolCallResultEvent,
    StateSnapshotEvent,
    StateDeltaEvent,
    MessagesSnapshotEvent,
    ActivitySnapshotEvent,
    ActivityDeltaEvent,
    RawEvent,
    CustomEvent,
    RunStartedEvent,
    RunFinishedEvent,
    RunErrorEvent,
    StepStartedEvent,
    StepFinishedEvent,
    ReasoningStartEvent,
    ReasoningMessageStartEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageChunkEvent,
    ReasoningEndEvent,
    ReasoningEncryptedValueEvent,
    SubagentStartedEvent,
    SubagentFinishedEvent,
    SubagentErrorEvent,
]

# msgspec keeps what it knows of a class, but not of a union: converting to the class is faster.
EVENT_CLASSES: dict[str, type[Event]] = {cls.type.value: cls for cls in get_args(Event)}
