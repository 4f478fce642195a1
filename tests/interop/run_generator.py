"""Random streams of raw events: runs that keep the protocol's rules, and ones that break them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

__all__ = ["broken_stream", "valid_stream"]

Object = dict[str, Any]

_WORDS = ("Hello", " wor", "ld", "", "é", "漢字 ", "🙂", "\n", '"q"', "a" * 30)
_ARGUMENTS = ('{"q":', '"x"', "}", "", "[1, 2]")
_METADATA: tuple[Any, ...] = ({"a": 1}, {"a": 2, "b": [None]}, {}, {"deep": {"x": "y"}})


class _Run:
    """A run in the making: what is open, who owns it, and the events so far."""

    def __init__(self, rng: Random, serial: int, history: list[str]) -> None:
        self.rng = rng
        self.serial = serial
        self.events: list[Object] = []
        self.history = history
        self.texts: dict[str, str | None] = {}
        self.calls: dict[str, str | None] = {}
        self.reasonings: dict[str, str | None] = {}
        self.spans: dict[str, str | None] = {}
        self.steps: dict[tuple[str, str | None], None] = {}
        self.subagents: list[str] = []
        self.closed_texts: dict[str, str | None] = {}
        self.closed_calls: dict[str, str | None] = {}
        self.count = 0

    def fresh(self, kind: str) -> str:
        self.count += 1
        return f"{kind}-{self.serial}-{self.count}"

    def emit(self, kind: str, tag: str | None = None, **members: Any) -> None:
        event: Object = {"type": kind, **{k: v for k, v in members.items() if v is not None}}
        if tag is not None:
            event["subagentRunId"] = tag
        if self.rng.random() < 0.1:
            event["metadata"] = copy.deepcopy(self.rng.choice(_METADATA))
        if self.rng.random() < 0.1:
            event["timestamp"] = 1790000000000 + self.count
        if self.rng.random() < 0.03:
            event["rawEvent"] = {"provider": [1, None]}
        self.events.append(event)

    def tag(self) -> str | None:
        if self.subagents and self.rng.random() < 0.4:
            return self.rng.choice(self.subagents)
        return None

    def said(self, owner: str | None) -> str | None:
        """An owner as an event may name it: untagged events never disagree."""
        return owner if self.rng.random() < 0.7 else None

    def start_text(self) -> None:
        reopened = [i for i in self.closed_texts if i not in self.texts]
        if reopened and self.rng.random() < 0.15:
            message_id = self.rng.choice(reopened)
            owner = self.closed_texts[message_id]
        else:
            message_id, owner = self.fresh("m"), self.tag()
        self.texts[message_id] = owner
        self.history.append(message_id)
        role = self.rng.choice(("assistant", "assistant", "assistant", "system", None))
        name = "Ada" if self.rng.random() < 0.1 else None
        self.emit("TEXT_MESSAGE_START", owner, messageId=message_id, role=role, name=name)

    def content_text(self) -> None:
        message_id, owner = self.rng.choice(list(self.texts.items()))
        delta = self.rng.choice(_WORDS)
        self.emit("TEXT_MESSAGE_CONTENT", self.said(owner), messageId=message_id, delta=delta)

    def end_text(self) -> None:
        message_id = self.rng.choice(list(self.texts))
        owner = self.texts.pop(message_id)
        self.closed_texts[message_id] = owner
        self.emit("TEXT_MESSAGE_END", self.said(owner), messageId=message_id)

    def start_call(self) -> None:
        call_id, owner = self.fresh("c"), self.tag()
        parents = [i for i, o in {**self.closed_texts, **self.texts}.items() if o == owner]
        parent = self.rng.choice(parents) if parents and self.rng.random() < 0.5 else None
        self.calls[call_id] = owner
        self.emit(
            "TOOL_CALL_START",
            owner,
            toolCallId=call_id,
            toolCallName=self.rng.choice(("search", "book")),
            parentMessageId=parent,
        )

    def args_call(self) -> None:
        call_id, owner = self.rng.choice(list(self.calls.items()))
        delta = self.rng.choice(_ARGUMENTS)
        self.emit("TOOL_CALL_ARGS", self.said(owner), toolCallId=call_id, delta=delta)

    def end_call(self) -> None:
        call_id = self.rng.choice(list(self.calls))
        owner = self.calls.pop(call_id)
        self.closed_calls[call_id] = owner
        self.emit("TOOL_CALL_END", self.said(owner), toolCallId=call_id)

    def result(self) -> None:
        call_id = self.rng.choice(list(self.closed_calls))
        content: Any = self.rng.choice(("3 hits", "", [{"type": "text", "text": "a part"}], []))
        self.emit(
            "TOOL_CALL_RESULT",
            self.closed_calls[call_id],
            messageId=self.fresh("r"),
            toolCallId=call_id,
            content=content,
            role=self.rng.choice(("tool", None)),
        )

    def start_span(self) -> None:
        span, owner = self.fresh("t"), self.tag()
        self.spans[span] = owner
        self.emit("REASONING_START", owner, messageId=span)

    def end_span(self) -> None:
        span = self.rng.choice(list(self.spans))
        self.emit("REASONING_END", self.said(self.spans.pop(span)), messageId=span)

    def start_reasoning(self) -> None:
        message_id, owner = self.fresh("n"), self.tag()
        self.reasonings[message_id] = owner
        self.history.append(message_id)
        self.emit("REASONING_MESSAGE_START", owner, messageId=message_id, role="reasoning")

    def content_reasoning(self) -> None:
        message_id, owner = self.rng.choice(list(self.reasonings.items()))
        delta = self.rng.choice(_WORDS)
        self.emit("REASONING_MESSAGE_CONTENT", self.said(owner), messageId=message_id, delta=delta)

    def end_reasoning(self) -> None:
        message_id = self.rng.choice(list(self.reasonings))
        owner = self.reasonings.pop(message_id)
        self.emit("REASONING_MESSAGE_END", self.said(owner), messageId=message_id)

    def encrypted(self) -> None:
        self.emit(
            "REASONING_ENCRYPTED_VALUE",
            subtype="message",
            entityId=self.rng.choice([*self.history, "nobody"]),
            encryptedValue="b64==",
        )

    def step(self) -> None:
        if self.steps and self.rng.random() < 0.5:
            name, owner = self.rng.choice(list(self.steps))
            del self.steps[name, owner]
            self.emit("STEP_FINISHED", owner, stepName=name)
            return
        name, owner = self.rng.choice(("plan", "act", "check")), self.tag()
        if (name, owner) not in self.steps:
            self.steps[name, owner] = None
            self.emit("STEP_STARTED", owner, stepName=name)

    def subagent(self) -> None:
        idle = [s for s in self.subagents if not self._busy(s)]
        if idle and self.rng.random() < 0.5:
            ended = self.rng.choice(idle)
            self.subagents.remove(ended)
            if self.rng.random() < 0.8:
                self.emit("SUBAGENT_FINISHED", ended, outcome={"type": "success"})
            else:
                self.emit("SUBAGENT_ERROR", ended, message="gave up")
            return
        new = self.fresh("s")
        parent = self.rng.choice(self.subagents) if self.subagents else None
        self.subagents.append(new)
        self.emit("SUBAGENT_STARTED", new, name="scout", parentSubagentRunId=parent)

    def _busy(self, tag: str) -> bool:
        tables = (self.texts, self.calls, self.reasonings, self.spans)
        return any(tag in table.values() for table in tables) or any(
            owner == tag for _, owner in self.steps
        )

    def state(self) -> None:
        if self.rng.random() < 0.4:
            snapshot: Any = self.rng.choice(
                ({"n": 0, "items": []}, {"n": 1, "items": ["a"], "k/ey": {"~": 1}}, [], None)
            )
            self.emit("STATE_SNAPSHOT", snapshot=None)
            self.events[-1]["snapshot"] = copy.deepcopy(snapshot)
            return
        delta = [copy.deepcopy(self.rng.choice(_OPERATIONS)) for _ in range(self.rng.randint(0, 3))]
        self.emit("STATE_DELTA", delta=delta)

    def activity(self) -> None:
        message_id = f"a-{self.serial}-{self.rng.randint(1, 2)}"
        if self.rng.random() < 0.5:
            self.emit(
                "ACTIVITY_SNAPSHOT",
                messageId=message_id,
                activityType="search",
                content={"hits": self.rng.randint(0, 3), "list": []},
                replace=self.rng.choice((None, True, False)),
            )
            return
        patch = [{"op": "add", "path": "/list/-", "value": "x"}]
        if self.rng.random() < 0.3:
            patch = [{"op": "replace", "path": "/absent", "value": "x"}]
        self.emit("ACTIVITY_DELTA", messageId=message_id, activityType="search", patch=patch)

    def chunk(self) -> None:
        """A few chunks of one item, in the parent's lane or a subagent's."""
        owner = self.tag()
        kind = self.rng.choice(("TEXT_MESSAGE", "TOOL_CALL", "REASONING_MESSAGE"))
        first: Object
        if kind == "TOOL_CALL":
            first = {"toolCallId": self.fresh("c"), "toolCallName": "search"}
        else:
            first = {"messageId": self.fresh("m" if kind == "TEXT_MESSAGE" else "n")}
        id_key = next(iter(first))
        if self.rng.random() < 0.7:
            first["delta"] = self.rng.choice(_WORDS)
        if kind == "TEXT_MESSAGE" and self.rng.random() < 0.3:
            first["role"] = self.rng.choice(("assistant", "system"))
        self.emit(f"{kind}_CHUNK", owner, **first)
        for _ in range(self.rng.randrange(4)):
            members: Object = {"delta": self.rng.choice(_WORDS)}
            if self.rng.random() < 0.6:
                members[id_key] = first[id_key]
            if self.rng.random() < 0.1:
                self.emit("RAW", event={"x": 1})
            self.emit(f"{kind}_CHUNK", owner, **members)

    def messages(self) -> None:
        kept: list[Object] = [{"id": "u1", "role": "user", "content": "hi"}]
        for message_id in self.rng.sample(self.history, min(2, len(self.history))):
            told: Object = {"id": message_id, "role": "assistant", "content": "as told"}
            owner = {**self.closed_texts, **self.texts, **self.reasonings}.get(message_id)
            kept.append(told if owner is None else {**told, "subagentRunId": owner})
        if self.rng.random() < 0.3:
            kept.append(
                {
                    "id": self.fresh("m"),
                    "role": "assistant",
                    "toolCalls": [
                        {
                            "id": self.fresh("c"),
                            "type": "function",
                            "function": {"name": "search", "arguments": "{}"},
                        }
                    ],
                }
            )
        self.emit("MESSAGES_SNAPSHOT", messages=kept)

    def other(self) -> None:
        if self.rng.random() < 0.5:
            self.emit("CUSTOM", self.tag(), name="app", value={"n": 1})
        else:
            self.emit("RAW", self.tag(), event={"kind": "x"}, source="lib")

    def play(self, length: int) -> None:
        while len(self.events) < length:
            actions: list[Callable[[], None]] = [
                self.start_text,
                self.start_call,
                self.start_reasoning,
                self.start_span,
                self.step,
                self.subagent,
                self.state,
                self.activity,
                self.encrypted,
                self.chunk,
                self.messages,
                self.other,
            ]
            if self.texts:
                actions += [self.content_text] * 4 + [self.end_text]
            if self.calls:
                actions += [self.args_call] * 3 + [self.end_call]
            if self.closed_calls:
                actions.append(self.result)
            if self.reasonings:
                actions += [self.content_reasoning] * 2 + [self.end_reasoning]
            if self.spans:
                actions.append(self.end_span)
            self.rng.choice(actions)()

    def settle(self) -> None:
        while self.texts:
            self.end_text()
        while self.calls:
            self.end_call()
        while self.reasonings:
            self.end_reasoning()
        while self.spans:
            self.end_span()
        for name, owner in list(self.steps):
            self.emit("STEP_FINISHED", owner, stepName=name)
        for subagent in self.subagents:
            self.emit("SUBAGENT_FINISHED", subagent)


_OPERATIONS: tuple[Object, ...] = (
    {"op": "replace", "path": "/n", "value": 7},
    {"op": "add", "path": "/items/-", "value": {"id": 1}},
    {"op": "add", "path": "/fresh", "value": None},
    {"op": "remove", "path": "/items/0"},
    {"op": "test", "path": "/n", "value": 7},
    {"op": "copy", "from": "/n", "path": "/m"},
    {"op": "move", "from": "/fresh", "path": "/stale"},
    {"op": "replace", "path": "/k~1ey/~0", "value": "x"},
    {"op": "remove", "path": "/n", "value": "leftover"},
)
_OUTCOMES: tuple[Any, ...] = (
    None,
    None,
    {"type": "success"},
    {"type": "cancelled"},
    {"type": "interrupt", "interrupts": [{"id": "i1", "reason": "approve"}]},
)


def valid_stream(rng: Random) -> list[Object]:
    """One to three runs that keep every sequence rule."""
    events: list[Object] = []
    history: list[str] = []
    for serial in range(rng.choice((1, 1, 2, 3))):
        ids = {"threadId": "t1", "runId": f"run-{serial}"}
        run = _Run(rng, serial, history)
        run.emit("RUN_STARTED", **ids, protocolVersion=rng.choice(("1.0", None)))
        run.play(rng.randint(3, 40))
        if rng.random() < 0.1:
            run.emit("RUN_ERROR", message="it broke", code=rng.choice(("E1", None)))
        else:
            run.settle()
            result = rng.choice((None, {"ok": True}, 0))
            run.emit("RUN_FINISHED", **ids, outcome=copy.deepcopy(rng.choice(_OUTCOMES)))
            if result is not None:
                run.events[-1]["result"] = result
        events += run.events
    return events


def broken_stream(rng: Random) -> list[Object]:
    """A valid stream with one to three things done to it that a peer may get wrong."""
    events = copy.deepcopy(valid_stream(rng))
    for _ in range(rng.randint(1, 3)):
        if events:
            rng.choice(_BREAKS)(rng, events)
    return events


def _drop(rng: Random, events: list[Object]) -> None:
    del events[rng.randrange(len(events))]


def _double(rng: Random, events: list[Object]) -> None:
    position = rng.randrange(len(events))
    events.insert(position, copy.deepcopy(events[position]))


def _swap(rng: Random, events: list[Object]) -> None:
    one, other = rng.randrange(len(events)), rng.randrange(len(events))
    events[one], events[other] = events[other], events[one]


def _retag(rng: Random, events: list[Object]) -> None:
    event = rng.choice(events)
    if rng.random() < 0.5:
        event["subagentRunId"] = rng.choice(("s-0-1", "s-0-2", "nobody", ""))
    else:
        event.pop("subagentRunId", None)


def _unknown(rng: Random, events: list[Object]) -> None:
    position = rng.randrange(len(events))
    kind = rng.randrange(3)
    if kind == 0:
        events.insert(position, {"type": "FUTURE_EVENT", "x": 1})
    elif kind == 1:
        events[position]["futureProp"] = {"a": 1}
    else:
        event = events[position]
        if event["type"] == "MESSAGES_SNAPSHOT":
            event["messages"].append({"id": "x", "role": "critic", "content": "hm"})
        elif event["type"] == "STATE_DELTA":
            event["delta"].append({"op": "merge", "path": "/n", "value": 1})
        elif event["type"] == "TOOL_CALL_RESULT":
            event["content"] = [{"type": "hologram"}, {"type": "text", "text": "kept"}]
        elif event["type"] == "RUN_FINISHED":
            event["outcome"] = {"type": "paused"}
        else:
            event["role"] = "critic"


def _wrong_type(rng: Random, events: list[Object]) -> None:
    event = rng.choice(events)
    key = rng.choice(list(event))
    event[key] = rng.choice((7, "text", [], {}, True, 1.5))


def _null(rng: Random, events: list[Object]) -> None:
    event = rng.choice(events)
    if rng.random() < 0.5:
        event[rng.choice(("parentMessageId", "rawEvent", "timestamp", "metadata", "name"))] = None
    else:
        event[rng.choice(list(event))] = None


def _forget(rng: Random, events: list[Object]) -> None:
    event = rng.choice(events)
    del event[rng.choice(list(event))]


_BREAKS = (_drop, _double, _swap, _retag, _unknown, _wrong_type, _null, _forget)
