"""The public surface: names, signatures, and what an import loads."""

from __future__ import annotations

import inspect
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

import agui_wire

NAMES = {
    "AGUI_MEDIA_TYPE",
    "MSGPACK_MEDIA_TYPE",
    "PROTOCOL_VERSION",
    "SSE_MEDIA_TYPE",
    "AguiWireError",
    "DepthExceeded",
    "EncodeError",
    "Event",
    "EventEncoder",
    "EventType",
    "FrameReader",
    "FrameTooLarge",
    "MalformedEvent",
    "MalformedFrame",
    "Message",
    "MessageAssembler",
    "ProtocolViolation",
    "RunAgentInput",
    "RunInputError",
    "StreamConsumer",
    "StreamDecoder",
    "StreamError",
    "StreamWarning",
    "TruncatedStream",
    "UnexpectedResponse",
    "decode",
    "dropin",
    "encode",
    "events",
    "from_dict",
    "messages",
    "negotiate",
    "protobuf_engine",
    "read_run_input",
    "run_input",
    "to_dict",
    "write_run_input",
}

SIGNATURES = {
    "EventEncoder": "accept=None, *, wildcards=False, max_frame_size=10485760, max_depth=100, "
    "lossy_int='raise', non_finite='null', surrogates='replace', on_warning=None",
    "EventEncoder.encode": "self, event",
    "EventEncoder.encode_binary": "self, event",
    "EventEncoder.encode_many": "self, events",
    "EventEncoder.get_content_type": "self",
    "FrameReader": "media_type, *, max_frame_size=10485760",
    "FrameReader.feed": "self, data",
    "FrameReader.close": "self",
    "FrameReader.payload": "self, frame",
    "StreamConsumer": "content_type, *, run_input=None, middleware=(), max_frame_size=10485760, "
    "max_depth=100, on_warning=None",
    "StreamConsumer.feed": "self, data",
    "StreamConsumer.close": "self",
    "MessageAssembler.apply": "self, event",
    "MessageAssembler.partial_arguments": "self, tool_call_id",
    "read_run_input": "body, *, on_warning=None",
    "write_run_input": "run_input",
    "StreamDecoder": "content_type, *, max_frame_size=10485760, max_depth=100, on_warning=None",
    "StreamDecoder.feed": "self, data",
    "StreamDecoder.close": "self",
    "decode": "body, media_type, *, max_depth=100",
    "dropin.install": "*, lossy_int='raise'",
    "dropin.uninstall": "",
    "encode": "event, media_type, **options",
    "from_dict": "obj",
    "negotiate": "accept, *, wildcards=False",
    "protobuf_engine": "",
    "to_dict": "value",
}

MEMBERS = {
    "EventEncoder": {
        "content_type",
        "encode",
        "encode_binary",
        "encode_many",
        "get_content_type",
    },
    "FrameReader": {"close", "feed", "payload"},
    "StreamDecoder": {"close", "feed"},
    "StreamWarning": {"count", "event_index", "kind", "message", "path"},
}

# Loaded only by what needs them, so that an import stays cheap and asks for nothing optional.
HEAVY = ("aiohttp", "google.protobuf", "pydantic", "ag_ui", "asyncio")


def resolve(name: str) -> Any:
    found: Any = agui_wire
    for part in name.split("."):
        found = getattr(found, part)
    return found


def test_names() -> None:
    assert set(agui_wire.__all__) == NAMES
    assert sorted(set(agui_wire.__all__)) == sorted(agui_wire.__all__)
    missing = {name for name in agui_wire.__all__ if not hasattr(agui_wire, name)}
    assert not missing


def test_whatever_else_can_be_seen_is_a_module() -> None:
    others = {
        name: value
        for name, value in vars(agui_wire).items()
        if not name.startswith("_") and name not in agui_wire.__all__ and name != "annotations"
    }
    assert {name for name, value in others.items() if not isinstance(value, ModuleType)} == set()


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name: str) -> None:
    parameters = [
        parameter.replace(annotation=parameter.empty)
        for parameter in inspect.signature(resolve(name)).parameters.values()
    ]
    assert str(inspect.Signature(parameters)) == f"({SIGNATURES[name]})"


@pytest.mark.parametrize("name", MEMBERS)
def test_members(name: str) -> None:
    cls = resolve(name)
    members = {member for member in dir(cls) if not member.startswith("_")}
    fields = getattr(cls, "__dataclass_fields__", {}).keys()
    assert members | fields == MEMBERS[name]


def test_constants() -> None:
    assert agui_wire.AGUI_MEDIA_TYPE == "application/vnd.ag-ui.event+proto"
    assert agui_wire.MSGPACK_MEDIA_TYPE == "application/vnd.ag-ui.event+msgpack"
    assert agui_wire.SSE_MEDIA_TYPE == "text/event-stream"
    assert agui_wire.PROTOCOL_VERSION == "1.0"
    assert agui_wire.protobuf_engine() in ("native", "reference")


ERRORS = {
    "AguiWireError": "Exception",
    "EncodeError": "AguiWireError",
    "StreamError": "AguiWireError",
    "MalformedEvent": "StreamError",
    "MalformedFrame": "MalformedEvent",
    "DepthExceeded": "MalformedEvent",
    "FrameTooLarge": "StreamError",
    "ProtocolViolation": "StreamError",
    "TruncatedStream": "StreamError",
    "RunInputError": "AguiWireError",
    "UnexpectedResponse": "AguiWireError",
}


def test_the_error_tree() -> None:
    classes = {
        name: value
        for name in agui_wire.__all__
        if isinstance(value := getattr(agui_wire, name), type) and issubclass(value, Exception)
    }
    assert {name: cls.__mro__[1].__name__ for name, cls in classes.items()} == ERRORS


@pytest.mark.parametrize(
    "use",
    [
        "pass",
        # Nor does SSE need more.
        "agui_wire.encode({'type': 'STATE_SNAPSHOT', 'snapshot': 1}, 'text/event-stream')",
    ],
)
def test_an_import_loads_nothing_heavy(use: str) -> None:
    program = f"import sys, agui_wire; {use}; print([m for m in {HEAVY} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]", result.stderr


def test_http_without_aiohttp_names_its_extra() -> None:
    program = (
        "import sys; sys.modules['aiohttp'] = None; import agui_wire.http.asgi\n"
        "try: agui_wire.http.AgentClient\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    expected = "agui_wire.http.AgentClient needs aiohttp: pip install 'agui-wire[http]'\n"
    assert printed.stdout == expected, printed.stderr
