"""dropin: the SDK's own encoder class, writing with this package's encoder."""

from __future__ import annotations

import copy
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, dropin
from tests.sdk import (
    CURRENT,
    EVENTS,
    core,
    instances,
    loses_a_required_null,
    pydantic,
    sdk_encoder,
    theirs,
)

# As a framework has it: bound before anything is installed.
SdkEncoder: Any = sdk_encoder.EventEncoder
OWN = dict(vars(SdkEncoder))

EVENT = core.TextMessageContentEvent(message_id="m", delta="é")
TEXT = 'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"é"}\n\n'
BOTH = f"{AGUI_MEDIA_TYPE}, {SSE_MEDIA_TYPE}"


@pytest.fixture
def installed() -> Iterator[None]:
    dropin.install()
    yield
    dropin.uninstall()


def asked(accept: Any, cls: Any = None) -> Any:
    """An encoder made for a request, and asked for its content type as for the headers."""
    encoder = (cls or SdkEncoder)(accept)
    encoder.get_content_type()
    return encoder


def per_event(accept: str) -> Any:
    """An encoder as Pydantic AI makes it: anew for each use."""
    return SdkEncoder(accept=accept)


def test_both_say_what_they_changed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "agui_wire")
    names = tuple(
        f"ag_ui.encoder.encoder.EventEncoder.{name}"
        for name in ("__init__", "get_content_type", "encode", "_encode_sse", "encode_binary")
    )
    assert dropin.uninstall() == ()
    assert dropin.install() == names
    assert dropin.install() == ()
    assert dict(vars(SdkEncoder)) != OWN
    assert dropin.uninstall() == names
    assert dropin.uninstall() == ()
    assert dict(vars(SdkEncoder)) == OWN
    assert caplog.messages == [
        f"installed: replaced {', '.join(names)}",
        f"uninstalled: restored {', '.join(names)}",
    ]


def test_without_an_sdk() -> None:
    program = (
        "import sys; sys.modules['ag_ui'] = None; from agui_wire import dropin\n"
        "assert dropin.uninstall() == ()\n"
        "dropin.install()"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "ImportError: dropin replaces methods of ag_ui.encoder.EventEncoder" in result.stderr


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("accept", "wire"),
    [
        (None, SSE_MEDIA_TYPE),
        ("", SSE_MEDIA_TYPE),
        ("*/*", SSE_MEDIA_TYPE),
        (SSE_MEDIA_TYPE, SSE_MEDIA_TYPE),
        (object(), SSE_MEDIA_TYPE),
        ([], SSE_MEDIA_TYPE),
        (AGUI_MEDIA_TYPE, AGUI_MEDIA_TYPE),
        (BOTH, AGUI_MEDIA_TYPE),
        (f"{MSGPACK_MEDIA_TYPE}, */*", MSGPACK_MEDIA_TYPE),
    ],
)
def test_every_verb_keeps_to_the_wire(accept: Any, wire: str) -> None:
    for encoder in (SdkEncoder(accept), SdkEncoder(accept=accept)):
        assert isinstance(encoder, SdkEncoder)
        assert encoder.get_content_type() == encoder.get_content_type() == wire
        frame = agui_wire.encode(EVENT, wire)
        assert encoder.encode_binary(EVENT) == frame
        assert encoder.encode(EVENT) == (frame.decode() if wire == SSE_MEDIA_TYPE else frame)
        assert encoder._encode_sse(EVENT) == TEXT
        assert copy.deepcopy(encoder).encode_binary(EVENT) == frame


@pytest.mark.usefixtures("installed")
def test_an_encoder_without_arguments() -> None:
    assert SdkEncoder().encode(EVENT) == TEXT


@pytest.mark.usefixtures("installed")
def test_an_encoder_for_each_event() -> None:
    assert per_event(BOTH).get_content_type() == AGUI_MEDIA_TYPE
    assert per_event(BOTH).encode(EVENT) == agui_wire.encode(EVENT, AGUI_MEDIA_TYPE)
    assert per_event(SSE_MEDIA_TYPE).encode(EVENT) == TEXT


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("verb", ["encode", "encode_binary"])
def test_code_that_does_not_ask_for_the_content_type_stays_on_sse(
    verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    def careless() -> Any:
        return SdkEncoder(accept=BOTH)

    for _ in range(2):
        encoder = careless()
        for _ in range(2):
            text = getattr(encoder, verb)(EVENT)
            assert text == (TEXT if verb == "encode" else TEXT.encode())
        # Whoever asks later is told what was written.
        assert encoder.get_content_type() == SSE_MEDIA_TYPE
    (warning,) = caplog.messages
    assert warning.startswith("careless (")
    assert warning.endswith("writes events before it asks for their content type: they stay SSE")


class Loud(SdkEncoder):  # type: ignore[misc,unused-ignore]
    def encode(self, event: Any) -> Any:
        return ": loud\n" + super().encode(event)


class Upper(SdkEncoder):  # type: ignore[misc,unused-ignore]
    def _encode_sse(self, event: Any) -> Any:
        return super()._encode_sse(event).replace("é", "É")


class Charset(SdkEncoder):  # type: ignore[misc,unused-ignore]
    def get_content_type(self) -> str:
        return f"{super().get_content_type()}; charset=utf-8"


@pytest.mark.parametrize("cls", [Loud, Upper, Charset])
def test_subclasses_with_a_say_in_the_text_write_what_they_wrote(cls: Any) -> None:
    before = cls(BOTH)
    content_type, text = before.get_content_type(), before.encode(EVENT)
    dropin.install()
    try:
        for encoder in (before, cls(BOTH), cls(accept=None)):
            assert encoder.get_content_type() == content_type
            assert encoder.encode(EVENT) == text
            assert encoder.encode_binary(EVENT) == text.encode()
    finally:
        dropin.uninstall()


class Counting(SdkEncoder):  # type: ignore[misc,unused-ignore]
    def __init__(self, accept: Any = None) -> None:
        super().__init__(accept)
        self.count = 0


class Bare(SdkEncoder):  # type: ignore[misc,unused-ignore]
    def __init__(self) -> None:
        pass


@pytest.mark.usefixtures("installed")
def test_other_subclasses_follow() -> None:
    encoder = asked(BOTH, Counting)
    assert (encoder.count, encoder.encode(EVENT)) == (0, agui_wire.encode(EVENT, AGUI_MEDIA_TYPE))
    assert Bare().get_content_type() == SSE_MEDIA_TYPE
    assert Bare().encode(EVENT) == TEXT


def test_encoders_keep_their_wire() -> None:
    before = SdkEncoder(BOTH)
    dropin.install()
    try:
        text, binary = asked(None), asked(BOTH)
        assert before.encode(EVENT) == TEXT
        assert before.get_content_type() == SSE_MEDIA_TYPE
    finally:
        dropin.uninstall()
    assert text.encode(EVENT) == TEXT
    assert binary.get_content_type() == AGUI_MEDIA_TYPE
    assert binary.encode(EVENT) == agui_wire.encode(EVENT, AGUI_MEDIA_TYPE)
    assert asked(BOTH).encode(EVENT) == TEXT


def test_what_ours_refuses_the_sdk_decides() -> None:
    deep: Any = "x"
    for _ in range(120):
        deep = [deep]
    event = core.StateSnapshotEvent(snapshot=deep)
    expected = theirs(event)
    dropin.install()
    try:
        with pytest.raises(agui_wire.EncodeError):
            agui_wire.EventEncoder().encode(event)
        assert SdkEncoder().encode(event) == expected
        with pytest.raises(AttributeError, match="model_dump_json"):
            SdkEncoder().encode(object())
        with pytest.raises(agui_wire.EncodeError):
            asked(BOTH).encode(object())
    finally:
        dropin.uninstall()


class Shouted(core.TextMessageContentEvent):  # type: ignore[misc,name-defined,unused-ignore]
    @pydantic.field_serializer("delta")  # type: ignore[untyped-decorator,unused-ignore]
    def shout(self, delta: str) -> str:
        return delta.upper()


def test_events_with_serialisers_of_their_own() -> None:
    event = Shouted(message_id="m", delta="é")
    expected = theirs(event)
    assert "É" in expected
    dropin.install()
    try:
        assert SdkEncoder().encode(event) == expected
        assert asked(BOTH).encode(event) == agui_wire.encode(event, AGUI_MEDIA_TYPE)
    finally:
        dropin.uninstall()


def test_integers_that_a_wire_cannot_hold() -> None:
    event = core.StateSnapshotEvent(snapshot=2**53 + 1)
    with pytest.raises(ValueError, match="lossy_int"):
        dropin.install(lossy_int="maybe")  # type: ignore[arg-type]
    for option in ("raise", "string"):
        dropin.install(lossy_int=option)
        try:
            encoder = asked(AGUI_MEDIA_TYPE)
            if option == "raise":
                with pytest.raises(agui_wire.EncodeError, match="9007199254740993"):
                    encoder.encode(event)
            else:
                expected = agui_wire.encode(event, AGUI_MEDIA_TYPE, lossy_int="string")
                assert encoder.encode(event) == expected
        finally:
            dropin.uninstall()


@given(st.sampled_from(CURRENT).flatmap(lambda name: instances(EVENTS[name], True)))
def test_the_text_is_the_sdks(event: Any) -> None:
    if loses_a_required_null(event):
        return
    expected = theirs(event)
    dropin.install()
    try:
        assert SdkEncoder().encode(event) == expected
    finally:
        dropin.uninstall()
