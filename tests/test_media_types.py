"""Negotiation: which wire an Accept header asks for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_wire import (
    AGUI_MEDIA_TYPE,
    MSGPACK_MEDIA_TYPE,
    PROTOCOL_VERSION,
    SSE_MEDIA_TYPE,
    EventEncoder,
    negotiate,
)
from agui_wire.media_types import wire_of

PB, MP, SSE = AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE

# Accept header, the wire it asks for, and the wire where wildcards count.
MATRIX: list[tuple[str | None, str, str]] = [
    (None, SSE, SSE),
    ("", SSE, SSE),
    (" ", SSE, SSE),
    ("*/*", SSE, PB),
    ("application/*", SSE, PB),
    ("text/*", SSE, SSE),
    ("application/json", SSE, SSE),
    (SSE, SSE, SSE),
    (PB, PB, PB),
    (PB.upper(), PB, PB),
    ("Application/Vnd.AG-UI.Event+Proto", PB, PB),
    (f" \t{PB}\t ", PB, PB),
    (f"{PB};q=0.1, text/event-stream", PB, PB),
    (f"text/event-stream, {PB}", PB, PB),
    (f"{SSE};q=1.0,{PB};q=0.001", PB, PB),
    (f"{PB};q=1", PB, PB),
    (f"{PB};Q=0.5", PB, PB),
    (f"{PB} ; q=0.5", PB, PB),
    (f"{PB};", PB, PB),
    (f"{PB};;q=1.000", PB, PB),
    (f"{PB};q=0", SSE, SSE),
    (f"{PB};q=0.000", SSE, SSE),
    (f"{PB};q=0,*/*", SSE, SSE),
    (f"{PB};q=0, application/*", SSE, SSE),
    (f"{PB};q=0, {MP}", MP, MP),
    (f"{PB};v=2", SSE, SSE),
    (f"{PB};charset=utf-8", SSE, SSE),
    (f"{PB};v=2;q=1", SSE, SSE),
    (f"{PB};q=1;v=2", SSE, SSE),
    (f"{PB};v=2, */*", SSE, PB),
    (f'{PB};q="1"', SSE, SSE),
    (f"{PB};q=abc", SSE, SSE),
    (f"{PB};q=", SSE, SSE),
    (f"{PB};q", SSE, SSE),
    (f"{PB};q =1", SSE, SSE),
    (f"{PB};q=1.5", SSE, SSE),
    (f"{PB};q=-1", SSE, SSE),
    (f"{PB};q=0.0001", SSE, SSE),
    (f"{PB};q=nan", SSE, SSE),
    (f"{PB};q=١", SSE, SSE),
    (f"{PB} junk", SSE, SSE),
    (f"x{PB}", SSE, SSE),
    (f"{PB}x", SSE, SSE),
    (f"{PB};q=0, {PB}", PB, PB),
    (f"{PB}, {PB};q=0", PB, PB),
    (MP, MP, MP),
    (MP.upper(), MP, MP),
    (f"{MP};q=0", SSE, SSE),
    (f"{MP};v=1", SSE, SSE),
    (f"{MP}, {PB}", PB, PB),
    (f"{MP};q=1, {PB};q=0.1", PB, PB),
    (f"{MP}, {SSE}", MP, MP),
    (f"{MP}, */*", MP, PB),
    ("*/*;q=0", SSE, SSE),
    ("*/*;q=0.1", SSE, PB),
    ("application/*;q=0, */*", SSE, SSE),
    ("application/*, */*;q=0", SSE, PB),
    (f"{PB}, application/*;q=0, */*;q=0", PB, PB),
    ("*/*;v=1", SSE, SSE),
    ("*", SSE, SSE),
    ("*/proto", SSE, SSE),
    (f'text/html;x="a,b", {PB}', PB, PB),
    (f'text/html;x=", {PB}, "', SSE, SSE),
    (f'text/html;x="\\", {PB}, "', SSE, SSE),
    (f'text/html;x="\\\\", {PB}', PB, PB),
    (f'text/html;x="never closed, {PB}', SSE, SSE),
    (f'"{PB}"', SSE, SSE),
    (f",,{PB},,", PB, PB),
    # Two header lines, joined.
    (f"text/html,application/json, {PB}", PB, PB),
    ("\x00\xff\ud800", SSE, SSE),
    (f"\ud800, {PB}", PB, PB),
]


@pytest.mark.parametrize(("accept", "by_name", "by_wildcard"), MATRIX)
def test_the_accept_matrix(accept: str | None, by_name: str, by_wildcard: str) -> None:
    assert negotiate(accept) == by_name
    assert negotiate(accept, wildcards=True) == by_wildcard
    assert EventEncoder(accept).content_type == by_name
    assert EventEncoder(accept, wildcards=True).get_content_type() == by_wildcard


headers = st.lists(
    st.one_of(
        st.sampled_from([PB, MP, SSE, "*/*", "application/*", ";q=0", ";q=1", ";q=0.5", ";v=1"]),
        st.sampled_from([",", ";", '"', "\\", "=", " ", "\t", "/", "*", "q", "\n", "\ud83d"]),
        st.text(max_size=5),
    ),
    max_size=12,
).map("".join)


@given(headers, st.booleans())
def test_no_header_is_an_exception(accept: str, wildcards: bool) -> None:
    assert negotiate(accept, wildcards=wildcards) in (PB, MP, SSE)


@given(headers)
def test_members_before_and_after_do_not_matter(accept: str) -> None:
    """A member that names protobuf is found wherever commas outside quotes end its neighbours."""
    if '"' not in accept:
        assert negotiate(f"{accept},{PB}") == PB
        assert negotiate(f"{PB},{accept}") == PB


@pytest.mark.parametrize("unit", ['"\\', '\\"', '"', ";", " \t", ",", "a/b;", "a/", '"a,b"', ";x="])
def test_a_hostile_header_is_read_in_linear_time(unit: str) -> None:
    """Half a megabyte; a quadratic reading would outlast the time limit of a test."""
    assert negotiate(f'a/b;x="{unit * 250_000}') == SSE
    assert negotiate(unit * 250_000) == SSE


@pytest.mark.parametrize(
    ("content_type", "wire"),
    [
        (SSE, SSE),
        ("text/event-stream; charset=utf-8", SSE),
        ("TEXT/Event-Stream;charset=UTF-8", SSE),
        (f" {PB} ", PB),
        (f"{PB}; charset=utf-8", PB),
        (PB.upper(), PB),
        (f"{MP};x", MP),
    ],
)
def test_readers_are_liberal_about_a_content_type(content_type: str, wire: str) -> None:
    assert wire_of(content_type) == wire


@pytest.mark.parametrize(
    "content_type", ["", ";", "text/html", "application/json", f"x{PB}", "*/*"]
)
def test_a_content_type_that_is_no_wire(content_type: str) -> None:
    with pytest.raises(ValueError, match="is no AG-UI wire"):
        wire_of(content_type)


def test_the_constants() -> None:
    assert (AGUI_MEDIA_TYPE, MSGPACK_MEDIA_TYPE, SSE_MEDIA_TYPE, PROTOCOL_VERSION) == (
        "application/vnd.ag-ui.event+proto",
        "application/vnd.ag-ui.event+msgpack",
        "text/event-stream",
        "1.0",
    )


def test_a_header_that_is_missing_is_named() -> None:
    missing: Any = None
    with pytest.raises(TypeError, match="a content type is a str, not NoneType"):
        wire_of(missing)
