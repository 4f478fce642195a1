"""The body of the POST that opens a run (protocol 1.0)."""

from __future__ import annotations

from typing import Literal

from ._struct import Absent, JsonValue, Metadata, Model
from .messages import Message

__all__ = ["Context", "ResumeEntry", "RunAgentInput", "Tool"]


class Tool(Model, kw_only=True):
    """A tool that the front end offers; `parameters` is its JSON Schema."""

    name: str
    description: str
    parameters: Absent[JsonValue] = None
    metadata: Absent[Metadata] = None


class Context(Model, kw_only=True):
    """One piece of context for the agent."""

    description: str
    value: str


class ResumeEntry(Model, kw_only=True):
    """The answer to one interrupt of the run before."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Absent[JsonValue] = None
    metadata: Absent[Metadata] = None


class RunAgentInput(Model, kw_only=True):
    """Everything an agent gets to know when a run starts."""

    thread_id: str
    run_id: str
    protocol_version: Absent[str] = None
    parent_run_id: Absent[str] = None
    state: Absent[JsonValue] = None
    messages: list[Message]
    tools: Absent[list[Tool]] = None
    context: Absent[list[Context]] = None
    forwarded_props: Absent[JsonValue] = None
    resume: Absent[list[ResumeEntry]] = None
