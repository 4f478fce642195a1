"""docs/differences.md: where this package and its peers part, from the lists that tests hold to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tests.conformance.test_conformance import IGNORED, UNCARRIED
from tests.interop.differences import DIFFERENCES
from tests.interop.test_client import NAMED_DIFFERENCES
from tests.pipeline.test_patch import KNOWN_DIFFERENCES

from .markdown import table, tests

__all__ = ["LISTS", "differences_page"]


class KnownList(NamedTuple):
    """A checked-in list of differences: where it is, what it says, and what holds it to be true."""

    title: str
    source: str
    text: str
    entries: Mapping[str, str]
    tests: tuple[str, ...]


_FROM_RULES = {
    "bytes that are not UTF-8": "malformed here, as protobuf rules; the published decoder "
    "replaces them",
    "JSON deeper than 100 levels": "refused here; the published decoder has no such limit",
    "NaN and infinities": "written as null here, on every wire; the published protobuf encoder "
    "writes the double. Read as null, with a warning",
    "keys that look like integers": "JavaScript moves them to the front of an object: the bytes "
    "differ in their order, the values are equal",
}

LISTS = [
    KnownList(
        "Against @ag-ui/client 1.0.0",
        "tests/interop/differences.py",
        "Streams of random events, whole and broken, are read by both. They agree, or one of "
        "these rules says why not.",
        {name: rule.reason for name, rule in DIFFERENCES.items()},
        (
            "interop/test_streams.py::test_each_named_difference_is_real",
            "interop/test_streams.py::test_broken_streams_agree_or_differ_by_a_named_rule",
        ),
    ),
    KnownList(
        "Conformance streams that @ag-ui/client judges otherwise",
        "tests/interop/test_client.py",
        "The published client takes a stream without a terminal event for a success.",
        dict.fromkeys(sorted(NAMED_DIFFERENCES), "no error there, `TruncatedStream` here"),
        ("interop/test_client.py::test_our_bodies_say_what_the_events_say",),
    ),
    KnownList(
        "Against @ag-ui/proto 1.0.0",
        "tools/pages/differences.py",
        "Bytes that both write are equal and each reads the other's. The rest:",
        _FROM_RULES,
        (
            "test_vectors.py::test_a_malformed_frame_ends_the_stream_at_its_place"
            "[reference-invalid-utf8-delta]",
            "test_vectors.py::test_a_malformed_frame_ends_the_stream_at_its_place"
            "[reference-snapshot-list-depth-5000]",
            "test_plain.py::test_numbers_that_json_lacks",
            "test_vectors.py::test_a_frame_after_enforcement[reference-snapshot-nan]",
            "interop/test_proto.py::test_integer_like_keys_differ_in_order_only",
        ),
    ),
    KnownList(
        "Against ag_ui.encoder",
        "tests/sdk.py",
        "On SSE the text is byte for byte the SDK's, with the pydantic that is installed.",
        {
            "a required null with SDKs before 1.0": "`STATE_SNAPSHOT.snapshot`, `CUSTOM.value` "
            "and `RAW.event` of None, and None inside a model that stands in the state, are "
            "data here; those SDKs leave them out",
            "Accept that names protobuf": "binary here; the SDK's encoder answers SSE",
        },
        (
            "test_sdk.py::test_text",
            "test_sdk.py::test_none_in_open_json_is_data",
            "test_encoder.py::test_one_decision_for_all_verbs",
        ),
    ),
    KnownList(
        "What protobuf cannot carry",
        "tests/conformance/test_conformance.py",
        "Conformance streams that no protobuf bytes express, so that there is nothing to read.",
        UNCARRIED,
        (
            "conformance/test_conformance.py"
            "::test_what_protobuf_cannot_carry_is_listed_for_a_reason",
        ),
    ),
    KnownList(
        "Conformance streams that are judged otherwise here",
        "tests/conformance/test_conformance.py",
        "Meant to stay empty.",
        IGNORED,
        ("conformance/test_conformance.py::test_lists_name_streams_that_exist",),
    ),
    KnownList(
        "Against jsonpatch",
        "tests/pipeline/test_patch.py",
        "Random JSON Patches, one operation at a time; RFC 6902 decides.",
        dict.fromkeys(KNOWN_DIFFERENCES, "a failure there, a result here"),
        (
            "pipeline/test_patch.py::test_known_difference_is_one",
            "pipeline/test_patch.py::test_against_jsonpatch_one_operation_at_a_time",
        ),
    ),
]

_HEAD = """\
# Known differences

Where this package and others part on purpose. Each list below is one that the tests hold to: a
difference that is on none of them fails a test, and so does one that has gone away. What the
protocol itself rules is in [protocol support](protocol-support.md).

This page is written by `python -m tools.pages`.
"""


def differences_page() -> str:
    """The page."""
    parts = [_HEAD]
    for each in LISTS:
        parts.append(f"## {each.title}\n\n{each.text}\n")
        if each.entries:
            parts.append(table(("difference", "what happens"), list(each.entries.items())))
        else:
            parts.append("None.")
        parts.append(f"\nThe list: `{each.source}`. The tests:<br>{tests(each.tests)}\n")
    return "\n".join(parts)
