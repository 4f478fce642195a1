"""Decoding in Chromium: python -m tests.browser.measure [ROUNDS]

The processor time of the page's main thread, so that other processes do not count: once for one
round and once for ROUNDS more, and the difference. Runs are text deltas in one message, from
memory, in chunks of 16 KiB. `npm install` and `npm run build` in examples/browser come first.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from examples.browser.server import agent_app, page_app
from tests.examples.serving import serving

from .webdriver import Browser, chromium

# What is timed, over how many deltas: the parser alone, and the whole client.
WORK = (("decode", 2_000), ("decode", 20_000), ("run", 2_000))
WIRES = ("sse", "protobuf")


async def main(rounds: int) -> None:
    driver = shutil.which("chromedriver")
    if driver is None:
        raise SystemExit("needs chromedriver")
    async with serving(page_app()) as page, serving(agent_app([page.rstrip("/")])) as agent:
        await asyncio.to_thread(report, driver, f"{page}measure.html?agent={agent}", rounds)


def report(driver: str, url: str, rounds: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        chromium(driver, Path(folder), seconds=900) as browser,
    ):
        browser.open(url)
        print(f"Chromium {browser.version}, mean of {rounds} rounds")
        for work, words in WORK:
            for wire in WIRES:
                first, size = measured(browser, work, words, 1, wire)
                more, _ = measured(browser, work, words, 1 + rounds, wire)
                seconds = (more - first) / rounds
                print(
                    f"{work:>6} {words:>7,} {wire:>9} {size:>10,} bytes"
                    f" {seconds * 1e3:>8,.1f} ms {seconds / words * 1e6:>7,.1f} us an event"
                )


def measured(browser: Browser, work: str, words: int, rounds: int, wire: str) -> tuple[float, int]:
    """Processor seconds of some rounds with all that goes before them, and the body's bytes."""
    before = browser.cpu_seconds()
    result: Any = browser.script("return measure(...arguments)", work, words, rounds, [wire])
    return browser.cpu_seconds() - before, result[wire]["bytes"]


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 9))
