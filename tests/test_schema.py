"""The compiled schema: up to date, in a pool of its own, and in step with the model."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import get_args

import msgspec
import pytest
from google.protobuf.descriptor import Descriptor

from agui_wire.codecs.protobuf import descriptors
from agui_wire.codecs.protobuf.descriptors import arms, enum_values, event_arms, fields
from agui_wire.events import Event, EventType
from agui_wire.messages import Message

MESSAGES = (
    "Event",
    "BaseEvent",
    *(message for message, _, _ in event_arms().values()),
    "InputContent",
    *(message for _, message in arms("InputContent").values()),
    "InputContentSource",
    *(message for _, message in arms("InputContentSource").values()),
    "Context",
    "Interrupt",
    "JsonPatchOperation",
    "Message",
    "ResumeEntry",
    "RunAgentInput",
    "Tool",
    "ToolCall",
    "ToolCall.Function",
    "Usage",
)


def python(code: str) -> str:
    """What `code` prints in an interpreter of its own, which must end well."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_shipped_schema_is_what_the_sources_compile_to() -> None:
    pytest.importorskip("grpc_tools")
    from tools.compile_proto import SCHEMA, compile_schema

    assert SCHEMA.read_bytes() == compile_schema(), "run: python tools/compile_proto.py"


def test_nothing_of_ours_is_in_the_default_pool() -> None:
    printed = python(
        f"""
        from google.protobuf import descriptor_pool
        from agui_wire.codecs.protobuf.descriptors import message_class
        for name in {MESSAGES!r}:
            message_class(name)
            try:
                descriptor_pool.Default().FindMessageTypeByName(f"agui_wire.v1.{{name}}")
            except KeyError:
                pass
            else:
                print(name)
        for file in ("content", "events", "messages", "patch", "run_input"):
            try:
                descriptor_pool.Default().FindFileByName(f"agui_wire/v1/{{file}}.proto")
            except KeyError:
                pass
            else:
                print(file)
        print("done")
        """
    )
    assert printed == "done"


@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_other_schemas_of_the_same_names_live_beside_ours(first: str) -> None:
    """Another package's `ag_ui.Event`, and what a user generates from our own proto/."""
    printed = python(
        f"""
        from importlib.resources import files
        from google.protobuf import descriptor_pool, struct_pb2
        from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
        from google.protobuf.message_factory import GetMessageClass
        from agui_wire.codecs.protobuf.descriptors import message_class

        pool = descriptor_pool.Default()

        def theirs():
            foreign = FileDescriptorProto(name="events.proto", package="ag_ui", syntax="proto3")
            message = foreign.message_type.add(name="Event")
            message.field.add(name="payload", number=1, type=9, label=1)
            pool.AddSerializedFile(foreign.SerializeToString())
            schema = (files("agui_wire.codecs.protobuf") / "schema.binpb").read_bytes()
            for file in FileDescriptorSet.FromString(schema).file:
                pool.AddSerializedFile(file.SerializeToString())
            event = GetMessageClass(pool.FindMessageTypeByName("ag_ui.Event"))
            assert event(payload="x").SerializeToString() == b"\\x0a\\x01x"
            message = GetMessageClass(pool.FindMessageTypeByName("agui_wire.v1.CustomEvent"))
            value = struct_pb2.Value(string_value="x")
            assert message(value=value).SerializeToString() == b"\\x1a\\x03\\x1a\\x01x"

        def ours():
            message = message_class("CustomEvent")
            assert message(value=[b"\\x1a\\x01x"]).SerializeToString() == b"\\x1a\\x03\\x1a\\x01x"

        for load in {"(theirs, ours)" if first == "theirs" else "(ours, theirs)"}:
            load()
        print("done")
        """
    )
    assert printed == "done"


def test_the_tables_load_without_protobuf_until_asked() -> None:
    printed = python(
        """
        import sys
        import agui_wire.codecs.protobuf.descriptors
        print([name for name in sys.modules if name.startswith("google")])
        """
    )
    assert printed == "[]"


@pytest.mark.parametrize("name", MESSAGES)
def test_tables_agree_with_the_classes(name: str) -> None:
    descriptor = descriptors.message_class(name).DESCRIPTOR
    assert descriptor.full_name == f"agui_wire.v1.{name}"
    table = fields(name)
    assert [field.number for field in table] == sorted(descriptor.fields_by_number)
    for field in table:
        theirs = descriptor.fields_by_number[field.number]
        assert (theirs.name, theirs.json_name) == (field.name, field.json_name)
        if field.kind in ("value", "struct", "content", "source"):
            assert theirs.type == theirs.TYPE_BYTES
        elif field.kind == "message":
            assert isinstance(theirs.message_type, Descriptor)
            assert theirs.message_type.full_name == f"agui_wire.v1.{field.message}"
        elif not field.repeated:
            assert theirs.has_presence == field.optional


def test_opaque_fields_keep_every_payload() -> None:
    image = descriptors.message_class("ImageInputPart")
    twice = b"\x0a\x02\x0a\x00" + b"\x0a\x02\x12\x00"
    assert list(image.FromString(twice).source) == [b"\x0a\x00", b"\x12\x00"]  # type: ignore[attr-defined]


def test_every_event_has_an_arm() -> None:
    classes = {cls.__name__: str(cls.type.value) for cls in get_args(Event)}
    assert {message: name for message, name, _ in event_arms().values()} == classes
    assert enum_values("EventType").keys() == set(EventType.__members__)
    assert sorted(number for _, _, number in event_arms().values()) == list(range(31))


# What travels under another name, or inside another field.
_RESHAPED = {
    "RunFinishedEvent": {"outcome", "interrupts", "pendingToolCallIds"},
    "SubagentFinishedEvent": {"outcome", "interruptIds"},
    "ToolCallResultEvent": {"contentParts"},
}


def _json_names(cls: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(cls)}


@pytest.mark.parametrize("cls", get_args(Event), ids=lambda cls: str(cls.__name__))
def test_every_member_of_an_event_has_a_field(cls: type[msgspec.Struct]) -> None:
    base = {field.json_name for field in fields("BaseEvent")} - {"type"}
    own = {field.json_name for field in fields(cls.__name__)} - {"baseEvent"}
    reshaped = _RESHAPED.get(cls.__name__, set())
    assert (base | own) - reshaped == _json_names(cls) - reshaped


def test_every_member_of_a_message_has_a_field() -> None:
    wire = {field.json_name for field in fields("Message")}
    members = set[str]().union(*map(_json_names, get_args(Message)))
    assert wire - {"contentParts", "activityContent", "role"} == members
