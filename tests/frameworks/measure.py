"""What each framework gains: python -m tests.frameworks.measure [--quick] [NAME...]

Writes the tables of docs/frameworks.md, or prints those of one short round (`--quick`), or of
some frameworks. Each runs in its own environment (see install.py); the client only reads bytes.
"""

from __future__ import annotations

import argparse
import time
from random import Random
from typing import NamedTuple

import agui_wire
from agui_wire import AGUI_MEDIA_TYPE, SSE_MEDIA_TYPE
from agui_wire.bench.machine import machine
from agui_wire.bench.tables import table

from .examples import DOC
from .install import python_of
from .servers import NAMES, Server, run_input, serving

COMMAND = "python -m tests.frameworks.measure"
MARKS = ("<!-- measured: begin -->", "<!-- measured: end -->")

# The distributions that were measured, by framework, and in all.
ADAPTERS = {
    "adk": "ag-ui-adk",
    "agent_framework": "agent-framework-ag-ui",
    "langgraph": "ag-ui-langgraph",
    "llama_index": "llama-index-protocols-ag-ui",
    "pydantic_ai": "pydantic-ai-slim",
    "strands": "ag-ui-strands",
}
COMMON = ("ag-ui-protocol", "pydantic")


class Way(NamedTuple):
    """One way to serve: what is asked for, where, and whether the encoder is ours."""

    title: str
    accept: str
    kind: str
    installed: bool


WAYS = [
    Way("SSE, as published", SSE_MEDIA_TYPE, "plain", False),
    Way("SSE, `install()`", SSE_MEDIA_TYPE, "plain", True),
    Way("protobuf, `install()`", AGUI_MEDIA_TYPE, "plain", True),
    Way("protobuf, `BinaryTransport`", AGUI_MEDIA_TYPE, "transport", False),
    Way("protobuf, both", AGUI_MEDIA_TYPE, "transport", True),
]


class Round(NamedTuple):
    """One run on one way, per event."""

    cpu: float
    """Seconds of the server's processor."""
    elapsed: float
    """Seconds from the request to the end of the body."""
    size: float
    """Bytes of the body."""


def measured(server: Server, way: Way, deltas: int) -> Round | None:
    """One run, or None where the framework does not serve this way."""
    server.control("install" if way.installed else "uninstall")
    given = run_input(f"{deltas} words")
    server.control("collect")  # what earlier runs left
    cpu = server.control("cpu")
    began = time.perf_counter()
    content_type, body = server.body(way.kind, way.accept, given)
    elapsed = time.perf_counter() - began
    cpu = server.control("cpu") - cpu
    if content_type.partition(";")[0] != way.accept:
        return None
    events = len(agui_wire.decode(body, content_type))
    return Round(cpu / events, elapsed / events, len(body) / events)


def best(server: Server, deltas: int, rounds: int) -> list[Round | None]:
    """Each way's best figures: whatever else the machine does only adds to them. The ways take
    turns in changing order, after one round that does not count."""
    turns = Random(1)
    runs: dict[Way, list[Round | None]] = {way: [] for way in WAYS}
    for _ in range(rounds + 1):
        for way in turns.sample(WAYS, len(WAYS)):
            runs[way].append(measured(server, way, deltas))
    found: list[Round | None] = []
    for way in WAYS:
        done = [run for run in runs[way][1:] if run is not None]
        found.append(Round(*map(min, zip(*done))) if done else None)
    return found


def report(names: list[str], deltas: int, rounds: int) -> str:
    """The tables, and what they were measured on."""
    host = machine()
    results: dict[str, list[Round | None]] = {}
    versions: dict[str, dict[str, str]] = {}
    for name in names:
        print(name, flush=True)
        with serving(name) as server:
            versions[name] = server.control("versions")
            results[name] = best(server, deltas, rounds)
    tested = [
        (
            f"`{name}`",
            f"{ADAPTERS[name]} {found[ADAPTERS[name]]}",
            *(found[each] for each in COMMON),
        )
        for name, found in versions.items()
    ]
    one = versions[names[0]]
    parts = [
        f"Measured by `{COMMAND}` on {host['processor']}, {host['cores']} cores, "
        f"{host['system']}, {host['python']}, load {host['load at the start']} at the start; "
        f"uvicorn {one['uvicorn']} (h11), the {one['protobuf engine']} engine. The best of "
        f"{rounds} runs of {deltas} text deltas, one client that reads and does not decode. "
        "– stands where the framework answers SSE whatever is asked for. ADK writes its SSE "
        "itself: what its first two columns differ by is noise.",
        table(("", "framework", *COMMON), tested),
    ]
    for title, cell in (
        ("Processor time of the server per event, model and framework included, µs", _cpu),
        ("Events per second on one connection", _rate),
        ("Bytes per event", _size),
    ):
        rows = [
            (f"`{name}`", *("–" if each is None else cell(each) for each in ways))
            for name, ways in results.items()
        ]
        parts += [f"{title}:", table(("", *(way.title for way in WAYS)), rows)]
    return "\n\n".join(parts)


def _cpu(found: Round) -> str:
    return f"{found.cpu * 1e6:.0f}"


def _rate(found: Round) -> str:
    return f"{1 / found.elapsed:,.0f}"


def _size(found: Round) -> str:
    return f"{found.size:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="some only, to standard output")
    parser.add_argument("--quick", action="store_true", help="one short round, to standard output")
    options = parser.parse_args()
    names = [name for name in options.names or NAMES if python_of(name).exists()]
    if not names:
        parser.exit(1, "no environments: python tests/frameworks/install.py\n")
    tables = report(names, 100, 1) if options.quick else report(names, 500, 11)
    if options.quick or options.names:
        print(tables)
        return
    before, _, rest = DOC.read_text(encoding="utf-8").partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    DOC.write_text(f"{before}{MARKS[0]}\n\n{tables}\n\n{MARKS[1]}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
