"""Decoding in Chromium: python -m tests.browser.measure [ROUNDS]

Runs of text deltas in one message, from memory, in chunks of 16 KiB; the wires take turns.
`npm install` and `npm run build` in examples/browser come first. The best round is the one that
other processes disturbed least.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from examples.browser.server import agent_app, page_app
from tests.examples.serving import serving

from .webdriver import chromium

# What is timed, and over how many deltas. The client's cost grows with the square of a message.
WORK = {"decode": 20_000, "run": 2_000}


async def main(rounds: int) -> None:
    driver = shutil.which("chromedriver")
    if driver is None:
        raise SystemExit("needs chromedriver")
    async with serving(page_app()) as page, serving(agent_app([page.rstrip("/")])) as agent:
        url = f"{page}measure.html?agent={agent}"
        version, results = await asyncio.to_thread(measured, driver, url, rounds)
    print(f"Chromium {version}, {rounds} rounds: best (median), in ms")
    for work, wires in results.items():
        for wire, result in wires.items():
            times, size = result["times"], result["bytes"]
            print(f"{work:>6} {WORK[work]:>7,} {wire:>9} {size:>10,} bytes", end="")
            print(f"{min(times):>10,.1f} ({median(times):,.1f})")


def measured(driver: str, url: str, rounds: int) -> tuple[str, dict[str, Any]]:
    with (
        tempfile.TemporaryDirectory() as folder,
        chromium(driver, Path(folder), seconds=900) as browser,
    ):
        browser.open(url)
        source = "return measure(...arguments)"
        return browser.version, {
            work: browser.script(source, work, words, rounds) for work, words in WORK.items()
        }


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 9))
