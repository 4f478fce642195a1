"""The page of examples/browser, in Chromium, against agents of ours on another origin."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE, RunAgentInput
from agui_wire.events import RunFinishedEvent, RunStartedEvent
from examples.browser.server import ANSWER, agent_app, page_app
from tests.examples.serving import serving
from tests.http.harness import TEXT_END, TEXT_START, delta

from .webdriver import Browser

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
WIRES = {"sse": SSE_MEDIA_TYPE, "protobuf": AGUI_MEDIA_TYPE}
WORDS = ["Kyoto ", "in May: ", "苔の庭 ", "and 🌿", "\n<b>no</b> &amp; rain."]

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def run_of(run_input: RunAgentInput) -> list[Any]:
    thread, run = run_input.thread_id, run_input.run_id
    return [
        RunStartedEvent(thread_id=thread, run_id=run, protocol_version="1.0"),
        TEXT_START,
        *map(delta, WORDS),
        TEXT_END,
        RunFinishedEvent(thread_id=thread, run_id=run),
    ]


class Agent:
    """Says its words one at a time, when it is told to, to all who asked."""

    def __init__(self) -> None:
        self.inputs: list[RunAgentInput] = []
        self.closed = 0
        self._said = 0
        self._news = asyncio.Condition()

    async def __call__(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        self.inputs.append(run_input)
        events = run_of(run_input)
        try:
            for said, event in enumerate(events, -2):
                async with self._news:
                    while said >= self._said:
                        await self._news.wait()
                yield event
        finally:
            async with self._news:
                self.closed += 1
                self._news.notify_all()

    async def say(self, words: int) -> None:
        async with self._news:
            self._said += words
            self._news.notify_all()

    async def all_closed(self, count: int) -> None:
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(lambda: self.closed == count), 20)


class Page:
    """The page, open in the browser."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    async def click(self, selector: str) -> None:
        await asyncio.to_thread(self._browser.click, selector)

    async def shows(self, wire: str, part: str, text: str) -> None:
        """Waits until a part of a column shows this text and no other."""
        element = f"document.querySelector('#{wire} .{part}')"
        found = await asyncio.to_thread(
            self._browser.until,
            f"const shown = {element}.textContent; return shown === {json.dumps(text)} && [shown]",
        )
        assert found == [text]

    async def column(self, wire: str, name: str) -> Any:
        return await asyncio.to_thread(
            self._browser.script, f"return JSON.parse(JSON.stringify(columns.{wire}.{name}))"
        )

    async def text(self, selector: str) -> str:
        source = f"return document.querySelector('{selector}').textContent"
        return str(await asyncio.to_thread(self._browser.script, source))


@asynccontextmanager
async def opened(
    browser: Browser,
    agent: Any,
    requests: list[web.Request] | None = None,
    *,
    allowed: bool = True,
    accept: str | None = None,
) -> AsyncIterator[Page]:
    """The page on one port and the agent on another; `accept` replaces what the page asks for."""

    @web.middleware
    async def watch(request: web.Request, handler: Handler) -> web.StreamResponse:
        if accept is not None:
            request = request.clone(headers={**request.headers, "Accept": accept})
        if requests is not None:
            requests.append(request)
        return await handler(request)

    async with serving(page_app()) as page:
        app = agent_app([page.rstrip("/") if allowed else "http://elsewhere.example"], agent)
        app.middlewares.append(watch)
        async with serving(app) as url:
            assert page != url
            await asyncio.to_thread(browser.open, f"{page}?agent={url}")
            yield Page(browser)


async def test_the_same_run_grows_over_both_wires(browser: Browser) -> None:
    agent = Agent()
    requests: list[web.Request] = []
    async with opened(browser, agent, requests) as page:
        await page.click("#run")
        for n in range(len(WORDS)):
            for wire in WIRES:
                await page.shows(wire, "text", "".join(WORDS[:n]))
                await page.shows(wire, "events", str(2 + n))
                await page.shows(wire, "state", "running")
            await agent.say(1)
        for wire in WIRES:
            await page.shows(wire, "text", "".join(WORDS))
        await agent.say(2)
        for wire in WIRES:
            await page.shows(wire, "state", "finished")
        assert len(agent.inputs) == 2
        for wire, media_type in WIRES.items():
            sent = run_of(agent.inputs[0])
            assert await page.column(wire, "events") == [agui_wire.to_dict(e) for e in sent]
            await page.shows(wire, "text", "".join(WORDS))
            await page.shows(wire, "type", media_type)
            assert await page.column(wire, "bytes") == sum(
                len(agui_wire.encode(event, media_type)) for event in sent
            )
        protobuf, sse = [await page.column(wire, "bytes") for wire in ("protobuf", "sse")]
        assert 0 < protobuf < sse
        assert f"{round(100 * protobuf / sse)}%" in await page.text("#verdict")
    methods = [request.method for request in requests]
    assert methods.count("POST") == 2
    assert methods[0] == "OPTIONS"
    assert {r.headers["Accept"] for r in requests if r.method == "POST"} == {
        SSE_MEDIA_TYPE,
        f"{AGUI_MEDIA_TYPE}, {SSE_MEDIA_TYPE}",
    }


async def test_stop_stops_the_agents(browser: Browser) -> None:
    agent = Agent()
    async with opened(browser, agent) as page:
        await page.click("#run")
        await agent.say(2)
        for wire in WIRES:
            await page.shows(wire, "text", "".join(WORDS[:2]))
        assert agent.closed == 0
        await page.click("#stop")
        await agent.all_closed(2)
        for wire in WIRES:
            await page.shows(wire, "state", "stopped")
            await page.shows(wire, "text", "".join(WORDS[:2]))


async def test_a_page_that_is_left_stops_the_agents(browser: Browser) -> None:
    agent = Agent()
    async with opened(browser, agent) as page:
        await page.click("#run")
        for wire in WIRES:
            await page.shows(wire, "events", "2")
        await asyncio.to_thread(browser.open, "about:blank")
        await agent.all_closed(2)


async def test_a_tab_that_is_closed_stops_the_agents(browser: Browser) -> None:
    agent = Agent()
    before = await asyncio.to_thread(browser.new_tab)
    async with opened(browser, agent) as page:
        await page.click("#run")
        for wire in WIRES:
            await page.shows(wire, "events", "2")
        await asyncio.to_thread(browser.close_tab, before)
        await agent.all_closed(2)


async def test_a_page_from_elsewhere_is_refused(browser: Browser) -> None:
    agent = Agent()
    requests: list[web.Request] = []
    async with opened(browser, agent, requests, allowed=False) as page:
        await page.click("#run")
        for wire in WIRES:
            await page.shows(wire, "state", "Failed to fetch")
            await page.shows(wire, "events", "0")
    assert {request.method for request in requests} == {"OPTIONS"}
    assert agent.inputs == []


async def test_a_server_that_has_only_sse_is_read_as_well(browser: Browser) -> None:
    agent = Agent()
    await agent.say(len(WORDS) + 2)
    async with opened(browser, agent, accept="*/*") as page:
        await page.click("#run")
        await page.shows("protobuf", "state", "finished")
        await page.shows("protobuf", "text", "".join(WORDS))
        await page.shows("protobuf", "type", SSE_MEDIA_TYPE)


async def test_an_agent_that_fails_says_so_on_both_wires(browser: Browser) -> None:
    async def agent(run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield run_of(run_input)[0]
        raise LookupError("secret")

    async with opened(browser, agent) as page:
        await page.click("#run")
        for wire in WIRES:
            await page.shows(wire, "events", "2")
            events = await page.column(wire, "events")
            assert events[-1] == {"type": "RUN_ERROR", "message": "The agent failed."}


@pytest.mark.parametrize("work", ["decode", "run"])
async def test_the_measuring_page_counts_every_event(browser: Browser, work: str) -> None:
    async with serving(page_app()) as page, serving(agent_app([page.rstrip("/")])) as url:
        await asyncio.to_thread(browser.open, f"{page}measure.html?agent={url}")
        results = await asyncio.to_thread(browser.script, f"return measure('{work}', 50, 2)")
    assert results.keys() == WIRES.keys()
    assert 0 < results["protobuf"]["bytes"] < results["sse"]["bytes"]
    assert all(len(each["times"]) == 2 for each in results.values())


async def test_the_measuring_page_shows_what_it_measured(browser: Browser) -> None:
    async with serving(page_app()) as page, serving(agent_app([page.rstrip("/")])) as url:
        await asyncio.to_thread(browser.open, f"{page}measure.html?agent={url}")
        await asyncio.to_thread(browser.click, "#measure")
        enabled = "return !document.querySelector('#measure').disabled"
        await asyncio.to_thread(browser.until, enabled)
        source = "return [...document.querySelectorAll('td')].map((cell) => cell.textContent)"
        cells = await asyncio.to_thread(browser.script, source)
    assert len(cells) == 4
    assert all(int(cell) > 0 for cell in cells)


async def test_the_documented_command_serves_page_and_agent(browser: Browser) -> None:
    port = two_free_ports()
    command = (sys.executable, "-m", "examples.browser.server", str(port))
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        url = (await asyncio.wait_for(process.stdout.readline(), 20)).decode().strip()
        await asyncio.to_thread(browser.open, url)
        page = Page(browser)
        await page.click("#run")
        for wire, media_type in WIRES.items():
            await page.shows(wire, "state", "finished")
            await page.shows(wire, "type", media_type)
            await page.shows(wire, "text", ANSWER + " ")
            size = await page.column(wire, "bytes")
            assert f"{size:,}" in (ROOT / "docs" / "browser.md").read_text("utf-8")
    finally:
        process.terminate()
        await process.wait()


def two_free_ports() -> int:
    """The first of two ports in a row that nobody listens on."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port
