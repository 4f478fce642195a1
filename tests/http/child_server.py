"""A server in a process of its own: python -m tests.http.child_server

Prints its URL. The run input's forwardedProps say what an agent does: `count` numbered deltas,
each with `padding` characters on top, and a pause after `pause_after` of them, for ever.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator
from typing import Any

from agui_wire import RunAgentInput

from .harness import FINISHED, STARTED, TEXT_END, TEXT_START, delta, running

__all__ = ["raise_file_limit"]


def raise_file_limit() -> None:
    """Lets this process open as many sockets as it may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def numbered(run_input: RunAgentInput) -> AsyncIterator[Any]:
    props: Any = run_input.forwarded_props
    padding = "x" * props.get("padding", 0)
    yield STARTED
    yield TEXT_START
    for n in range(props["count"]):
        yield delta(f"{n} {padding}")
        if n % 10 == 9:
            await asyncio.sleep(0)
        if n == props.get("pause_after"):
            await asyncio.Event().wait()
    yield TEXT_END
    yield FINISHED


async def main() -> None:
    raise_file_limit()
    async with running(numbered) as url:
        print(url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
