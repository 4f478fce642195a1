"""The rules about messages and state; see rules_wire for the form."""

from __future__ import annotations

from . import Section

_ASSEMBLE = "pipeline/test_assemble.py::"


def _messages(name: str) -> str:
    return f"{_ASSEMBLE}test_messages[{name}]"


def _state(name: str) -> str:
    return f"{_ASSEMBLE}test_state[{name}]"


def _run(name: str) -> str:
    return f"{_ASSEMBLE}test_run[{name}]"


ASSEMBLY: list[Section] = [
    (
        "Assembly: messages",
        [
            (
                "Messages stand in the order of arrival, behind those of the run input",
                _messages("messages come in the order of their starts"),
                _state("from the run input"),
                "http/test_client.py::test_the_run_starts_from_what_the_input_holds",
            ),
            (
                "Messages of RUN_STARTED.input that are not held are appended",
                _messages("messages of the run's input that are not held"),
            ),
            (
                "A known message goes on; its role and name stand",
                _messages("a reopened message goes on; role and name stand"),
                _messages("text behind what was there at the start"),
            ),
            (
                "Text into a list of parts is one more part",
                _messages("text into parts is one more part each time"),
            ),
            (
                "Text does not go into an activity",
                _messages("text does not go into an activity"),
            ),
            (
                "Reasoning makes messages of its role",
                _messages("reasoning"),
            ),
            (
                "An encrypted value is set with its type; one of nothing known warns",
                _messages("an encrypted value takes its type along"),
                _messages("an encrypted value of a message without text"),
                _messages("an encrypted value of a call"),
                _messages("an encrypted value of nothing"),
            ),
            (
                "Metadata merges key by key, never deeper; that of a call goes to the call; "
                "events that build nothing keep theirs",
                _messages("metadata merges key by key, not deeper"),
                _messages("metadata of a call goes to the call"),
                _messages("metadata of what builds nothing stays with it"),
            ),
        ],
    ),
    (
        "Assembly: tool calls",
        [
            (
                "A call goes to its parent; it makes an unknown one, with its tag, or a message "
                "with the call's id",
                _messages("a call goes to its parent"),
                _messages("a call makes its unknown parent, with its tag"),
                _messages("a call makes a message with the call's id"),
            ),
            (
                "A call never goes to a message of another role",
                _messages("a call never goes to a message of another role"),
            ),
            (
                "A call that is held keeps its entry; another name warns",
                _messages("a call that is held gets another name"),
            ),
            (
                "A call that this stream opened appends when it is reopened",
                _messages("a call that this stream opened appends when it is reopened"),
            ),
            (
                "A call from a snapshot or the input is restated, not doubled, at its end",
                _messages("a call from the input is restated, not doubled"),
                _messages("a call from a snapshot is restated, each time anew"),
                _messages("a call is restated at its end, not before"),
                _messages("a restated call without arguments keeps those held"),
            ),
            (
                "A result stands behind its call and the results already there, else last",
                _messages("results go behind the message of their call"),
                _messages("a result without a call goes last"),
            ),
            (
                "A second result with the same id is its own message",
                _messages("a second result with the same id is its own message"),
            ),
        ],
    ),
    (
        "Assembly: state, activities, snapshots",
        [
            (
                "STATE_SNAPSHOT replaces, also by null, 0 and the empty string",
                _state("snapshot"),
                _state("null"),
                _state("zero"),
                _state("empty text"),
            ),
            (
                "STATE_DELTA is all or nothing; a failure warns with operation and reason",
                _state("a delta that fails, and the next one"),
                _ASSEMBLE + "test_a_failed_delta_is_told_with_operation_and_reason",
            ),
            (
                "Patches follow RFC 6902",
                "pipeline/test_patch.py::test_case",
                "pipeline/test_patch.py::test_against_jsonpatch_one_operation_at_a_time",
            ),
            ("`remove` of the whole document leaves null", _state("the whole removed")),
            (
                "ACTIVITY_SNAPSHOT replaces content, type and owner; `replace: false` leaves an "
                "existing one; metadata merges either way",
                _messages("an activity is replaced: content, type and owner, not its metadata"),
                _messages("an activity that is not to be replaced stays, its metadata merges"),
            ),
            (
                "An activity takes the place of a message of another role, unless `replace: false`",
                _messages("an activity takes the place of another message"),
                _messages("an activity does not take a place with replace false"),
            ),
            (
                "ACTIVITY_DELTA patches the content, which stays an object; a missing target or a "
                "failure warns",
                _messages("the content of an activity stays an object"),
                _messages("an activity and its changes"),
                _messages("a change of an activity that is not there"),
                _messages("a change of an activity that fails"),
            ),
            (
                "MESSAGES_SNAPSHOT replaces in place, appends new ones, drops the others",
                _messages("a snapshot: replaced in place, new ones last, others gone"),
            ),
            (
                "An id twice in a snapshot is one message: the last value, the first position",
                _messages("a snapshot that holds an id twice"),
            ),
            (
                "Activities and reasoning stay where a snapshot has none of their kind",
                _messages("a snapshot without activities and reasoning keeps those held"),
                _messages("a snapshot with an activity drops the others"),
                _messages("a snapshot with reasoning drops the other"),
            ),
        ],
    ),
    (
        "Assembly: the run",
        [
            (
                "The outcome is success, interrupt, cancelled, error, or None while open",
                _run("open"),
                _run("finished"),
                _run("interrupted"),
                _run("cancelled"),
                _run("failed"),
                _run("failed after it finished"),
            ),
            (
                "Messages and state go on over several runs in one stream, the rest starts afresh",
                _ASSEMBLE + "test_messages_and_state_go_on_over_runs",
                _run("the next run starts afresh"),
            ),
            (
                "error, result, interrupts and usage are those of the last run",
                _run("finished with an outcome"),
                _run("the next run starts afresh"),
                _run("the next run after an error"),
            ),
            (
                "Pending calls are those that RUN_FINISHED names, else those without a result",
                _run("pending calls as they are named"),
                _run("calls without a result are pending"),
                _run("calls of the run before are not pending"),
            ),
        ],
    ),
]
