"""The pages in docs/: examples executed, sessions played, generated pages up to date."""

from __future__ import annotations

import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import aiohttp
import pytest
from aiohttp import web

import agui_wire
import agui_wire.http
from agui_wire import AGUI_MEDIA_TYPE, RunAgentInput, _json, errors, events, messages
from agui_wire.events import (
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from agui_wire.http import AgentClient, _run, agent_handler, asgi, event_stream_response
from agui_wire.messages import ToolMessage
from tests.http.asgi_server import serving
from tests.http.harness import FINISHED, RUN_INPUT, STARTED, events_of, post
from tests.snippets import ROOT, Example, Session, check_types, examples, execute, play, sessions
from tools.pages.__main__ import pages
from tools.pages.differences import LISTS
from tools.pages.limits import LIMITS
from tools.pages.support import named_tests

DOCS = ROOT / "docs"
# Its examples need the frameworks, and have tests of their own in tests/frameworks.
FRAMEWORKS = DOCS / "frameworks.md"
PAGES = sorted(set(DOCS.glob("*.md")) - {FRAMEWORKS})
EXAMPLES = [example for page in PAGES for example in examples(page).values()]
SESSIONS = [session for page in PAGES for session in sessions(page) if session.reason is None]


def _id(of: Example | Session) -> str:
    return f"{of.page.stem}-{of[1]}"


def example(page: str, name: str) -> Example:
    return examples(DOCS / f"{page}.md")[name]


@pytest.fixture(autouse=True)
def _sdk_as_it_was() -> Any:
    """An example that fails half-way must not leave the SDK's encoder replaced."""
    yield
    if "agui_wire.dropin" in sys.modules:
        sys.modules["agui_wire.dropin"].uninstall()


@pytest.mark.parametrize("shown", EXAMPLES, ids=_id)
def test_every_example_executes(shown: Example, capsys: pytest.CaptureFixture[str]) -> None:
    module = execute(shown)
    if not hasattr(module, "main"):
        assert capsys.readouterr().out == (shown.output or "")


@pytest.mark.parametrize("session", SESSIONS, ids=_id)
def test_every_session_prints_what_it_shows(session: Session, tmp_path: Path) -> None:
    play(session, tmp_path)


async def talker(run_input: RunAgentInput) -> AsyncIterator[Any]:
    """Asks for the weather once, then tells it."""
    ids: dict[str, Any] = {"thread_id": run_input.thread_id, "run_id": run_input.run_id}
    yield RunStartedEvent(**ids)
    last = run_input.messages[-1] if run_input.messages else None
    if run_input.tools and not isinstance(last, ToolMessage):
        yield ToolCallStartEvent(tool_call_id="c1", tool_call_name="weather")
        yield ToolCallArgsEvent(tool_call_id="c1", delta='{"city": "Lisbon"}')
        yield ToolCallEndEvent(tool_call_id="c1")
    else:
        text = f"It is {last.content}." if isinstance(last, ToolMessage) else "Lisbon in May."
        yield TextMessageStartEvent(message_id="m1", role="assistant")
        yield TextMessageContentEvent(message_id="m1", delta=text)
        yield TextMessageEndEvent(message_id="m1")
    yield RunFinishedEvent(**ids)


@asynccontextmanager
async def serving_app(app: web.Application) -> AsyncIterator[str]:
    """The URL of an aiohttp application while the block runs."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield "http://{}:{}/".format(*runner.addresses[0])
    finally:
        await runner.cleanup()


def talking() -> AbstractAsyncContextManager[str]:
    app = web.Application()
    app.router.add_post("/", agent_handler(talker))
    return serving_app(app)


# What the examples with a `main(url)` print about the agent above.
CLIENTS = {
    ("quickstart", "client"): f"Lisbon in May.\n{AGUI_MEDIA_TYPE} success 2\n",
    ("client", "one_run"): (
        "text: Lisbon in May.\nsuccess\nuser Where to in May?\nassistant Lisbon in May.\n"
    ),
    ("client", "conversation"): (
        "['user', 'assistant', 'tool', 'assistant']\nIt is sunny in Lisbon.\n"
    ),
    ("client", "script"): (
        "['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', "
        "'RUN_FINISHED']\nsuccess\n"
    ),
    ("errors", "unexpected_response"): example("errors", "unexpected_response").output,
}
# Pages whose examples with a `main(url)` have tests of their own.
ELSEWHERE = {"browser", "relay"}


@pytest.mark.parametrize(("page", "name"), CLIENTS)
async def test_a_client_prints_what_its_page_says(
    page: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main: Callable[[str], Any] = execute(example(page, name)).main
    async with talking() as url:
        if asyncio.iscoroutinefunction(main):
            await main(url)
        else:
            await asyncio.to_thread(main, url)
    assert capsys.readouterr().out == CLIENTS[page, name]


def test_every_client_has_its_words() -> None:
    mains = {
        (shown.page.stem, shown.name)
        for shown in EXAMPLES
        if "def main(url" in shown.code and shown.page.stem not in ELSEWHERE
    }
    assert mains == set(CLIENTS)


WIRES = (AGUI_MEDIA_TYPE, agui_wire.SSE_MEDIA_TYPE)
SERVED: dict[tuple[str, str], list[Any]] = {
    ("server", "dicts"): [STARTED, StateSnapshotEvent(snapshot={"city": "Lisbon"}), FINISHED],
    ("server", "failing"): [STARTED, RunErrorEvent(message="The model took too long.")],
    ("server", "options"): [STARTED, FINISHED],
    ("quickstart", "server"): [
        STARTED,
        TextMessageStartEvent(message_id="m1", role="assistant"),
        *(TextMessageContentEvent(message_id="m1", delta=d) for d in ("Lisbon", " in", " May.")),
        TextMessageEndEvent(message_id="m1"),
        FINISHED,
    ],
    ("asgi", "app"): [STARTED, FINISHED],
}


def opened(page: str, name: str) -> AbstractAsyncContextManager[str]:
    app = execute(example(page, name)).app
    return serving_app(app) if isinstance(app, web.Application) else serving(app)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("page", "name"), SERVED)
async def test_a_server_serves_what_its_page_says(page: str, name: str, wire: str) -> None:
    async with opened(page, name) as url:
        assert await events_of(url, wire) == SERVED[page, name]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", ["transport", "encoder"])
async def test_fastapi_answers_on_the_wire_that_is_asked_for(name: str, wire: str) -> None:
    sent = {**RUN_INPUT, "state": {}, "tools": [], "context": [], "forwardedProps": {}}
    async with opened("asgi", name) as url, aiohttp.ClientSession() as session:
        answer = await session.post(url, json=sent, headers={"Accept": wire})
        body = await answer.read()
    content_type = answer.headers["Content-Type"]
    assert content_type.partition(";")[0] == wire
    assert wire != AGUI_MEDIA_TYPE or content_type == wire
    # An encoder alone fills nothing in; a transport does, where it writes anew.
    types = [event.type.value for event in agui_wire.decode(body, wire)]
    assert types == ["RUN_STARTED", "RUN_FINISHED"]
    if wire == AGUI_MEDIA_TYPE:
        assert "Accept" in answer.headers["Vary"]
        assert answer.headers["X-Accel-Buffering"] == "no"


async def test_the_options_of_the_page_do_what_they_say() -> None:
    async with opened("server", "options") as url:
        headers = {"Origin": "https://app.example", "Accept-Encoding": "gzip"}
        _, _, answered = await post(url, headers=headers)
        assert answered["Content-Encoding"] == "gzip"
        assert answered["Access-Control-Allow-Origin"] == "https://app.example"


async def test_an_agent_is_closed_when_its_client_leaves() -> None:
    module = execute(example("server", "leaving"))
    async with serving_app(module.app) as url:
        async with AgentClient(url).run(RUN_INPUT) as opened_run:
            await opened_run.__anext__()
            assert not module.released.is_set()
        await asyncio.wait_for(module.released.wait(), 10)


async def test_a_handler_of_ones_own() -> None:
    async with opened("server", "own_handler") as url:
        status, _, _ = await post(url)
        assert status == 401
        allowed = {"Authorization": "Bearer secret"}
        status, body, _ = await post(url, headers=allowed)
        assert (status, agui_wire.decode(body, agui_wire.SSE_MEDIA_TYPE)) == (
            200,
            [STARTED, FINISHED],
        )
        status, body, _ = await post(url, json={"threadId": "t"}, headers=allowed)
        assert status == 400
        assert b"/runId" in body or b"/messages" in body


def test_every_error_has_its_section_and_a_message_of_its_own() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    sections = {part.partition("\n")[0]: part for part in page.split("\n## ")[1:]}
    for name in errors.__all__:
        assert "```python" in sections[name], name
        assert "```text" in sections[name], name
        assert "**What to do:**" in sections[name], name
    assert errors.__doc__ is not None
    tree = errors.__doc__.partition("AguiWireError\n")[2].partition("\n\n")[0]
    assert tree in page


def test_defaults_that_pages_mention_are_those_of_the_code() -> None:
    mebibytes, kibibytes = _json.DEFAULT_MAX_FRAME_SIZE // 2**20, _run._MAX_EXCERPT // 2**10
    keep_alive = inspect.signature(event_stream_response).parameters["keep_alive"].default
    said = {
        "errors": [
            f"`max_frame_size`, {mebibytes} MiB unless",
            f"`max_depth`, {_json.DEFAULT_MAX_DEPTH} levels unless",
            f"the first {kibibytes} KiB of the `body`",
        ],
        "deploying": [f"`keep_alive` seconds ({keep_alive:g})"],
    }
    for page, sentences in said.items():
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        assert [each for each in sentences if each not in text] == []


def test_the_reference_has_every_public_name() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    whole = {"agui_wire.events", "agui_wire.messages", "agui_wire.run_input", "agui_wire.errors"}
    assert all(f".. automodule:: {name}\n" in page for name in whole)
    for module in (agui_wire, agui_wire.http, asgi):
        for name in module.__all__:
            value = getattr(module, name)
            home = getattr(value, "__module__", "") in whole or inspect.ismodule(value)
            union = name in ("Event", "Message")
            assert home or union or re.search(rf"^\.\. auto\w+:: {name}$", page, re.MULTILINE), name


def test_generated_pages_are_up_to_date() -> None:
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python -m tools.pages"


def test_the_protocol_page_lists_every_class() -> None:
    page = (DOCS / "protocol-support.md").read_text(encoding="utf-8")
    for event in get_args(events.Event):
        assert f"\n| `{event.type.value}` |" in page
    for message in get_args(messages.Message):
        assert f"\n| `{message.role}` |" in page
    for part in (*get_args(messages.ContentPart), *get_args(messages.PartSource)):
        assert f"\n| `{part.type}` |" in page


def _named() -> set[str]:
    named = {*named_tests(), *(test for each in LISTS for test in each.tests)}
    return named | {test for limits in LIMITS.values() for limit in limits for test in limit.tests}


def test_every_test_function_that_a_page_names_exists() -> None:
    for name in _named():
        file, _, test = name.partition("::")
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert f"def {test.partition('[')[0]}(" in text, name


@pytest.mark.slow
def test_every_case_that_a_page_names_exists() -> None:
    named = _named()
    files = sorted({f"tests/{name.partition('::')[0]}" for name in named})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", *files]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    cases: set[str] = set()
    for line in listed.stdout.splitlines():
        test, bracket, parameters = line.removeprefix("tests/").partition("[")
        cases.add(test)
        parts = parameters.removesuffix("]").split("-")
        cases |= {f"{test}[{'-'.join(parts[:n])}]" for n in range(1, len(parts) + 1) if bracket}
    assert named - cases == set(), listed.stdout[-500:]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "checker",
    [
        ("mypy", "--strict", "--follow-imports=silent"),
        pytest.param(("pyright", "--pythonpath", sys.executable), marks=pytest.mark.slow),
    ],
    ids=["mypy", "pyright"],
)
def test_every_example_has_right_types(checker: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip(checker[0])
    check_types(checker, PAGES, tmp_path)


@pytest.mark.slow
def test_the_pages_build_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    built = subprocess.run(
        [*command, str(DOCS), str(tmp_path / "html")], cwd=ROOT, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stdout + built.stderr
