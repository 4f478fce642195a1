"""The relay in a process of its own that counts decodes: python -m tests.examples.counted_relay URL

Prints its URL. Then it reads lines: `count` prints how often anything was decoded so far, `decode`
decodes one event on each wire first.
"""

from __future__ import annotations

import asyncio
import os
import sys
from types import FrameType
from typing import Any

os.environ["AGUI_WIRE_PURE"] = "1"  # a profiler does not see into the native engine

import agui_wire
from agui_wire import codecs
from examples.relay.app import relay_app
from tests.examples.serving import serving
from tests.http.harness import FINISHED, WIRES

CODECS = os.path.dirname(codecs.__file__) + os.sep
calls = 0


def count(frame: FrameType, event: str, argument: Any) -> None:
    """A profile function: counts calls into the codecs, and of msgspec's decoders."""
    global calls
    if event == "call":
        calls += frame.f_code.co_filename.startswith(CODECS)
    elif event == "c_call":
        calls += str(type(argument.__self__).__module__).startswith("msgspec")


async def main(url: str) -> None:
    async with serving(relay_app(url)) as relay:
        print(relay, flush=True)
        frames = [(agui_wire.encode(FINISHED, wire), wire) for wire in WIRES]
        sys.setprofile(count)
        while line := await asyncio.to_thread(sys.stdin.readline):
            if line == "decode\n":
                for frame, wire in frames:
                    agui_wire.decode(frame, wire)
            print(calls, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
