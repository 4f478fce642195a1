"""The commands about recordings, as they are run from a shell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import agui_wire
from agui_wire.cli import main
from agui_wire.recording import WIRE_NAMES, shipped_recording
from tests.click_runner import click_runner

WIRES = list(WIRE_NAMES)
JSONL = shipped_recording().read_bytes()
LINES = JSONL.splitlines(keepends=True)


class Result(NamedTuple):
    """What a command left."""

    returncode: int
    stdout: bytes
    stderr: bytes


def run(*arguments: str | Path, stdin: bytes = b"", code: str = "") -> Result:
    """`agui-wire ...` in a process of its own."""
    program = ["-c", code] if code else ["-m", "agui_wire"]
    command = [sys.executable, *program, *map(str, arguments)]
    done = subprocess.run(command, input=stdin, capture_output=True)
    return Result(done.returncode, done.stdout, done.stderr)


def run_here(*arguments: str | Path, stdin: bytes = b"") -> Result:
    """The same in this process, which starts faster."""
    done = click_runner().invoke(main, [*map(str, arguments)], input=stdin)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return Result(done.exit_code, done.stdout_bytes, done.stderr_bytes or b"")


def normal(lines: bytes) -> list[Any]:
    """The values in lines of JSON."""
    return [json.loads(line) for line in lines.splitlines()]


@pytest.fixture(scope="session")
def bodies() -> dict[str, bytes]:
    """The shipped recording on each wire."""
    events = [agui_wire.from_dict(json.loads(line)) for line in LINES]
    binary = {
        name: b"".join(agui_wire.encode(event, media_type) for event in events)
        for name, media_type in WIRE_NAMES.items()
        if name != "jsonl"
    }
    return {"jsonl": JSONL, **binary}


@pytest.mark.parametrize("wire", WIRES)
def test_inspect(bodies: dict[str, bytes], wire: str) -> None:
    guessed = run("inspect", "-", stdin=bodies[wire])
    for result in (guessed, run_here("inspect", "-", "--wire", wire, stdin=bodies[wire])):
        assert (result.returncode, result.stderr) == (0, b"")
        assert normal(result.stdout) == normal(JSONL)


@pytest.mark.parametrize("wire", WIRES)
def test_inspect_what_is_cut_or_corrupted(bodies: dict[str, bytes], wire: str) -> None:
    body = bodies[wire]
    cut = run_here("inspect", "-", stdin=body[:-10])
    assert cut.returncode == 1
    assert normal(cut.stdout) == normal(b"".join(LINES[:-1]))
    assert cut.stderr.startswith(b"error: the ")
    assert b"ende" in cut.stderr or b"ends" in cut.stderr
    assert b"event 2040, byte " in cut.stderr
    assert cut.stderr.count(b"\n") == 1
    middle = body.index(b"dd632a29", len(body) // 20)
    broken = run_here("inspect", "-", stdin=body[:middle] + b"\xff" + body[middle + 1 :])
    assert broken.returncode == 1
    whole = normal(broken.stdout)
    assert 10 < len(whole) < 2000
    assert whole == normal(JSONL)[: len(whole)]
    assert f"event {len(whole)}, byte ".encode() in broken.stderr


def test_inspect_stats(bodies: dict[str, bytes]) -> None:
    for body, code in ((bodies["protobuf"], 0), (bodies["protobuf"][:-1], 1)):
        result = run_here("inspect", "--stats", "-", stdin=body)
        assert result.returncode == code
        rows = [line.split() for line in result.stdout.decode().splitlines()]
        assert rows[0] == ["event", "type", "events", "bytes", "mean"]
        assert ["RUN_STARTED", "1"] in [row[:2] for row in rows]
        total = 2041 - code
        assert rows[-1][:2] == ["total", str(total)]
        assert sum(int(row[1]) for row in rows[1:-1]) == total
        assert sum(int(row[2]) for row in rows[1:-1]) == int(rows[-1][2])


@pytest.mark.parametrize("wire", ["sse", "protobuf"])
def test_inspect_assemble(bodies: dict[str, bytes], wire: str) -> None:
    result = run_here("inspect", "--assemble", "-", stdin=bodies[wire])
    assert (result.returncode, result.stderr) == (0, b"")
    assembled = json.loads(result.stdout)
    assert assembled["outcome"] == "success"
    assert assembled["pendingToolCallIds"] == []
    assert assembled["usage"][0]["outputTokens"] == 2348
    assert assembled["state"]["spent_eur"] == 972.75
    texts = [m["content"] for m in assembled["messages"] if m["role"] == "assistant"]
    assert any("give my regards to the macaques" in text for text in texts if text)


def test_inspect_assemble_what_is_cut(bodies: dict[str, bytes]) -> None:
    result = run_here("inspect", "--assemble", "-", stdin=b"".join(LINES[:700]))
    assert result.returncode == 1
    assembled = json.loads(result.stdout)
    assert assembled["outcome"] is None
    assert len(assembled["messages"]) > 3
    assert result.stderr.startswith(b"error: the stream ended without RUN_FINISHED or RUN_ERROR")


def lines(*events: dict[str, Any]) -> bytes:
    """Events as JSON lines."""
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def test_inspect_check(bodies: dict[str, bytes]) -> None:
    clean = run_here("inspect", "--check", "-", stdin=bodies["msgpack"])
    assert (clean.returncode, clean.stderr) == (0, b"")
    assert clean.stdout == b"2,041 events, 0 warnings, 0 faults\n"
    odd = {"type": "STEP_STARTED", "stepName": "s", "\x1b[2J": 1}
    body = lines(
        STARTED,
        {"type": "NEW_EVENT"},
        {**odd, "timestamp": None},
        {"type": "STEP_FINISHED", "stepName": "s", "timestamp": None},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "lost"},
        {"type": "TEXT_MESSAGE_START", "messageId": 7, "role": "assistant"},
        {"type": "STEP_STARTED", "stepName": "open"},
        {**FINISHED, "runId": "other"},
    )
    result = run_here("inspect", "--check", "-", stdin=body + b'{"type": "RUN')
    assert (result.returncode, result.stderr) == (1, b"")
    *found, counts = result.stdout.decode().splitlines()
    assert [line.partition("]")[0] for line in found] == [
        "event 1: warning [unknown-event",
        "event 2 STEP_STARTED: warning [unknown-property",
        "event 2 STEP_STARTED: warning [null",
        "event 3 STEP_FINISHED: warning [null",
        "event 4 TEXT_MESSAGE_CONTENT: fault [ProtocolViolation",
        "event 5: fault [MalformedEvent",
        "event 7 RUN_FINISHED: fault [ProtocolViolation",
        "event 8: fault [TruncatedStream",
        "end: fault [TruncatedStream",
    ]
    assert "\x1b" not in result.stdout.decode()
    assert counts == "9 events, 4 warnings, 5 faults"


def test_an_empty_file() -> None:
    assert run_here("inspect", "-").returncode == 0
    check = run_here("inspect", "--check", "-")
    assert check.returncode == 1
    assert b"the stream ended before its first event" in check.stdout
    assembled = run_here("inspect", "--assemble", "-")
    assert assembled.returncode == 1
    assert json.loads(assembled.stdout)["messages"] == []
    assert b"0 " in run_here("inspect", "--stats", "-").stdout
    convert = run_here("convert", "-", "--to", "protobuf")
    assert (convert.returncode, convert.stdout) == (0, b"")


@pytest.mark.parametrize("wire", WIRES)
def test_convert(bodies: dict[str, bytes], wire: str, tmp_path: Path) -> None:
    output = tmp_path / "out"
    result = run_here("convert", shipped_recording(), "--to", wire, "-o", output)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert output.read_bytes() == bodies[wire]


def test_convert_to_standard_output(bodies: dict[str, bytes]) -> None:
    result = run("convert", "-", "--to", "msgpack", stdin=bodies["protobuf"])
    assert (result.returncode, result.stderr) == (0, b"")
    assert len(agui_wire.decode(result.stdout, agui_wire.MSGPACK_MEDIA_TYPE)) == 2041


def test_convert_what_is_broken(bodies: dict[str, bytes]) -> None:
    result = run_here("convert", "-", "--wire", "protobuf", "--to", "sse", stdin=bodies["sse"])
    assert (result.returncode, result.stdout) == (1, b"")
    assert b"read as text" in result.stderr
    big = lines(STARTED, {"type": "STATE_SNAPSHOT", "snapshot": {"id": 2**60 + 1}}, FINISHED)
    result = run_here("convert", "-", "--to", "protobuf", stdin=big)
    assert result.returncode == 1
    assert b"/snapshot/id" in result.stderr
    (event,) = agui_wire.decode(result.stdout, agui_wire.AGUI_MEDIA_TYPE)
    assert event.type == "RUN_STARTED"
    text = run_here("convert", "-", "--to", "protobuf", "--lossy-int", "string", stdin=big)
    assert text.returncode == 0
    assert str(2**60 + 1).encode() in text.stdout


def test_warnings_are_told_once() -> None:
    old = {**STARTED, "timestamp": None}
    body = lines(old, {**FINISHED, "timestamp": None})
    for command in (["inspect", "--assemble"], ["convert", "--to", "sse"]):
        result = run(*command, "-", stdin=body)
        assert result.returncode == 0
        first, total = result.stderr.decode().splitlines()
        assert first.startswith("warning: event 0: ")
        assert first.endswith(" (at /timestamp)")
        assert total == f"{first} (2 times)"


def test_half_a_character_is_kept() -> None:
    half = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "\ud83d"}
    assert normal(run_here("inspect", "-", stdin=lines(half)).stdout) == [half]
    converted = run_here("convert", "-", "--to", "sse", stdin=lines(half))
    assert converted.stdout.endswith(b'"delta":"\\ud83d"}\n\n')
    lost = run_here("convert", "-", "--to", "protobuf", stdin=lines(half))
    assert "\ufffd".encode() in lost.stdout
    assert b"warning: event 0: " in lost.stderr


def test_a_missing_extra() -> None:
    code = "import sys; sys.modules[{!r}] = None; from agui_wire.cli import main; main()"
    for command in (["demo"], ["call", "http://127.0.0.1:9/"]):
        result = run(*command, code=code.format("aiohttp"))
        assert (result.returncode, result.stdout) == (1, b"")
        assert b"pip install 'agui-wire[http]'" in result.stderr
        assert b"Traceback" not in result.stderr
    for module in ("click", "rich"):
        result = run("inspect", "-", code=code.format(module))
        assert result.returncode == 1
        assert b"pip install 'agui-wire[cli]'" in result.stderr
        assert b"Traceback" not in result.stderr


def test_help_and_version() -> None:
    listed = run("--help").stdout.decode()
    for command in ("call", "convert", "demo", "inspect", "serve"):
        assert f"\n  {command} " in listed
    assert agui_wire.__version__.encode() in run_here("--version").stdout
    assert run_here("inspect", "/no/such/file").returncode == 2
