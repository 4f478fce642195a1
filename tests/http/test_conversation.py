"""Conversation: messages, state, tool results and interrupts over several runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from agui_wire import EncodeError, FrameTooLarge, RunAgentInput
from agui_wire.events import (
    ActivitySnapshotEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    StateSnapshotEvent,
    TextMessageChunkEvent,
    ToolCallChunkEvent,
)
from agui_wire.http import AgentClient, Conversation
from agui_wire.messages import AssistantMessage, Interrupt, ToolMessage, UserMessage
from agui_wire.run_input import Context, ResumeEntry, Tool

from .harness import FINISHED, STARTED, running
from .test_run_sync import in_a_thread


class Scripted:
    """An agent that gives one list of events after the other, and keeps its inputs."""

    def __init__(self, *runs: list[Any]) -> None:
        self._runs = iter(runs)
        self.inputs: list[RunAgentInput] = []

    async def __call__(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        self.inputs.append(run_input)
        for event in next(self._runs):
            yield event


def says(text: str, message_id: str) -> list[Any]:
    chunk = TextMessageChunkEvent(message_id=message_id, delta=text)
    return [STARTED, chunk, StateSnapshotEvent(snapshot={"last": text}), FINISHED]


def calls(*ids: str, parent: str = "a1") -> list[Any]:
    chunks = [
        ToolCallChunkEvent(
            tool_call_id=id, tool_call_name="look", parent_message_id=parent, delta="{}"
        )
        for id in ids
    ]
    return [STARTED, *chunks, FINISHED]


def interrupted(*interrupts: Interrupt) -> list[Any]:
    outcome = RunFinishedInterruptOutcome(interrupts=list(interrupts))
    return [STARTED, RunFinishedEvent(thread_id="t", run_id="r", outcome=outcome)]


async def play(conversation: Conversation, **options: Any) -> list[Any]:
    async with conversation.run(**options) as run:
        return [event async for event in run]


async def test_messages_and_state_go_on_over_runs() -> None:
    agent = Scripted(says("one", "a1"), says("two", "a2"))
    async with running(agent) as url:
        chat = Conversation(AgentClient(url), thread_id="t", state={"x": 1})
        user = chat.add_user_message("hi")
        await play(chat, run_id="r1")
        again = chat.add_user_message("again", id="u2")
        await play(chat)
    first, second = agent.inputs
    assert (first.thread_id, first.run_id, first.messages) == ("t", "r1", [user])
    assert (first.state, second.state) == ({"x": 1}, {"last": "one"})
    one, two = AssistantMessage(id="a1", content="one"), AssistantMessage(id="a2", content="two")
    assert second.messages == [user, one, again]
    assert second.run_id not in ("", "r1")
    assert chat.messages == [user, one, again, two]
    assert chat.state == {"last": "two"}
    assert chat.thread_id == "t"


async def test_what_goes_with_every_run() -> None:
    agent = Scripted(says("one", "a1"), says("two", "a2"))
    tool = Tool(name="look", description="looks")
    context = Context(description="where", value="here")
    async with running(agent) as url:
        chat = Conversation(
            AgentClient(url),
            messages=[UserMessage(id="u", content="hi")],
            tools=[tool],
            context=[context],
            forwarded_props={"a": 1},
        )
        await play(chat)
        chat.tools = []
        await play(chat)
    first, second = agent.inputs
    assert (first.tools, first.context, first.forwarded_props) == ([tool], [context], {"a": 1})
    assert (second.tools, second.context) == ([], [context])
    assert first.thread_id == second.thread_id != ""


async def test_a_tool_result_stands_behind_its_call() -> None:
    agent = Scripted(calls("c1", "c2"), says("done", "a2"))
    async with running(agent) as url:
        chat = Conversation(AgentClient(url))
        await play(chat)
        chat.add_user_message("and?", id="u")
        assert [call.id for call in chat.pending_tool_calls] == ["c1", "c2"]
        second = chat.add_tool_result("c2", "two", error="late")
        first = chat.add_tool_result("c1", "one", id="t1")
        assert chat.pending_tool_calls == []
        with pytest.raises(EncodeError, match="c1"):
            chat.add_tool_result("c1", "once more")
        with pytest.raises(EncodeError, match="c9"):
            chat.add_tool_result("c9", "?")
        await play(chat)
    assert [message.id for message in agent.inputs[1].messages] == ["a1", second.id, "t1", "u"]
    assert first == ToolMessage(id="t1", tool_call_id="c1", content="one")
    assert chat.pending_tool_calls == []


async def test_a_call_that_nobody_answered_stays_pending() -> None:
    agent = Scripted(calls("c1"), calls("c2", parent="a2"))
    async with running(agent) as url:
        chat = Conversation(AgentClient(url))
        await play(chat)
        await play(chat)
    assert [call.id for call in chat.pending_tool_calls] == ["c1", "c2"]


ASKED = [Interrupt(id="i1", reason="ask"), Interrupt(id="i2", reason="ask")]


def resolved(*ids: str) -> list[ResumeEntry]:
    return [ResumeEntry(interrupt_id=id, status="resolved", payload={"ok": 1}) for id in ids]


async def test_a_resume_answers_every_interrupt() -> None:
    agent = Scripted(interrupted(*ASKED), says("done", "a2"))
    async with running(agent) as url:
        chat = Conversation(AgentClient(url))
        await play(chat)
        assert chat.interrupts == ASKED
        for resume, wrong in (
            ([], "i1.*i2"),
            (resolved("i1"), "i2"),
            (resolved("i1", "i2", "i3"), "i3"),
            (resolved("i1", "i2", "i2"), "twice"),
        ):
            with pytest.raises(EncodeError, match=wrong):
                chat.run(resume=resume)
        await play(chat, resume=resolved("i2", "i1"))
        assert chat.interrupts == []
        with pytest.raises(EncodeError, match="i1"):
            chat.run(resume=resolved("i1"))
    assert agent.inputs[1].resume == resolved("i2", "i1")
    assert len(agent.inputs) == 2


async def test_an_expired_interrupt_can_only_be_cancelled() -> None:
    expired = [
        Interrupt(id="i1", reason="ask", expires_at="2020-01-01T00:00:00Z"),
        Interrupt(id="i2", reason="ask", expires_at="2020-01-01T00:00:00"),
        Interrupt(id="i3", reason="ask", expires_at="2999-01-01T00:00:00+00:00"),
        Interrupt(id="i4", reason="ask", expires_at="next week"),
    ]
    agent = Scripted(says("done", "a2"))
    cancelled = [ResumeEntry(interrupt_id=id, status="cancelled") for id in ("i1", "i2")]
    async with running(agent) as url:
        chat = Conversation(AgentClient(url), interrupts=expired)
        with pytest.raises(EncodeError, match=r"i1.*expired"):
            chat.run(resume=resolved("i1", "i2", "i3", "i4"))
        with pytest.raises(EncodeError, match=r"i2.*expired"):
            chat.run(resume=[cancelled[0], *resolved("i2", "i3", "i4")])
        await play(chat, resume=[*cancelled, *resolved("i3", "i4")])
    assert len(agent.inputs) == 1


async def test_a_run_that_fails_has_answered_nothing() -> None:
    agent = Scripted(interrupted(*ASKED), [STARTED, RunErrorEvent(message="no")])
    async with running(agent) as url:
        chat = Conversation(AgentClient(url))
        await play(chat)
        await play(chat, resume=resolved("i1", "i2"))
        assert chat.interrupts == ASKED


async def test_what_a_broken_run_brought_is_kept() -> None:
    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield STARTED
        yield TextMessageChunkEvent(message_id="a1", delta="half a")
        await asyncio.Event().wait()

    async with running(agent) as url:
        chat = Conversation(AgentClient(url))
        async with chat.run() as run:
            while not chat.messages:
                await run.__anext__()
            with pytest.raises(RuntimeError, match="open"):
                chat.run()
            with pytest.raises(RuntimeError, match="open"):
                chat.add_user_message("hi")
        assert chat.messages == [AssistantMessage(id="a1", content="half a")]
        chat.add_user_message("hi", id="u")
    with pytest.raises(aiohttp.ClientConnectorError):
        await play(chat)
    assert [message.id for message in chat.messages] == ["a1", "u"]


async def test_activities_are_kept_and_not_sent() -> None:
    activity = ActivitySnapshotEvent(message_id="p", activity_type="plan", content={})
    agent = Scripted([STARTED, activity, FINISHED], says("done", "a2"))
    async with running(agent) as url:
        chat = Conversation(AgentClient(url))
        await play(chat)
        await play(chat)
    assert agent.inputs[1].messages == []
    assert [message.id for message in chat.messages] == ["p", "a2"]


def test_a_conversation_without_async() -> None:
    agent = Scripted(calls("c1"), says("done", "a2"))
    with in_a_thread(agent) as url:
        chat = Conversation(AgentClient(url))
        for _ in chat.run_sync():
            pass
        chat.add_tool_result("c1", "one")
        assert len(list(chat.run_sync())) == 6
    assert [message.role for message in chat.messages] == ["assistant", "tool", "assistant"]


async def test_a_run_that_raises_is_over() -> None:
    agent = Scripted(says("one", "a1"))
    async with running(agent) as url:
        chat = Conversation(AgentClient(url, max_frame_size=40, wires=["sse"]))
        with pytest.raises(FrameTooLarge):
            await play(chat)
        assert chat.messages == []
