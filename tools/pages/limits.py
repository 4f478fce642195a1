"""The tables of docs/limits.md: each limit with its default, read from the code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from agui_wire import EventEncoder, StreamConsumer, StreamDecoder, _struct, _warnings, decode
from agui_wire.http import AgentClient, _coalesce, _cors, _outbox, _run, agent_handler
from agui_wire.http import event_stream_response as aiohttp_response
from agui_wire.http.asgi import BinaryTransport, agent_app

from .markdown import table, tests

__all__ = ["LIMITS", "limits_tables"]

_HTTP = "http/test_"


class Limit(NamedTuple):
    """A limit, what it is for, where it is set (the first has the default), and its tests."""

    name: str
    attack: str
    default: str
    where: str
    tests: tuple[str, ...]


def _option(name: str, unit: str, *owners: Callable[..., Any]) -> tuple[str, str, str]:
    """The name of an option, its one default, and who takes it."""
    defaults = {inspect.signature(owner).parameters[name].default for owner in owners}
    assert len(defaults) == 1, f"{name} has other defaults in other places: {defaults}"
    (default,) = defaults
    return f"`{name}`", _spelled(default, unit), ", ".join(f"`{o.__name__}`" for o in owners)


def _spelled(value: Any, unit: str) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if unit == "bytes":
        for factor, name in ((2**20, "MiB"), (2**10, "KiB")):
            if value >= factor and value % factor == 0:
                return f"{value // factor} {name}"
    if isinstance(value, (int, float)):
        return f"{value:,g} {unit}".strip() if value < 10**5 else f"{value:,}"
    return f"`{value}`"


def _limit(option: tuple[str, str, str], attack: str, *tests_: str, fixed: bool = False) -> Limit:
    name, default, where = option
    return Limit(name, attack, default, "fixed" if fixed else where, tests_)


def _constant(what: str, value: Any, unit: str) -> tuple[str, str, str]:
    return what, value if isinstance(value, str) else _spelled(value, unit), ""


READING = [
    _limit(
        _option("max_frame_size", "bytes", StreamDecoder, StreamConsumer, AgentClient),
        "A length prefix of 4 GiB, or an SSE event that never ends. Judged by the declared "
        "length, before anything is kept; counted after decompression.",
        "test_framing.py::test_a_length_over_the_limit_is_refused_by_its_prefix",
        "test_framing.py::test_an_sse_event_that_never_ends_is_refused_at_the_limit",
        "test_fuzz.py::test_no_frame_passes_the_limit",
    ),
    _limit(
        _option("max_depth", "levels", StreamDecoder, StreamConsumer, decode, AgentClient),
        "JSON nested so deep that a parser overflows its stack. DepthExceeded, never a "
        "RecursionError.",
        "test_decoder.py::test_deeper_json_is_refused_in_the_same_words_on_every_wire",
        "test_decoder.py::test_a_depth_limit_past_what_python_can_nest",
    ),
    _limit(
        _constant("claimed sizes inside a frame", "never allocated", ""),
        "A MessagePack array or a protobuf field that claims 2^31 elements in a few bytes.",
        "test_decoder.py::test_msgpack_that_claims_more_than_it_holds_allocates_nothing",
        fixed=True,
    ),
    _limit(
        _constant("work for small pieces", "linear", ""),
        "A large frame that drips in, to be copied anew for each piece.",
        "test_framing.py::test_many_small_chunks_cost_linear_work",
        "test_framing.py::test_a_large_frame_under_a_raised_limit",
        fixed=True,
    ),
    _limit(
        _constant("timestamps and token counts", _struct.MAX_SAFE_INTEGER, ""),
        "Integers that JavaScript and doubles would change on their way.",
        "test_enforce.py::test_other_timestamps_are_malformed",
        "test_enforce.py::test_a_token_count_is_a_natural_number",
        fixed=True,
    ),
    _limit(
        _constant("distinct warnings of a stream", _warnings.MAX_DISTINCT_WARNINGS, ""),
        "A peer that invents property names without end, to fill the log. More are counted.",
        "test_warnings.py::test_a_peer_cannot_make_the_log_grow_without_end",
        fixed=True,
    ),
    _limit(
        _constant("a warning's text", _warnings.MAX_TEXT, "characters"),
        "A name as long as a frame, or one with line breaks, that is to be logged.",
        "test_warnings.py::test_a_peer_cannot_make_a_warning_as_long_as_a_frame",
        "test_warnings.py::test_the_log_shows_no_line_breaks_and_no_half_characters",
        fixed=True,
    ),
    _limit(
        _constant("patches", "no copies, no recursion", ""),
        "`copy` operations that double the state each time, and patches of deep state.",
        "pipeline/test_patch.py::test_depth_and_doubling_are_no_trouble",
        fixed=True,
    ),
]

CLIENT = [
    _limit(
        _option("connect_timeout", "s", AgentClient),
        "A host that swallows packets.",
        _HTTP + "client.py::test_no_server_at_all",
    ),
    _limit(
        _option("stall_timeout", "s", AgentClient),
        "A server that answers and then says nothing. Heartbeats count as life.",
        _HTTP + "client.py::test_a_server_that_falls_silent",
        _HTTP + "client.py::test_a_server_that_never_answers",
        _HTTP + "client.py::test_heartbeats_keep_a_stall_timeout_quiet",
    ),
    _limit(
        _option("total_timeout", "s", AgentClient),
        "A stream that goes on for ever. Nothing else bounds the number of events.",
        _HTTP + "client.py::test_a_server_that_falls_silent",
    ),
    _limit(
        _option("compression", "", AgentClient),
        "A decompression bomb: without it nothing compressed is asked for.",
        _HTTP + "client.py::test_what_a_client_asks_for",
    ),
    _limit(
        _constant("an error's body", _run._MAX_EXCERPT, "bytes"),
        "An endless error page.",
        _HTTP + "client.py::test_an_error_body_is_capped_and_not_waited_for",
        fixed=True,
    ),
    _limit(
        _constant("the wait for an error's body", _run._EXCERPT_SECONDS, "s"),
        "An error page that does not come.",
        _HTTP + "client.py::test_an_error_body_that_does_not_come_is_done_without",
        fixed=True,
    ),
    _limit(
        _constant("cookies", "none kept", ""),
        "One run that leaks into the next.",
        _HTTP + "client.py::test_nothing_sticks_between_runs",
        fixed=True,
    ),
]

SERVER = [
    _limit(
        _option("max_body_size", "bytes", agent_handler, agent_app),
        "A request without end, or a gzip bomb: counted after decompression.",
        _HTTP + "requests.py::test_a_large_body_is_413",
        _HTTP + "requests.py::test_the_limit_counts_what_a_compressed_body_holds",
        _HTTP + "asgi_agent.py::test_requests_that_open_no_run",
    ),
    _limit(
        _constant("JSON levels of a run input", "as for events", ""),
        "JSON nested so deep that a parser overflows its stack.",
        "test_run_input.py::test_what_is_wrong_is_named",
        fixed=True,
    ),
    _limit(
        _constant("bytes that wait for a slow reader", _outbox.DEFAULT_LIMIT, "bytes"),
        "A client that reads slowly while the agent fills the memory: the agent waits.",
        _HTTP + "disconnect.py::test_a_slow_reader_stops_the_agent",
        _HTTP + "asgi_agent.py::test_a_slow_client_holds_the_agent_back_and_is_let_go",
        fixed=True,
    ),
    _limit(
        _option("write_timeout", "s", aiohttp_response),
        "A client that stops reading for good and keeps its connection.",
        _HTTP + "disconnect.py::test_a_reader_that_stops_for_good_is_cut_off",
    ),
    _limit(
        _option("on_disconnect", "", aiohttp_response, agent_app),
        "Clients that leave, over and over, and whose agents run on.",
        _HTTP + "disconnect.py::test_a_silent_agent_is_closed_at_once_and_awaited",
        _HTTP + "asgi_agent.py::test_what_becomes_of_an_agent_without_a_client",
    ),
    _limit(
        _option("keep_alive", "s", aiohttp_response, agent_app),
        "Proxies that give up an idle stream; clients that vanished without a word.",
        _HTTP + "disconnect.py::test_a_client_that_vanished_is_found_by_the_keep_alive",
        _HTTP + "disconnect.py::test_comments_keep_an_idle_sse_stream_alive_and_lose_nothing",
    ),
    _limit(
        _option("error_message", "", agent_handler, agent_app),
        "Tracebacks and secrets in what a client is told about a failure.",
        _HTTP + "server.py::test_an_agent_that_raises_ends_in_one_run_error",
        _HTTP + "asgi_agent.py::test_an_agent_that_fails",
    ),
    _limit(
        _option("cors", "", agent_handler),
        "Pages of other origins that read what a user's agent says.",
        _HTTP + "server.py::test_cors_is_off_unless_asked_for",
        _HTTP + "server.py::test_cors_and_its_preflight",
    ),
    _limit(
        _constant("how long a preflight is believed", int(_cors._MAX_AGE), "s"),
        "An origin that was taken off the list and is still let in.",
        _HTTP + "server.py::test_cors_and_its_preflight",
        fixed=True,
    ),
    _limit(
        _constant("a merged delta", _coalesce.MAX_MERGED, "characters"),
        "Deltas that are merged without end while a reader is slow (`coalesce`).",
        _HTTP + "writing.py::test_a_merged_delta_is_bounded",
        fixed=True,
    ),
    _limit(
        _option("max_frame_size", "bytes", BinaryTransport),
        "An application whose event never ends, inside the server's memory.",
        _HTTP + "asgi_faults.py::test_a_bad_stream_stops_the_application",
    ),
    _limit(
        _constant("the Accept header", "read in linear time", ""),
        "A header made to keep a regular expression busy.",
        "test_media_types.py::test_a_hostile_header_is_read_in_linear_time",
        fixed=True,
    ),
]

WRITING = [
    _limit(
        _option("max_depth", "levels", EventEncoder),
        "State that refers to itself, or that peers refuse: EncodeError with the path.",
        "test_plain.py::test_depth",
        "test_plain.py::test_endless_depth",
    ),
    _limit(
        _option("max_frame_size", "bytes", EventEncoder),
        "A frame that stock clients refuse: it is written, with a warning.",
        "test_encoder.py::test_frames_that_peers_refuse",
    ),
    _limit(
        _option("lossy_int", "", EventEncoder),
        "Ids of 19 digits that arrive changed.",
        "test_plain.py::test_integers",
    ),
    _limit(
        _option("non_finite", "", EventEncoder),
        "NaN, which is no JSON.",
        "test_plain.py::test_numbers_that_json_lacks",
    ),
    _limit(
        _option("surrogates", "", EventEncoder),
        "Half a character, which no UTF-8 holds.",
        "test_plain.py::test_halves_of_surrogate_pairs",
    ),
]

LIMITS: dict[str, list[Limit]] = {
    "reading": READING,
    "client": CLIENT,
    "server": SERVER,
    "writing": WRITING,
}


def limits_tables() -> dict[str, str]:
    """The tables by their names in the page."""
    head = ("limit", "default", "what it answers", "set in", "tests")
    return {
        name: table(head, [(*_row(each), tests(each.tests)) for each in limits])
        for name, limits in LIMITS.items()
    }


def _row(limit: Limit) -> tuple[str, str, str, str]:
    return limit.name, limit.default, limit.attack, limit.where
