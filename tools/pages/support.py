"""docs/protocol-support.md: every event, role, part, retired shape and rule, with its tests."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any, get_args

import msgspec

from agui_wire import events, messages
from agui_wire.codecs.protobuf.descriptors import event_arms
from agui_wire.pipeline.retired import RETIRED_TYPES

from . import Section
from .markdown import code, table, tests
from .rules_processing import PROCESSING
from .rules_wire import WIRE

__all__ = ["RULES", "named_tests", "support_page"]

RULES: list[Section] = [*WIRE, *PROCESSING]

_HEAD = """\
# Protocol support

Protocol 1.0, whole: reading, writing, and the processing of a stream. Where a test is named, it is
below `tests/`, and `python -m pytest "tests/NAME"` runs it. A name without the part in brackets
stands for all cases of that test; so does the first part of what is in brackets.

This page is written by `python -m tools.pages` from the classes of the model and from the tables
in `tools/pages/`. The tests check that it is up to date, that it lists every class of the model,
and that each test it names exists.
"""

_CLASS_TEST = "test_model.py::test_fields[{}]"

# What does not depend on the class alone: how the tests of a table are named.
_TABLES: list[tuple[str, str, Any, str, str]] = [
    (
        "Message roles",
        "Each is checked against the published model, and goes round on every wire.",
        messages.Message,
        "role",
        "test_roundtrip.py::test_messages[{}]",
    ),
    (
        "Content parts",
        "In user and tool messages, and in TOOL_CALL_RESULT.",
        messages.ContentPart,
        "type",
        "test_enforce.py::test_the_minimal_object_of_every_class_is_accepted[{}]",
    ),
    (
        "Sources of media parts",
        "",
        messages.PartSource,
        "type",
        "test_enforce.py::test_the_minimal_object_of_every_class_is_accepted[{}]",
    ),
    (
        "Outcomes of RUN_FINISHED",
        "",
        events.RunFinishedOutcome,
        "type",
        "test_enforce.py::test_the_minimal_object_of_every_class_is_accepted[{}]",
    ),
    (
        "Outcomes of SUBAGENT_FINISHED",
        "",
        events.SubagentFinishedOutcome,
        "type",
        "test_enforce.py::test_the_minimal_object_of_every_class_is_accepted[{}]",
    ),
]

_EVENT_TESTS = (
    "test_roundtrip.py::test_events[{0}]",
    "interop/test_proto.py::test_random_events[{1}]",
)

_RETIRED = [
    (
        *(f"`{old}`", f"`{new[0]}`, with an id that is made up"),
        ["test_retired.py::test_thinking_reads_as_reasoning"],
    )
    for old, new in RETIRED_TYPES.items()
] + [
    (
        "a content part `binary`",
        "`image`, `audio`, `video` or `document`",
        ["test_retired.py::test_binary_parts"],
    ),
    (
        "`encryptedContent` of a message or a tool call",
        "`encryptedValue`",
        ["test_retired.py::test_encrypted_content"],
    ),
    (
        "`null` in an optional place",
        "absence",
        ["test_enforce.py::test_a_null_in_an_optional_field_is_absence"],
    ),
]


def support_page() -> str:
    """The page."""
    parts = [_HEAD, *_events(), *_members(), *_retired(), *_rules()]
    return "\n".join(parts)


def named_tests() -> list[str]:
    """Every test that the page names."""
    named = [test for _, rules in RULES for rule in rules for test in rule[1:]]
    for cls in get_args(events.Event):
        named += [pattern.format(cls.__name__, cls.type.value) for pattern in _EVENT_TESTS]
        named.append(_CLASS_TEST.format(cls.__name__))
    for _, _, union, _, pattern in _TABLES:
        for cls in get_args(union):
            named += [pattern.format(cls.__name__), _CLASS_TEST.format(cls.__name__)]
    named += [test for _, _, tests_ in _RETIRED for test in tests_]
    return sorted(set(named))


def _members_of(cls: type[msgspec.Struct], besides: Container[str] = ()) -> str:
    """The members of a class, required ones first, a question mark behind the others."""
    # A default that is made by a function is written all the same: the wire requires the field.
    fields = sorted(
        msgspec.structs.fields(cls), key=lambda field: field.default is not msgspec.NODEFAULT
    )
    return code(
        f"{field.encode_name}{'' if field.default is msgspec.NODEFAULT else '?'}"
        for field in fields
        if field.encode_name not in besides
    )


def _events() -> Iterator[str]:
    arms = {name: number for number, (_, name, _) in event_arms().items()}
    common = [field.encode_name for field in msgspec.structs.fields(events.BaseEvent)]
    yield "## Events\n"
    yield (
        f"Every event may carry {code(common)} too; a member with a question mark may be absent. "
        "The number is the event's field in the protobuf message `Event`. Each is also checked "
        "against the published model, in "
        f"`{_CLASS_TEST.format('CLASS')}`.\n"
    )
    rows = [
        (
            f"`{cls.type.value}`",
            str(arms[cls.type.value]),
            _summary(cls),
            _members_of(cls, common),
            tests(pattern.format(cls.__name__, cls.type.value) for pattern in _EVENT_TESTS),
        )
        for cls in get_args(events.Event)
    ]
    yield table(("type", "field", "what it says", "members", "tests"), rows)
    yield ""


def _members() -> Iterator[str]:
    for title, text, union, tag, pattern in _TABLES:
        yield f"## {title}\n"
        if text:
            yield f"{text}\n"
        rows = [
            (
                f"`{getattr(cls, tag)}`",
                _summary(cls),
                _members_of(cls),
                tests([pattern.format(cls.__name__)]),
            )
            for cls in get_args(union)
        ]
        yield table((tag, "what it is", "members", "test"), rows)
        yield ""


def _retired() -> Iterator[str]:
    yield "## Retired shapes\n"
    yield "What peers before 1.0 send, and what it is read as; each conversion warns.\n"
    yield table(("sent", "read as", "test"), [(a, b, tests(c)) for a, b, c in _RETIRED])
    yield ""


def _rules() -> Iterator[str]:
    yield "## Rules\n"
    for title, rules in RULES:
        yield f"### {title}\n"
        yield table(("rule", "tests"), [(rule[0], tests(rule[1:])) for rule in rules])
        yield ""


def _summary(cls: type) -> str:
    return (cls.__doc__ or "").partition("\n")[0].rstrip(".")
