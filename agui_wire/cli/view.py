"""A run on a terminal, as a person wants to read it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.filesize import decimal
from rich.live import Live
from rich.text import Text

from ..events import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    CustomEvent,
    Event,
    MessagesSnapshotEvent,
    RawEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ..inspection import printable
from ..pipeline.assemble import MessageAssembler
from ..recording import json_text

__all__ = ["RunView"]

# Tool results, states and the like are shown up to so many characters.
_MAX_SHOWN = 600


class _Growing:
    """A message or a tool call that is not complete."""

    def __init__(self, label: str, style: str) -> None:
        self.label = label
        self.style = style
        self.parts: list[str] = []

    def text(self) -> Text:
        return _line(self.label, "".join(self.parts), self.style)


class RunView:
    """Prints what is complete, and shows below it what grows, with the progress of the run.

    Where `console` is no terminal, only what is complete is printed.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(self, console=console, transient=True, refresh_per_second=8)
        self._growing: dict[tuple[str, str], _Growing] = {}
        self._started = time.monotonic()
        self._events = 0
        self._bytes = 0

    def __enter__(self) -> RunView:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()
        self._end_all()
        if self._bytes:
            self._console.print(self._progress())

    def received(self, size: int, events: Iterable[Event]) -> None:
        """Take in some bytes and the events they gave."""
        self._bytes += size
        for event in events:
            self._events += 1
            show = _VIEWS.get(type(event))
            if show is not None:
                show(self, event)

    def finished(self, assembler: MessageAssembler) -> None:
        """Print what the run came to."""
        if assembler.state not in ({}, None):
            self._print("state", _json(assembler.state), "magenta")
        for tool_call_id in assembler.pending_tool_call_ids:
            self._print("pending", f"tool call {tool_call_id}", "yellow")
        for interrupt in assembler.interrupts:
            text = f"{interrupt.reason}: {interrupt.message or interrupt.id}"
            self._print("interrupt", text, "yellow")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        growing = list(self._growing.values())
        rows = max(2, (options.size.height - 4) // max(1, len(growing)))
        for item in growing:
            yield from item.text().wrap(console, options.max_width)[-rows:]
        yield self._progress()

    def _progress(self) -> Text:
        seconds = time.monotonic() - self._started
        rate = self._bytes / seconds if seconds else 0
        text = (
            f"{self._events:,} events, {decimal(self._bytes)}, {seconds:.1f} s, "
            f"{decimal(int(rate))}/s"
        )
        return Text(text, style="dim")

    def _print(self, label: str, text: str, style: str) -> None:
        shown = text
        if len(text) > _MAX_SHOWN:
            shown = f"{text[:_MAX_SHOWN]}... ({len(text):,} characters)"
        self._console.print(_line(label, shown, style))

    def _start(self, kind: str, item_id: str, label: str, style: str) -> None:
        self._growing[kind, item_id] = _Growing(label, style)

    def _grow(self, kind: str, item_id: str, delta: str) -> None:
        self._growing[kind, item_id].parts.append(delta)

    def _end(self, kind: str, item_id: str) -> None:
        self._console.print(self._growing.pop((kind, item_id)).text())

    def _end_all(self) -> None:
        for key in list(self._growing):
            self._end(*key)


def _view_error(view: RunView, event: Any) -> None:
    view._end_all()
    view._print("error", f"{event.message} {event.code or ''}".rstrip(), "red")


def _line(label: str, text: str, style: str) -> Text:
    text_style = "dim" if style == "dim" else ""
    return Text.assemble((printable(label), f"bold {style}"), ("  " + printable(text), text_style))


def _json(value: Any) -> str:
    return json_text(value).decode()


def _view_state_delta(view: RunView, event: Any) -> None:
    for operation in event.delta:
        view._print("state", f"{operation.get('op')} {operation.get('path')}", "magenta")


def _view_finish(view: RunView, event: Any) -> None:
    outcome = "success" if event.outcome is None else event.outcome.type
    view._print("finished", outcome, "green")


def _note(label: str, style: str, text: Callable[[Any], str]) -> Callable[[RunView, Any], None]:
    return lambda view, event: view._print(label, text(event), style)


def _content(event: ToolCallResultEvent) -> str:
    return event.content if isinstance(event.content, str) else f"{len(event.content)} parts"


_VIEWS: dict[type, Callable[[RunView, Any], None]] = {
    RunStartedEvent: _note("run", "green", lambda e: f"{e.run_id} of thread {e.thread_id}"),
    RunFinishedEvent: _view_finish,
    RunErrorEvent: _view_error,
    TextMessageStartEvent: lambda view, e: view._start(
        "text", e.message_id, e.name or e.role or "assistant", "green"
    ),
    TextMessageContentEvent: lambda view, e: view._grow("text", e.message_id, e.delta),
    TextMessageEndEvent: lambda view, e: view._end("text", e.message_id),
    ReasoningMessageStartEvent: lambda view, e: view._start(
        "reasoning", e.message_id, "reasoning", "dim"
    ),
    ReasoningMessageContentEvent: lambda view, e: view._grow("reasoning", e.message_id, e.delta),
    ReasoningMessageEndEvent: lambda view, e: view._end("reasoning", e.message_id),
    ToolCallStartEvent: lambda view, e: view._start(
        "call", e.tool_call_id, f"call {e.tool_call_name}", "cyan"
    ),
    ToolCallArgsEvent: lambda view, e: view._grow("call", e.tool_call_id, e.delta),
    ToolCallEndEvent: lambda view, e: view._end("call", e.tool_call_id),
    ToolCallResultEvent: _note("result", "cyan", _content),
    StateSnapshotEvent: _note("state", "magenta", lambda e: _json(e.snapshot)),
    StateDeltaEvent: _view_state_delta,
    MessagesSnapshotEvent: _note("messages", "blue", lambda e: f"{len(e.messages)} in a snapshot"),
    ActivitySnapshotEvent: _note(
        "activity", "blue", lambda e: f"{e.activity_type} {_json(e.content)}"
    ),
    ActivityDeltaEvent: _note("activity", "blue", lambda e: f"{e.activity_type} changed"),
    StepStartedEvent: _note("step", "blue", lambda e: f"{e.step_name} started"),
    StepFinishedEvent: _note("step", "blue", lambda e: f"{e.step_name} finished"),
    SubagentStartedEvent: _note("subagent", "blue", lambda e: f"{e.name} started"),
    SubagentFinishedEvent: _note("subagent", "blue", lambda e: f"{e.subagent_run_id} finished"),
    SubagentErrorEvent: _note("subagent", "red", lambda e: f"{e.subagent_run_id}: {e.message}"),
    CustomEvent: _note("custom", "blue", lambda e: f"{e.name} {_json(e.value)}"),
    RawEvent: _note("raw", "dim", lambda e: _json(e.event)),
}
