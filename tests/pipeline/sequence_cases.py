"""The sequence rules as cases: streams behind a RUN_STARTED, and what the last event meets."""

from __future__ import annotations

from typing import Any

from tests.pipeline.building import (
    Json,
    acting,
    activity,
    activity_delta,
    args,
    called,
    encrypted,
    end,
    finish,
    reasoning,
    result,
    run,
    run_input,
    said,
    snapshot,
    start,
    text,
    tool,
    tool_end,
)
from tests.pipeline.building import call as held_call

ERROR: Json = {"type": "RUN_ERROR", "message": "no"}


def by(tag: str | None, event: Json) -> Json:
    """The event as the subagent `tag` writes it, or the parent agent."""
    return event if tag is None else {**event, "subagentRunId": tag}


def mused(step: str, id: str = "r", **more: Any) -> Json:
    needed = {"START": {"role": "reasoning"}, "CONTENT": {"delta": "a"}, "END": {}}[step]
    return reasoning(step, id, **{**needed, **more})


def span(step: str, id: str = "r") -> Json:
    return {"type": f"REASONING_{step}", "messageId": id}


def step(what: str, name: str = "p") -> Json:
    return {"type": f"STEP_{what}", "stepName": name}


def agent(what: str, id: str = "s", **more: str) -> Json:
    needed = {"STARTED": {"name": "n"}, "FINISHED": {}, "ERROR": {"message": "no"}}[what]
    return {"type": f"SUBAGENT_{what}", "subagentRunId": id, **needed, **more}


# Where the last event is refused, the words that its error must say.
Refusal = list[str]

HELD = said("m", "a", subagentRunId="s", toolCalls=[held_call("c")])
REPLAYED = snapshot(
    HELD,
    said("r", "a", "reasoning", subagentRunId="s"),
    acting("a", {}, subagentRunId="s"),
    said("p", "b"),
)
THREE_KINDS = [by("s", start("x")), by("q", tool("x")), mused("START", "x"), activity({}, "x")]

# name: (events behind RUN_STARTED, None where all pass)
CASES: dict[str, tuple[list[Json], Refusal | None]] = {
    # ids
    "reopened": ([start(), end(), start(), text("a"), end(), finish()], None),
    "a call reopened": ([*called("c", "{}"), *called("c", "{}"), finish()], None),
    "reasoning reopened": ([mused("START"), mused("END"), mused("START"), mused("END")], None),
    "a span reopened": ([span("START"), span("END"), span("START"), span("END")], None),
    "content after the end": ([start(), end(), start("n"), text("a")], ["'m'", "'n'"]),
    "interleaved": (
        [start("m"), start("n"), text("a", "m"), text("b", "n"), end(), end("n")],
        None,
    ),
    "what is open is listed in short": (
        [*(tool(f"c{n}") for n in range(9)), args("{", "c")],
        ["'c0', 'c1', 'c2', 'c3', 'c4' and 4 more"],
    ),
    "nothing is open": ([args("{", "c")], ["nothing"]),
    "a result without a call": ([result("c", "y"), result("c", "y"), finish()], None),
    # the end of a run
    "open items are named at the end": (
        [start(), tool(), span("START"), mused("START"), by("s", step("STARTED")), finish()],
        [
            "message 'm'",
            "call 'c'",
            "span 'r'",
            "reasoning message 'r'",
            "step 'p' of subagent 's'",
        ],
    ),
    "an active subagent is named at the end": ([agent("STARTED"), finish()], ["subagent 's'"]),
    "a failure ends what is open": ([start(), ERROR, run("2"), start(), end(), finish("2")], None),
    "a late failure": ([finish(), ERROR, run("2"), finish("2")], None),
    "two failures": ([ERROR, ERROR], ["RUN_STARTED"]),
    "a run in a run": ([run("2")], ["'2'", "'1'"]),
    # steps
    "a step of each owner": (
        [
            step("STARTED"),
            by("s", step("STARTED")),
            by("", step("STARTED")),
            step("FINISHED"),
            by("s", step("FINISHED")),
            by("", step("FINISHED")),
            finish(),
        ],
        None,
    ),
    "a step again": ([step("STARTED"), step("FINISHED"), step("STARTED")], None),
    "a step finished by another": ([by("s", step("STARTED")), step("FINISHED")], ["subagent 's'"]),
    "a step finished by the empty tag": ([step("STARTED"), by("", step("FINISHED"))], ["parent"]),
    "a step twice for one owner": ([by("s", step("STARTED"))] * 2, ["subagent 's'"]),
    # subagents
    "nested": (
        [
            agent("STARTED"),
            agent("STARTED", "q", parentSubagentRunId="s"),
            agent("ERROR", "q"),
            agent("FINISHED"),
            finish(),
        ],
        None,
    ),
    "under an ended parent": (
        [agent("STARTED"), agent("FINISHED"), agent("STARTED", "q", parentSubagentRunId="s")],
        None,
    ),
    "under an unknown parent": ([agent("STARTED", parentSubagentRunId="q")], ["'q'"]),
    "its own parent": ([agent("STARTED", parentSubagentRunId="s")], ["'s'"]),
    "ended and started again": ([agent("STARTED"), agent("ERROR"), agent("STARTED")], ["ended"]),
    "started again in the next run": (
        [agent("STARTED"), agent("FINISHED"), finish(), run("2"), agent("STARTED")],
        None,
    ),
    "a parent of the run before": (
        [
            agent("STARTED"),
            agent("FINISHED"),
            finish(),
            run("2"),
            agent("STARTED", "q", parentSubagentRunId="s"),
        ],
        ["'s'"],
    ),
    "ended twice": ([agent("STARTED"), agent("FINISHED"), agent("ERROR")], ["nothing"]),
    "another one is active": ([agent("STARTED", "q"), agent("FINISHED")], ["'q'"]),
    "tags without an announcement": ([by("s", start()), by("s", end()), finish()], None),
    "tags of an ended subagent": ([agent("STARTED"), agent("FINISHED"), by("s", start())], None),
    # owners: the first writer
    "no tag never disagrees": ([by("s", start()), text("a"), end()], None),
    "another tag on content": ([by("s", start()), by("q", text("a"))], ["'q'", "'s'"]),
    "another tag on the end": ([by("s", start()), by("q", end())], ["'q'", "'s'"]),
    "a tag on the parent's": ([start(), by("s", text("a"))], ["parent"]),
    "the empty tag on the parent's": ([start(), by("", text("a"))], ["parent"]),
    "the empty tag": ([by("", start()), by("", text("a")), by("", end())], None),
    "the parent's empty tag": ([by("", start()), by("s", text("a"))], ["subagent ''"]),
    "reopened with another tag": ([by("s", start()), by("s", end()), by("q", start())], ["'s'"]),
    "reopened without a tag": ([by("s", start()), end(), start(), by("s", text("a"))], None),
    "an untagged reopening gives nothing away": (
        [by("s", start()), end(), start(), by("q", text("a"))],
        ["'s'"],
    ),
    "a call's arguments": ([by("s", tool()), by("q", args("{"))], ["'s'"]),
    "a call's end": ([by("s", tool()), by("q", tool_end())], ["'s'"]),
    "a call reopened with another tag": ([tool(), tool_end(), by("q", tool())], ["parent"]),
    "a span and its message share an owner": (
        [by("s", span("START")), by("q", mused("START"))],
        ["'s'"],
    ),
    "a message owns its span": ([mused("START"), by("q", span("START"))], ["parent"]),
    "a span's end": ([by("s", span("START")), by("q", span("END"))], ["'s'"]),
    "a reasoning message's content": ([by("s", mused("START")), by("", mused("CONTENT"))], ["''"]),
    "a reasoning message's end": ([mused("START"), by("q", mused("END"))], ["parent"]),
    "owners by kind": ([*THREE_KINDS, by("s", text("a", "x")), by("q", args("{", "x"))], None),
    "owners are forgotten with the run": (
        [
            by("s", start()),
            end(),
            by("s", tool()),
            tool_end(),
            by("s", span("START")),
            span("END"),
            by("s", activity({})),
            finish(),
            run("2"),
            *(by("q", e) for e in (start(), tool(), span("START"), activity_delta())),
        ],
        None,
    ),
    # owners: a call under its parent message
    "an untagged call takes its parent's owner": (
        [by("s", start()), tool(parentMessageId="m"), by("s", args("{"))],
        None,
    ),
    "and refuses another": (
        [by("s", start()), tool(parentMessageId="m"), by("q", args("{"))],
        ["'s'"],
    ),
    "a tagged call under its own parent": (
        [by("s", start()), by("s", tool(parentMessageId="m"))],
        None,
    ),
    "a tagged call under another's": (
        [by("s", start()), by("q", tool(parentMessageId="m"))],
        ["'q'", "'s'", "'m'"],
    ),
    "a tagged call under the parent agent's": (
        [start(), by("q", tool(parentMessageId="m"))],
        ["'q'"],
    ),
    "a call under an unknown message": ([by("q", tool(parentMessageId="m"))], None),
    "an untagged call under an unknown message": (
        [tool(parentMessageId="m"), by("q", args("{"))],
        ["parent"],
    ),
    "an unknown parent is not owned": (
        [by("q", tool(parentMessageId="m")), by("s", start())],
        None,
    ),
    "reopened under another's": (
        [
            by("s", start()),
            by("q", start("n")),
            tool(parentMessageId="m"),
            tool_end(),
            tool(parentMessageId="n"),
        ],
        ["'s'", "'q'"],
    ),
    "reopened under its own": (
        [by("s", start()), tool(parentMessageId="m"), tool_end(), tool(parentMessageId="m")],
        None,
    ),
    "reopened under an unknown message": (
        [
            by("s", start()),
            tool(parentMessageId="m"),
            tool_end(),
            tool(parentMessageId="n"),
            by("q", args("{")),
        ],
        ["'s'"],
    ),
    # owners: results, activities, encrypted values
    "a result owns its message": ([by("s", result("c", "y")), by("q", start("y"))], ["'s'"]),
    "an untagged result too": ([result("c", "y"), by("q", start("y"))], ["parent"]),
    "a result owns anew": (
        [by("s", result("c", "y")), by("q", result("c", "y")), by("q", start("y"))],
        None,
    ),
    "a result leaves the call's owner": ([by("s", tool()), by("q", result("c", "y"))], None),
    "an activity": ([by("s", activity({})), activity_delta(), by("s", activity_delta())], None),
    "an activity of another": ([by("s", activity({})), by("q", activity_delta())], ["'s'"]),
    "an unknown activity": ([by("s", activity_delta()), by("q", activity_delta())], None),
    "an activity replaced": (
        [by("s", activity({})), by("q", activity({})), by("q", activity_delta())],
        None,
    ),
    "an activity replaced without a tag": (
        [by("s", activity({})), activity({}, replace=True), by("s", activity_delta())],
        ["parent"],
    ),
    "an activity not replaced": (
        [by("s", activity({})), by("q", activity({}, replace=False)), by("q", activity_delta())],
        ["'s'"],
    ),
    "an activity begun with replace: false": (
        [by("s", activity({}, replace=False)), by("q", activity_delta())],
        ["'s'"],
    ),
    "a value for a call": ([by("s", tool()), by("q", encrypted("c", "tool-call"))], ["'s'"]),
    "a value for a closed message": ([by("s", start()), end(), by("q", encrypted("m"))], ["'s'"]),
    "a value for a reasoning message": (
        [by("s", mused("START")), by("q", encrypted("r"))],
        ["'s'"],
    ),
    "a value by kind": ([*THREE_KINDS, by("q", encrypted("x", "tool-call"))], None),
    "a message before reasoning": ([*THREE_KINDS, by("s", encrypted("x"))], None),
    "a value for nothing known": ([by("s", encrypted("x")), encrypted("x", "tool-call")], None),
    "a value for an activity": ([by("s", activity({}, "x")), by("q", encrypted("x"))], None),
    # owners: snapshots and the run's input
    "a snapshot's message": ([REPLAYED, by("q", start())], ["'s'"]),
    "a snapshot's untagged message": ([REPLAYED, by("q", start("p"))], ["parent"]),
    "a snapshot's call": ([REPLAYED, by("q", tool())], ["'s'"]),
    "a snapshot's reasoning": ([REPLAYED, by("q", mused("START"))], ["'s'"]),
    "a snapshot's activity": ([REPLAYED, by("q", activity_delta())], ["'s'"]),
    "a snapshot's activity not replaced": (
        [REPLAYED, by("q", activity({}, replace=False)), by("q", activity_delta())],
        ["'s'"],
    ),
    "a snapshot overwrites": (
        [by("q", start()), by("q", tool()), REPLAYED, by("s", text("a")), by("s", args("{"))],
        None,
    ),
    "a snapshot without a tag overwrites": (
        [by("s", start()), snapshot(said("m", "a")), by("s", text("a"))],
        ["parent"],
    ),
    "a snapshot forgets nobody": ([by("s", start()), snapshot(), by("q", text("a"))], ["'s'"]),
    "a snapshot closes nothing": ([start(), snapshot(), text("a"), end(), finish()], None),
    "the input's message": (
        [finish(), run("2", input=run_input(HELD)), by("q", start())],
        ["'s'"],
    ),
    "the input's call": (
        [finish(), run("2", input=run_input(HELD)), by("q", tool())],
        ["'s'"],
    ),
    "the input's owners are of its own run": (
        [by("q", start()), end(), finish(), run("2", input=run_input(HELD)), by("s", start())],
        None,
    ),
    "the input fills in, it does not overwrite": (
        [finish(), run("2", input=run_input(HELD, said("m", "b"))), by("s", start())],
        None,
    ),
}
