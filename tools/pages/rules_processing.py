"""The rules about what a reader makes of events, and about HTTP; see rules_wire for the form."""

from __future__ import annotations

from . import Section
from .rules_assembly import ASSEMBLY

_ENFORCE = "test_enforce.py::"
_UNKNOWN = _ENFORCE + "test_an_unknown_member_goes_up_to_where_it_can"
_EXPAND = "pipeline/test_expand.py::test_expansion"
_REFUSE = "pipeline/test_expand.py::test_refusal"
_STREAM = "conformance/test_conformance.py::test_stream"
_STATES = "pipeline/test_verify.py::test_every_event_in_every_state"
_SERVER = "http/test_server.py::"
_LEAVES = "http/test_disconnect.py::"


def _rule(name: str) -> str:
    return f"pipeline/test_verify.py::test_rule[{name}]"


PROCESSING: list[Section] = [
    (
        "Retired shapes",
        [
            (
                "THINKING_* reads as REASONING_*, with minted ids that hold from opener to end",
                "test_retired.py::test_thinking_reads_as_reasoning",
                "test_retired.py::test_minted_ids_hold_from_opener_to_end_and_then_change",
                "test_retired.py::test_nothing_stays_open_behind_its_end_or_its_run",
            ),
            (
                "Each conversion warns; a dropped `title` is told",
                "test_retired.py::test_each_retired_type_warns_once_and_a_dropped_title_is_told",
            ),
            (
                "null in any optional place reads as absent, with one warning per stream and path",
                _ENFORCE + "test_a_null_in_an_optional_field_is_absence",
                "test_retired.py::test_nulls_of_older_servers_are_told_once_per_path",
                "test_retired.py::test_nulls_inside_a_run_input",
            ),
            (
                "null in a required open place, and inside open JSON, is data",
                _ENFORCE + "test_a_null_in_a_required_field_is_data_or_malformed",
                "test_encoder.py::test_none_is_absent_only_where_a_key_may_be",
            ),
            (
                "A `binary` part reads as image, audio, video or document, its filename as "
                "metadata; with only an id it is dropped, with a warning",
                "test_retired.py::test_binary_parts",
            ),
            (
                "`encryptedContent` reads as `encryptedValue` where that is absent, and is never "
                "written",
                "test_retired.py::test_encrypted_content",
            ),
            (
                "A run input that is sent has its `binary` parts upgraded, without a word",
                _STREAM,
                "test_run_input.py::test_a_client_refuses_to_send_what_is_malformed",
            ),
            (
                "What is translated is enforced like any other event",
                "test_retired.py::test_retired_events_are_enforced_after_translation",
            ),
        ],
    ),
    (
        "Middleware",
        [
            (
                "The application's middleware stands between translation and enforcement",
                "http/test_client.py::test_warnings_and_middleware",
            ),
        ],
    ),
    (
        "Enforcement",
        [
            (
                "An unknown event type drops the event, with a warning that names it",
                f"{_UNKNOWN}[event type]",
                "test_warnings.py::test_event_types_are_told_one_by_one",
            ),
            (
                "A property that is not described is removed, with its path; open objects are "
                "exempt",
                _ENFORCE + "test_a_property_that_is_not_described_is_removed",
                _ENFORCE + "test_open_json_is_any_json",
            ),
            (
                "An unknown member of a union or of a closed set goes: the element of a list, the "
                "optional field, or the object that requires it, upward",
                f"{_UNKNOWN}[message role]",
                f"{_UNKNOWN}[optional role]",
                f"{_UNKNOWN}[run outcome]",
                f"{_UNKNOWN}[source type, a required field of its part]",
                f"{_UNKNOWN}[encrypted subtype, a required field of its event]",
                f"{_UNKNOWN}[patch operation]",
            ),
            (
                "A field of one fixed value that holds another is malformed",
                _ENFORCE + "test_a_described_value_that_is_wrong_is_refused",
                _ENFORCE + "test_the_classes_with_one_possible_value_are_known",
            ),
            (
                "A wrong type or a missing field is fatal, names its path, and nothing of the "
                "event is handed over",
                _ENFORCE + "test_a_value_of_another_type_is_malformed",
                _ENFORCE + "test_a_missing_required_field_is_malformed",
                _ENFORCE + "test_a_missing_tag_is_malformed",
                _ENFORCE + "test_a_refused_event_is_refused_though_other_parts_would_go",
            ),
            (
                "Timestamps are integers within 2^53-1, token counts from 0 to there",
                _ENFORCE + "test_timestamps_are_integers",
                _ENFORCE + "test_other_timestamps_are_malformed",
                _ENFORCE + "test_a_token_count_is_a_natural_number",
            ),
            (
                "A patch operation has its JSON Pointers and what RFC 6902 requires; extras stay",
                _ENFORCE + "test_a_malformed_operation_is_refused",
                _ENFORCE + "test_an_operation_is_an_object",
                _ENFORCE + "test_operations_survive_with_all_that_they_carry",
            ),
            (
                "Nothing is coerced; an empty delta is legal",
                _ENFORCE + "test_a_value_of_another_type_is_malformed",
                f"{_EXPAND}[an opener with an empty delta]",
            ),
            (
                "Warnings go to the logger `agui_wire` and to the callback; a conformant stream "
                "gives none",
                "test_warnings.py::test_without_a_callback_warnings_go_to_the_log",
                "test_warnings.py::test_a_warning_says_what_where_and_when",
                "test_warnings.py::test_a_conformant_stream_warns_about_nothing",
            ),
        ],
    ),
    (
        "Expansion of chunks",
        [
            (
                "A chunk event stands for START, CONTENT or ARGS, and END",
                f"{_EXPAND}[text]",
                f"{_EXPAND}[call]",
                f"{_EXPAND}[reasoning]",
            ),
            (
                "A lane holds one open item; a chunk of another, of any kind, closes it",
                f"{_EXPAND}[another item of the same kind]",
                f"{_EXPAND}[another item of another kind]",
                f"{_EXPAND}[lanes side by side]",
            ),
            (
                "A first chunk has its ids: messageId; toolCallId and toolCallName",
                f"{_REFUSE}[text without id]",
                f"{_REFUSE}[reasoning without id]",
                f"{_REFUSE}[call without id]",
                f"{_REFUSE}[call without name]",
            ),
            (
                "An id continues its item in whatever lane; another tag is fatal",
                f"{_EXPAND}[an id finds its lane without a tag]",
                f"{_REFUSE}[another tag]",
                f"{_REFUSE}[a tag on the parent's]",
            ),
            (
                "A tag without an id continues that lane's item",
                f"{_REFUSE}[a tag whose lane holds nothing]",
                f"{_REFUSE}[a tag whose lane holds another kind]",
            ),
            (
                "Neither: the parent's item of that kind, else the only one; several are fatal",
                f"{_EXPAND}[neither id nor tag: the parent's]",
                f"{_EXPAND}[neither id nor tag: the only one of that kind]",
                f"{_REFUSE}[several lanes could be meant]",
            ),
            (
                "A repeated role, name, toolCallName or parentMessageId equals the opener's; an "
                "omitted role counts as assistant",
                f"{_EXPAND}[fields repeated]",
                f"{_REFUSE}[another role]",
                f"{_REFUSE}[another name]",
                f"{_REFUSE}[another tool]",
                f"{_REFUSE}[another parent]",
            ),
            (
                "START has the opener's fields, with its role, without rawEvent",
                f"{_EXPAND}[the opener's fields]",
                f"{_EXPAND}[an opener with a raw event]",
            ),
            (
                "A delta or a rawEvent gives one CONTENT; metadata alone gives an empty one; "
                "nothing gives nothing",
                f"{_EXPAND}[a continuation with a raw event only]",
                f"{_EXPAND}[a continuation with metadata only]",
                f"{_EXPAND}[a continuation with nothing]",
            ),
            ("Timestamps of chunks are not carried over", f"{_EXPAND}[no timestamps]"),
            (
                "END comes before whatever ends the item, in that lane or in every lane",
                "pipeline/test_expand.py::test_what_ends_an_item",
                "pipeline/test_expand.py::test_every_event_type_has_its_line",
            ),
        ],
    ),
    (
        "Sequence: runs and ids",
        [
            (
                "What may come first, in a run, after RUN_FINISHED and after RUN_ERROR",
                _STATES,
                "pipeline/test_verify.py::test_walks_through_the_states",
                _rule("a run in a run"),
                _rule("two failures"),
            ),
            ("RUN_ERROR after RUN_FINISHED is a late failure", _rule("a late failure")),
            ("A new run starts with nothing open", _rule("a failure ends what is open")),
            (
                "START of what is open, or content or END of what is not, is fatal; four separate "
                "namespaces",
                _STATES,
                _rule("content after the end"),
                _rule("interleaved"),
            ),
            (
                "Closed ids may be reopened",
                _rule("reopened"),
                _rule("a call reopened"),
                _rule("reasoning reopened"),
                _rule("a span reopened"),
            ),
            (
                "Steps are counted by name and owner; STEP_FINISHED carries the tag of its start",
                _rule("a step of each owner"),
                _rule("a step twice for one owner"),
                _rule("a step finished by another"),
            ),
            (
                "All that was opened is closed before RUN_FINISHED",
                _rule("open items are named at the end"),
                _rule("an active subagent is named at the end"),
            ),
            (
                "A RUN_FINISHED of another thread or run, or with an interrupt id twice, warns",
                "pipeline/test_verify.py::test_odd_endings_warn_and_end_the_run",
            ),
            (
                "An interrupt outcome without an interrupt is malformed",
                _ENFORCE + "test_a_described_value_that_is_wrong_is_refused",
            ),
            (
                "A protocolVersion that is newer, or no MAJOR.MINOR, warns once",
                "pipeline/test_verify.py::test_protocol_version",
            ),
            (
                "A stream without its terminal event is truncated: never a success, what arrived "
                "stays",
                "pipeline/test_verify.py::test_truncation",
                "pipeline/test_verify.py::test_a_stream_that_ended",
                "http/test_client.py::test_a_body_that_just_ends_is_truncated_too",
            ),
            (
                "RUN_ERROR is delivered and raises nothing",
                "http/test_client.py::test_run_error_is_an_event_and_no_exception",
            ),
        ],
    ),
    (
        "Sequence: subagents and owners",
        [
            (
                "A subagent starts once in a run, under a parent that was announced, and ends "
                "after it started",
                _rule("nested"),
                _rule("ended and started again"),
                _rule("under an unknown parent"),
                _rule("ended twice"),
                _rule("a parent of the run before"),
            ),
            ("Tags without an announcement are fine", _rule("tags without an announcement")),
            (
                'The first writer\'s tag is the owner; no tag is the parent; `""` is an id',
                _rule("another tag on content"),
                _rule("a tag on the parent's"),
                _rule("the empty tag"),
                _rule("the parent's empty tag"),
            ),
            (
                "No tag never disagrees, and an untagged reopening keeps the owner",
                _rule("no tag never disagrees"),
                _rule("reopened without a tag"),
                _rule("an untagged reopening gives nothing away"),
            ),
            (
                "Another tag on START, content, END, a delta or a value is fatal",
                _rule("another tag on the end"),
                _rule("reopened with another tag"),
                _rule("a call's arguments"),
                _rule("an activity of another"),
                _rule("a value for a call"),
            ),
            (
                "Four tables of owners; spans and reasoning messages share one",
                _rule("owners by kind"),
                _rule("a span and its message share an owner"),
            ),
            ("TOOL_CALL_RESULT owns its message", _rule("a result owns its message")),
            (
                "A replacing ACTIVITY_SNAPSHOT owns anew, `replace: false` does not",
                _rule("an activity replaced"),
                _rule("an activity not replaced"),
            ),
            (
                "An untagged call takes its parent message's owner; under another's it is fatal",
                _rule("an untagged call takes its parent's owner"),
                _rule("a tagged call under another's"),
                _rule("reopened under another's"),
            ),
            (
                "A snapshot's messages overwrite owners, those of RUN_STARTED.input fill in",
                _rule("a snapshot overwrites"),
                _rule("the input fills in, it does not overwrite"),
            ),
            ("RUN_STARTED forgets the owners", _rule("owners are forgotten with the run")),
        ],
    ),
    *ASSEMBLY,
    (
        "Run input",
        [
            (
                "Malformed JSON, a missing field or a wrong type is 400 with the path; nothing "
                "starts",
                "test_run_input.py::test_what_is_wrong_is_named",
                "http/test_requests.py::test_a_bad_run_input_is_400_and_names_the_path",
                "http/test_asgi_agent.py::test_requests_that_open_no_run",
            ),
            (
                "Unknown members are removed with a warning",
                "test_run_input.py::test_what_is_tolerated_is_told",
            ),
            (
                "Absent tools, context and resume are empty, absent state is `{}`",
                "test_run_input.py::test_what_may_be_absent_reads_as_empty",
            ),
            (
                "A newer minor version is served with a warning, another major is 400",
                "test_run_input.py::test_what_is_tolerated_is_told",
                "test_run_input.py::test_what_is_wrong_is_named",
            ),
            (
                "A client declares its version, leaves out activities and every None",
                "test_run_input.py::test_a_client_declares_its_version_and_leaves_activities_out",
                "http/test_conversation.py::test_activities_are_kept_and_not_sent",
            ),
            (
                "A client refuses to send what is malformed",
                "test_run_input.py::test_a_client_refuses_to_send_what_is_malformed",
                "http/test_client.py::test_a_malformed_run_input_is_not_sent",
            ),
            (
                "A server fills in RUN_STARTED.protocolVersion",
                _SERVER + "test_protocol_version_is_filled_in_and_split_emoji_leave_whole",
            ),
        ],
    ),
    (
        "HTTP",
        [
            (
                "Before the run, failures are statuses",
                "http/test_requests.py::test_a_failure_before_the_run_is_a_status",
                "http/test_asgi_agent.py::test_an_agent_that_fails_before_its_run",
            ),
            (
                "After the first byte, one RUN_ERROR without internals ends the body",
                _SERVER + "test_an_agent_that_raises_ends_in_one_run_error",
                _SERVER + "test_an_agent_that_just_stops_gets_a_run_error_that_says_so",
                "http/test_asgi_agent.py::test_an_agent_that_fails",
            ),
            (
                "Nothing is written after a terminal event but what may follow it",
                _SERVER + "test_nothing_follows_a_terminal_event_but_what_the_protocol_admits",
            ),
            (
                "When the client is gone, the agent is closed at once, and its clean-up awaited",
                _LEAVES + "test_a_silent_agent_is_closed_at_once_and_awaited",
                "http/test_asgi_agent.py::test_a_client_that_leaves_stops_a_silent_agent",
            ),
            (
                "An idle SSE stream shows life by a comment, a compressed one by an empty block",
                _LEAVES + "test_comments_keep_an_idle_sse_stream_alive_and_lose_nothing",
                _LEAVES + "test_empty_blocks_keep_a_compressed_stream_alive",
            ),
            (
                "The first event leaves before the second is made",
                _SERVER + "test_event_1_is_there_before_event_2_is_produced",
                "http/test_asgi_agent.py::test_an_event_is_there_before_the_next_is_made",
            ),
        ],
    ),
    (
        "The whole",
        [
            ("The protocol's conformance streams, on each wire and in any pieces", _STREAM),
            (
                "Random streams, beside the published client",
                "interop/test_streams.py::test_valid_streams_agree",
                "interop/test_streams.py::test_broken_streams_agree_or_differ_by_a_named_rule",
            ),
        ],
    ),
]
