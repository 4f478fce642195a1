"""The rules about bytes, each with the tests that drive it; paths are relative to tests/.

A test is named as pytest names it. Of a test with parameters, the part before the last ones
is enough: `test_frame[a]` stands for `test_frame[a-sse]` too.
"""

from __future__ import annotations

from . import Section

_VERDICT = "test_vectors.py::test_a_malformed_frame_ends_the_stream_at_its_place[reference-"
_READS = "test_vectors.py::test_a_frame_after_enforcement[reference-"
_ACCEPT = "test_media_types.py::test_the_accept_matrix"
_HEADERS = "http/test_server.py::test_the_headers_that_leave_the_socket"
_BYTES = "test_vectors.py::test_encoding_the_struct_gives_the_published_bytes"
_FAULT = "test_decoder.py::test_events_before_a_fault_come_out_and_it_is_located"


def _malformed(name: str) -> str:
    return f"{_VERDICT}{name}]"


def _read(name: str) -> str:
    return f"{_READS}{name}]"


WIRE: list[Section] = [
    (
        "Media types and frames",
        [
            (
                "SSE: `data: `, one JSON object and an empty line, with LF only",
                "test_encoder.py::test_text",
            ),
            (
                "Protobuf and MessagePack: a 4-byte big-endian length, then one event",
                "test_framing.py::test_binary_frames_are_the_stream",
                "test_framing.py::test_payload_is_what_follows_the_prefix",
            ),
            (
                "MessagePack holds one map with the keys of the JSON",
                "test_vectors.py::test_three_wires_give_equal_events",
            ),
            ("A response names its media type exactly, without a parameter", _HEADERS),
            (
                "A reader ignores parameters and letter case of a Content-Type",
                "test_media_types.py::test_readers_are_liberal_about_a_content_type",
            ),
            (
                "The request is a POST of a run input as application/json",
                "http/test_client.py::test_what_a_client_asks_for",
                "http/test_requests.py::test_another_content_type_is_415",
            ),
        ],
    ),
    (
        "Negotiation",
        [
            ("Protobuf is chosen where Accept names it with q > 0", _ACCEPT),
            (
                "Wildcards get SSE, and protobuf only with `wildcards=True`",
                _ACCEPT,
                "test_encoder.py::test_wildcards_admit_protobuf_where_asked",
            ),
            ("MessagePack is chosen by name only, where protobuf is not named", _ACCEPT),
            ("q is not compared between the types", _ACCEPT),
            (
                "No Accept, an empty or unreadable one: SSE, never an exception",
                _ACCEPT,
                "test_media_types.py::test_no_header_is_an_exception",
            ),
            ("A parameter other than q makes it another type; letter case does not", _ACCEPT),
            (
                "Repeated Accept lines are one",
                "http/test_server.py::test_repeated_accept_lines_are_one_header",
            ),
            ("Quoted strings may hold commas", _ACCEPT),
            (
                "A response carries `Vary: Accept`",
                _HEADERS,
                "http/test_asgi_agent.py::test_headers",
                "http/test_asgi_transport.py::test_headers",
            ),
            (
                "A client names every type that it reads, and text/event-stream",
                "http/test_client.py::test_what_a_client_asks_for",
            ),
            (
                "The answer's Content-Type alone chooses the parser",
                "http/test_client.py::test_the_content_type_of_the_answer_alone_decides",
                "test_decoder.py::test_the_content_type_alone_chooses_the_wire",
            ),
            (
                "Another status than 2xx, or another content type, is an error that says which",
                "http/test_client.py::test_an_answer_that_is_no_stream",
            ),
        ],
    ),
    (
        "Reading SSE",
        [
            (
                "LF, CRLF and CR, mixed, and cut anywhere",
                "test_framing.py::test_sse_frames_are_the_same_wherever_the_stream_is_cut",
                "test_fuzz.py::test_any_mixture_of_line_ends",
                "http/test_client.py::test_crlf_and_one_byte_at_a_time",
            ),
            (
                "A BOM, `data:` without a space, comments, `event:`, `id:`, `retry:`, other fields",
                "test_framing.py::test_sse_data",
            ),
            (
                "Several data lines are joined",
                "test_framing.py::test_sse_data",
                "test_decoder.py::test_json_may_span_several_data_lines",
            ),
            (
                "An event ends at its empty line and is not held back behind it",
                "test_framing.py::test_a_complete_event_is_not_held_back",
            ),
            (
                "A last event without its empty line is read where its JSON is whole",
                "test_decoder.py::test_an_sse_stream_cut_anywhere_loses_nothing_in_silence",
            ),
            (
                "UTF-8 may be cut anywhere",
                "test_decoder.py::test_text_is_cut_nowhere",
                "test_vectors.py::test_any_chunking_gives_the_same_events",
            ),
            (
                "Empty data is skipped with a warning",
                "test_decoder.py::test_empty_sse_data_is_skipped_with_a_warning",
            ),
            (
                "An event is an object with a string `type`; all else is malformed",
                f"{_FAULT}[reference-sse-no type]",
                f"{_FAULT}[reference-sse-a type that is no text]",
                "test_fuzz.py::test_any_text",
            ),
        ],
    ),
    (
        "Text",
        [
            (
                "An escaped half of a surrogate pair is read",
                "test_decoder.py::test_escaped_surrogates_are_read",
            ),
            (
                "Halves that meet in one message join; one that stays alone reads as U+FFFD, with "
                "a warning",
                "pipeline/test_assemble.py::test_halves_of_a_character",
                "pipeline/test_assemble.py::test_halves_of_a_character_in_arguments",
                "pipeline/test_assemble.py::test_half_at_the_end_of_a_part_stays_alone",
            ),
            (
                "Bytes that are not UTF-8 are malformed on every wire",
                f"{_FAULT}[reference-sse-not UTF-8]",
                f"{_FAULT}[reference-msgpack-text not UTF-8]",
                _malformed("invalid-utf8-delta"),
                _malformed("utf8-overlong-nul"),
            ),
            (
                "Half a pair in an event to be written becomes U+FFFD, with a warning "
                "(`surrogates`)",
                "test_plain.py::test_halves_of_surrogate_pairs",
            ),
            (
                "A stream writer joins the halves that two deltas split",
                "http/test_server.py::test_protocol_version_is_filled_in_and_split_emoji_leave_whole",
            ),
        ],
    ),
    (
        "Limits of a reader",
        [
            (
                "A frame has 10 MiB at most, its prefix included (`max_frame_size`)",
                "test_framing.py::test_the_limit_is_the_largest_frame_that_passes",
            ),
            (
                "A length over the limit is refused as soon as the prefix is there",
                "test_framing.py::test_a_length_over_the_limit_is_refused_by_its_prefix",
            ),
            (
                "An SSE event is measured over all its lines, also where it never ends",
                "test_framing.py::test_an_sse_event_is_measured_over_all_its_lines",
                "test_framing.py::test_an_sse_event_that_never_ends_is_refused_at_the_limit",
            ),
            (
                "An end inside a frame is a truncated stream",
                "test_framing.py::test_an_end_inside_a_frame_is_truncation",
                "test_framing.py::test_sse_cut_before_the_data_is_truncated",
            ),
            (
                "A frame of length zero is malformed on protobuf",
                _malformed("empty-payload"),
            ),
            (
                "JSON has 100 levels at most, alike on every wire (`max_depth`)",
                "test_decoder.py::test_json_is_read_to_a_hundred_levels",
                "test_decoder.py::test_deeper_json_is_refused_in_the_same_words_on_every_wire",
                "test_decoder.py::test_the_depth_limit_is_settable",
                _malformed("snapshot-list-depth-5000"),
            ),
            (
                "Deeper JSON is not written; past 32 levels one warning says who refuses it",
                "test_plain.py::test_depth",
                "test_plain.py::test_endless_depth",
                "test_encoder.py::test_depth_that_some_runtimes_refuse",
            ),
            (
                "Objects nested 60 deep, which google's runtimes refuse, are read",
                "interop/test_proto.py::test_objects_nested_beyond_google_runtimes",
            ),
        ],
    ),
    (
        "The protobuf schema",
        [
            (
                "Every member of every event and message has its field",
                "test_schema.py::test_every_member_of_an_event_has_a_field",
                "test_schema.py::test_every_member_of_a_message_has_a_field",
                "test_schema.py::test_tables_agree_with_the_classes",
            ),
            ("Every event has its arm", "test_schema.py::test_every_event_has_an_arm"),
            (
                "Numbers, types and presence are those of the published packages: equal bytes, "
                "fields ascending, maps in insertion order, no empty key written",
                _BYTES,
                "test_vectors.py::test_decoding_the_published_bytes_gives_the_event",
                "interop/test_proto.py::test_vectors",
                "interop/test_proto.py::test_random_events",
            ),
            (
                "Keys that look like integers are outside byte parity",
                "interop/test_proto.py::test_integer_like_keys_differ_in_order_only",
            ),
            (
                "The package name is ours, so generated modules of others stand beside it",
                "test_schema.py::test_other_schemas_of_the_same_names_live_beside_ours",
                "test_schema.py::test_nothing_of_ours_is_in_the_default_pool",
            ),
            (
                "The schema that is shipped is what the .proto files compile to",
                "test_schema.py::test_shipped_schema_is_what_the_sources_compile_to",
            ),
            (
                "`encryptedValueType`, an addition of 1.1, is carried",
                "pipeline/test_assemble.py::test_messages[an encrypted value takes its type along]",
                "test_schema.py::test_every_member_of_an_event_has_a_field"
                "[ReasoningEncryptedValueEvent]",
            ),
        ],
    ),
    (
        "Where JSON and protobuf differ in shape",
        [
            (
                "`type`, `timestamp`, `rawEvent` and `metadata` ride in base_event, which is "
                "always there",
                _BYTES,
                _malformed("no-base-event"),
            ),
            (
                "Text content and a list of parts have carriers of their own; without one, user "
                "and tool have the empty list",
                _read("message-user-no-content"),
                _read("message-tool-no-content"),
                "test_roundtrip.py::test_empty_is_not_absent",
            ),
            (
                "An assistant without content has none",
                _read("message-assistant-no-content"),
            ),
            (
                "An activity's object has its carrier, written also when empty",
                _malformed("message-activity-string-content"),
                _read("message-activity-no-content"),
                "test_roundtrip.py::test_empty_is_not_absent",
            ),
            (
                "A carrier that the role does not use, or two at once, is malformed",
                _malformed("message-user-content-and-parts"),
                _malformed("message-assistant-with-parts"),
                _malformed("tool-result-content-and-parts"),
            ),
            (
                "TOOL_CALL_RESULT carries text or parts by the same rule",
                _read("tool-result-empty-string"),
            ),
            (
                "The outcome of RUN_FINISHED is a string with lists beside it; an empty one is "
                "absence, an unknown one is unrecognised material",
                _read("outcome-empty-string"),
                _read("outcome-unknown"),
                _read("outcome-absent-with-interrupts"),
                _read("outcome-success-with-interrupts"),
                _read("outcome-interrupt-empty"),
            ),
            (
                "SUBAGENT_FINISHED likewise",
                "test_roundtrip.py::test_events[SubagentFinishedEvent]",
            ),
            (
                "Lists that RUN_STARTED.input left out read as empty",
                "test_roundtrip.py::test_absent_lists_of_a_run_input_are_empty_ones",
                _read("run-started-input-minimal"),
            ),
            (
                "Empty `toolCalls`, `usage`, `pendingToolCallIds` and `interruptIds` are absent",
                "test_roundtrip.py::test_lists_whose_emptiness_is_absence",
                _read("usage-empty"),
            ),
            (
                "An unknown number of a patch operation drops the operation, with a warning",
                _read("patch-unknown-op"),
                _read("patch-op-default-add"),
            ),
            (
                "A patch operation carries `value` and `from` also as extras, a null value too; "
                "other members are lost, with one warning",
                "test_enforce.py::test_operations_survive_with_all_that_they_carry",
                "test_encoder.py::test_members_of_a_patch_operation",
            ),
            (
                "A `Value` without a kind: absent, a missing field, or null in a list; an entry "
                "without a value is left out",
                _read("snapshot-value-absent"),
                _read("snapshot-value-empty-message"),
                _read("snapshot-list-empty-value"),
                _read("snapshot-map-entry-without-value"),
            ),
            (
                "An absent required string reads as empty",
                _read("missing-required-strings-read-empty"),
            ),
            (
                "One normal form: three wires give equal events",
                "test_decoder.py::test_one_normal_form",
                "test_decoder.py::test_the_same_stream_reads_the_same_on_every_wire",
                "test_vectors.py::test_three_wires_give_equal_events",
            ),
        ],
    ),
    (
        "Numbers and values of Python",
        [
            (
                "A protobuf double that is integral within 2^53 reads as an int, -0.0 and others "
                "as a float",
                "test_decoder.py::test_protobuf_numbers_are_integers_where_a_double_counts",
                _read("snapshot-negative-zero"),
            ),
            (
                "An int that the wire cannot hold exactly is an EncodeError with its path "
                "(`lossy_int`)",
                "test_plain.py::test_integers",
                "test_plain.py::test_integers_that_python_does_not_spell",
            ),
            ("JSON keeps every int exactly", "test_decoder.py::test_json_numbers"),
            (
                "NaN and infinities are written as null (`non_finite`), and read as null from "
                "protobuf, with a warning",
                "test_plain.py::test_numbers_that_json_lacks",
                "test_decoder.py::test_a_number_that_json_has_not_reads_as_null",
                _read("snapshot-nan"),
            ),
            (
                "datetime, UUID, Decimal, bytes, sets and tuples become what the SDK's JSON makes "
                "of them, on every wire",
                "test_sdk.py::test_values_in_open_json",
                "test_plain.py::test_values",
            ),
            (
                "Keys that are no strings become what JSON makes of them; two that fall together "
                "are an EncodeError",
                "test_plain.py::test_keys_that_fall_together",
            ),
            (
                "An integral timestamp reads as an int, however it is spelled",
                "test_enforce.py::test_timestamps_are_integers",
            ),
        ],
    ),
    (
        "Verdicts on protobuf bytes",
        [
            ("No arm is malformed", _malformed("empty-payload")),
            (
                "An arm beside another is malformed, in an event, a part and a source",
                _malformed("two-arms-different"),
                _malformed("message-user-source-two-arms"),
            ),
            ("In a `Value` the last kind wins", _read("snapshot-two-kinds-last-wins")),
            ("A known arm of another wire type is malformed", _malformed("known-arm-as-varint")),
            (
                "No base_event, or a type that disagrees with the arm, is malformed",
                _malformed("no-base-event"),
                _malformed("envelope-type-mismatch"),
                _malformed("type-enum-unknown"),
            ),
            (
                "Field number 0 and the wire types 6 and 7 are malformed",
                _malformed("field-zero"),
                _malformed("wiretype-6"),
                _malformed("wiretype-7"),
            ),
            (
                "Groups that do not close in order are malformed",
                _malformed("unclosed-group"),
                _malformed("stray-end-group"),
            ),
            (
                "Lengths past the end are malformed",
                _malformed("truncated-length"),
                _malformed("truncated-tag"),
                _malformed("inner-length-overrun"),
                "test_vectors.py::test_a_payload_cut_short_is_malformed",
            ),
            ("A varint over ten bytes is malformed", _malformed("eleven-byte-varint")),
            (
                "A timestamp or a token count out of range is malformed",
                _malformed("timestamp-beyond-safe"),
                _read("usage-negative-count"),
            ),
            (
                "Unknown fields are tolerated anywhere, groups too",
                _read("unknown-field-in-event"),
                _read("unknown-varint-field-in-event"),
                _read("unknown-group-in-event"),
                _read("future-arm-beside-known"),
            ),
            (
                "A known field of another wire type is an unknown field",
                _read("delta-wrong-wiretype-varint"),
            ),
            (
                "The same arm or sub-message twice merges; of a scalar the last wins",
                _read("same-arm-twice-merges"),
                _read("base-event-split-merges"),
                _read("snapshot-struct-then-struct-merges"),
            ),
            ("Varints need not be minimal", _read("overlong-varint-length")),
            ("Of a map key the last wins", _read("snapshot-map-duplicate-key-last-wins")),
            (
                "An unknown arm alone drops the frame with a warning; one that is no message is "
                "malformed",
                "test_vectors.py::test_an_event_of_a_newer_protocol_is_dropped_with_one_warning_per_kind",
                _malformed("future-arm-not-a-message"),
                _malformed("future-arm-varint-wiretype"),
            ),
            (
                "The native engine and the reference engine agree on all of this",
                "native/test_mutations.py::test_mutated_input_ends_alike",
                "native/test_reading.py::test_mutated_streams_end_alike",
                "native/test_consumer.py::test_the_engines_consume_alike",
                "native/test_writing.py::test_random_events_are_written_alike_or_handed_back",
            ),
        ],
    ),
]
