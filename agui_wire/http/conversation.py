"""A conversation: messages and state over several runs of one thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

from ..errors import EncodeError
from ..messages import (
    AssistantMessage,
    ContentPart,
    Interrupt,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from ..run_input import Context, ResumeEntry, RunAgentInput, Tool
from ._run import Run, SyncRun
from .client import AgentClient

__all__ = ["Conversation"]

_NO_STATE: Any = {}


class Conversation:
    """Keeps the messages and the state of one thread over several runs.

        chat = Conversation(AgentClient(url))
        chat.add_user_message("What is the weather?")
        async with chat.run() as run:
            async for event in run:
                ...
        for call in chat.pending_tool_calls:
            chat.add_tool_result(call.id, answer(call))

    Each run sends what there is, and what it comes to is kept, also where it breaks off. While
    a run is open, nothing can be added and no other can begin: that raises RuntimeError.
    `tools`, `context` and `forwarded_props` go with every run, and may be changed in between.
    `thread_id` is made up where it is not given; `interrupts` are those of a run before this.
    """

    def __init__(
        self,
        client: AgentClient,
        *,
        thread_id: str | None = None,
        messages: Iterable[Message] = (),
        state: Any = _NO_STATE,
        tools: Iterable[Tool] = (),
        context: Iterable[Context] = (),
        forwarded_props: Any = None,
        interrupts: Iterable[Interrupt] = (),
    ) -> None:
        self._client = client
        self._messages = list(messages)
        self._state = {} if state is _NO_STATE else state
        self._pending: list[str] = []
        self._interrupts = list(interrupts)
        self._last: Run | None = None
        self.thread_id = thread_id or str(uuid4())
        self.tools = list(tools)
        self.context = list(context)
        self.forwarded_props = forwarded_props

    @property
    def messages(self) -> list[Message]:
        """The messages so far, those of an open run included."""
        run = self._open_run()
        return list(self._messages) if run is None else run.messages

    @property
    def state(self) -> Any:
        """The shared state so far."""
        run = self._open_run()
        return self._state if run is None else run.state

    @property
    def interrupts(self) -> list[Interrupt]:
        """What the last run waits for: the next one has to answer all of it."""
        self._open_run()
        return list(self._interrupts)

    @property
    def pending_tool_calls(self) -> list[ToolCall]:
        """The calls of the last run that have no result yet."""
        calls = {call.id: call for message in self.messages for call in _calls(message)}
        return [calls[each] for each in self._pending if each in calls]

    def add_user_message(
        self, content: str | list[ContentPart], *, id: str | None = None
    ) -> UserMessage:
        """Append what the user says; `id` is made up where it is not given."""
        self._between_runs()
        message = UserMessage(id=id or str(uuid4()), content=content)
        self._messages.append(message)
        return message

    def add_tool_result(
        self,
        tool_call_id: str,
        content: str | list[ContentPart],
        *,
        error: str | None = None,
        id: str | None = None,
    ) -> ToolMessage:
        """Answer a pending tool call; the answer stands behind the message that made the call.

        Raises EncodeError where no call of that id is pending.
        """
        self._between_runs()
        if tool_call_id not in self._pending:
            raise EncodeError(f"no tool call {tool_call_id!r} is pending", "/messages")
        message = ToolMessage(
            id=id or str(uuid4()), tool_call_id=tool_call_id, content=content, error=error
        )
        self._messages.insert(_place_behind(self._messages, tool_call_id), message)
        self._pending.remove(tool_call_id)
        return message

    def run(self, *, resume: Sequence[ResumeEntry] = (), run_id: str | None = None) -> Run:
        """The next run, to be entered with `async with`.

        `resume` answers the interrupts of the last run, all of them. Raises EncodeError where it
        leaves one uncovered, answers one twice or one that is not open, or answers with anything
        but "cancelled" after it expired; also where the run input is malformed.
        """
        run = self._client.run(self._next_input(resume, run_id))
        self._last = run
        return run

    def run_sync(self, *, resume: Sequence[ResumeEntry] = (), run_id: str | None = None) -> SyncRun:
        """The next run as a plain iterator of its events, for scripts. Raises as `run`."""
        events = self._client.run_sync(self._next_input(resume, run_id))
        self._last = events.run
        return events

    def _next_input(self, resume: Sequence[ResumeEntry], run_id: str | None) -> RunAgentInput:
        self._between_runs()
        _check_resume(self._interrupts, resume)
        return RunAgentInput(
            thread_id=self.thread_id,
            run_id=run_id or str(uuid4()),
            state=self._state,
            messages=self._messages,
            tools=self.tools,
            context=self.context,
            forwarded_props=self.forwarded_props,
            resume=list(resume) or None,
        )

    def _open_run(self) -> Run | None:
        """The run that goes on; what one that is over has come to is kept first."""
        run = self._last
        if run is None or not run.begun:
            return None
        if not run.closed:
            return run
        self._last = None
        self._messages = run.messages
        self._state = run.state
        answered = {each.tool_call_id for each in self._messages if isinstance(each, ToolMessage)}
        waiting = dict.fromkeys([*self._pending, *run.pending_tool_call_ids])
        self._pending = [each for each in waiting if each not in answered]
        if run.outcome not in (None, "error"):
            # A run that failed has answered nothing.
            self._interrupts = run.interrupts
        return None

    def _between_runs(self) -> None:
        if self._open_run() is not None:
            raise RuntimeError("a run is still open")


def _calls(message: Message) -> list[ToolCall]:
    return (message.tool_calls or []) if isinstance(message, AssistantMessage) else []


def _place_behind(messages: list[Message], tool_call_id: str) -> int:
    """Where the result of a call belongs: behind its message and the results already there."""
    for index, message in enumerate(messages):
        if any(call.id == tool_call_id for call in _calls(message)):
            index += 1
            while index < len(messages) and isinstance(messages[index], ToolMessage):
                index += 1
            return index
    return len(messages)


def _check_resume(interrupts: list[Interrupt], resume: Sequence[ResumeEntry]) -> None:
    answers = {entry.interrupt_id: entry for entry in resume}
    if len(answers) < len(resume):
        raise EncodeError("an interrupt is answered twice", "/resume")
    waiting = {interrupt.id: interrupt for interrupt in interrupts}
    uncovered = [id for id in waiting if id not in answers]
    if uncovered:
        raise EncodeError(f"interrupts are left without an answer: {uncovered}", "/resume")
    unknown = [id for id in answers if id not in waiting]
    if unknown:
        raise EncodeError(f"no such interrupts are open: {unknown}", "/resume")
    for id, interrupt in waiting.items():
        if _is_expired(interrupt) and answers[id].status != "cancelled":
            raise EncodeError(
                f"interrupt {id!r} expired at {interrupt.expires_at}; it can only be cancelled",
                "/resume",
            )


def _is_expired(interrupt: Interrupt) -> bool:
    text = interrupt.expires_at
    if text is None:
        return False
    try:
        expires_at = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError:
        return False
    if expires_at.tzinfo is None:
        expires_at = expires_at.replace(tzinfo=timezone.utc)
    return expires_at <= datetime.now(timezone.utc)
