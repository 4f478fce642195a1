"""Messages, content parts, tool calls and the smaller shapes around them (protocol 1.0)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Union

import msgspec

from ._struct import Absent, JsonValue, Metadata, Model, TokenCount

__all__ = [
    "ActivityMessage",
    "AssistantMessage",
    "AudioPart",
    "ContentPart",
    "DataSource",
    "DeveloperMessage",
    "DocumentPart",
    "FileSource",
    "FunctionCall",
    "ImagePart",
    "Interrupt",
    "Message",
    "PartSource",
    "ReasoningMessage",
    "SystemMessage",
    "TextPart",
    "TokenUsage",
    "ToolCall",
    "ToolMessage",
    "UrlSource",
    "UserMessage",
    "VideoPart",
]


class DataSource(Model, kw_only=True, tag_field="type", tag="data"):
    """Media inside the message: `value` is base64 text."""

    type: ClassVar[Literal["data"]] = "data"
    value: str
    mime_type: str


class UrlSource(Model, kw_only=True, tag_field="type", tag="url"):
    """Media behind a URL."""

    type: ClassVar[Literal["url"]] = "url"
    value: str
    mime_type: Absent[str] = None


class FileSource(Model, kw_only=True, tag_field="type", tag="file"):
    """Media that a provider holds under the id `value`."""

    type: ClassVar[Literal["file"]] = "file"
    value: str
    provider: Absent[str] = None
    mime_type: Absent[str] = None


PartSource = Union[DataSource, UrlSource, FileSource]


class TextPart(Model, kw_only=True, tag_field="type", tag="text"):
    """A piece of text in a multimodal content list."""

    type: ClassVar[Literal["text"]] = "text"
    id: Absent[str] = None
    text: str
    metadata: Absent[JsonValue] = None


class ImagePart(Model, kw_only=True, tag_field="type", tag="image"):
    """An image."""

    type: ClassVar[Literal["image"]] = "image"
    id: Absent[str] = None
    source: PartSource
    metadata: Absent[JsonValue] = None


class AudioPart(Model, kw_only=True, tag_field="type", tag="audio"):
    """A sound."""

    type: ClassVar[Literal["audio"]] = "audio"
    id: Absent[str] = None
    source: PartSource
    metadata: Absent[JsonValue] = None


class VideoPart(Model, kw_only=True, tag_field="type", tag="video"):
    """A moving picture."""

    type: ClassVar[Literal["video"]] = "video"
    id: Absent[str] = None
    source: PartSource
    metadata: Absent[JsonValue] = None


class DocumentPart(Model, kw_only=True, tag_field="type", tag="document"):
    """Any other file."""

    type: ClassVar[Literal["document"]] = "document"
    id: Absent[str] = None
    source: PartSource
    metadata: Absent[JsonValue] = None


ContentPart = Union[TextPart, ImagePart, AudioPart, VideoPart, DocumentPart]


class FunctionCall(Model, kw_only=True):
    """The name of a function and its arguments as JSON text."""

    name: str
    arguments: str


class ToolCall(Model, kw_only=True, tag_field="type", tag="function"):
    """A call that an assistant message makes."""

    type: ClassVar[Literal["function"]] = "function"
    id: str
    function: FunctionCall
    encrypted_value: Absent[str] = None
    encrypted_value_type: Absent[str] = None
    metadata: Absent[Metadata] = None


class _Message(Model, kw_only=True, tag_field="role"):
    subagent_run_id: Absent[str] = None
    id: str


class _NamedMessage(_Message, kw_only=True):
    name: Absent[str] = None
    encrypted_value: Absent[str] = None
    encrypted_value_type: Absent[str] = None
    metadata: Absent[Metadata] = None


class DeveloperMessage(_NamedMessage, kw_only=True, tag="developer"):
    """Instructions from the developer."""

    role: ClassVar[Literal["developer"]] = "developer"
    content: str


class SystemMessage(_NamedMessage, kw_only=True, tag="system"):
    """Instructions from the system."""

    role: ClassVar[Literal["system"]] = "system"
    content: str


class AssistantMessage(_NamedMessage, kw_only=True, tag="assistant"):
    """What the agent says and the tools it calls."""

    role: ClassVar[Literal["assistant"]] = "assistant"
    content: Absent[str] = None
    tool_calls: Absent[Annotated[list[ToolCall], msgspec.Meta(min_length=1)]] = None


class UserMessage(_NamedMessage, kw_only=True, tag="user"):
    """What the user says: text, or a list of parts."""

    role: ClassVar[Literal["user"]] = "user"
    content: Union[str, list[ContentPart]]


class ToolMessage(_Message, kw_only=True, tag="tool"):
    """The result of a tool call."""

    role: ClassVar[Literal["tool"]] = "tool"
    content: Union[str, list[ContentPart]]
    tool_call_id: str
    error: Absent[str] = None
    encrypted_value: Absent[str] = None
    encrypted_value_type: Absent[str] = None
    metadata: Absent[Metadata] = None


class ActivityMessage(_Message, kw_only=True, tag="activity"):
    """Progress that a front end shows; never sent back in a run input."""

    role: ClassVar[Literal["activity"]] = "activity"
    activity_type: str
    content: dict[str, Any]
    metadata: Absent[Metadata] = None


class ReasoningMessage(_Message, kw_only=True, tag="reasoning"):
    """The agent's reasoning, in the open or as an encrypted value."""

    role: ClassVar[Literal["reasoning"]] = "reasoning"
    content: str
    encrypted_value: Absent[str] = None
    encrypted_value_type: Absent[str] = None
    metadata: Absent[Metadata] = None


Message = Union[
    DeveloperMessage,
    SystemMessage,
    AssistantMessage,
    UserMessage,
    ToolMessage,
    ActivityMessage,
    ReasoningMessage,
]


class Interrupt(Model, kw_only=True):
    """What a run waits for before it can be resumed."""

    subagent_run_id: Absent[str] = None
    id: str
    reason: str
    message: Absent[str] = None
    tool_call_id: Absent[str] = None
    response_schema: Absent[dict[str, Any]] = None
    expires_at: Absent[str] = None
    metadata: Absent[Metadata] = None


class TokenUsage(Model, kw_only=True):
    """Tokens spent with one provider and model."""

    provider: Absent[str] = None
    model: Absent[str] = None
    input_tokens: Absent[TokenCount] = None
    output_tokens: Absent[TokenCount] = None
    total_tokens: Absent[TokenCount] = None
    reasoning_tokens: Absent[TokenCount] = None
    cached_input_tokens: Absent[TokenCount] = None
    cache_write_input_tokens: Absent[TokenCount] = None
