"""`agui-wire demo`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import agui_wire
from agui_wire.demo import Passage, are_equal, replay_agent
from agui_wire.errors import StreamError


def demo(*arguments: str | Path) -> Any:
    """`agui-wire demo ...` in a process of its own."""
    command = [sys.executable, "-m", "agui_wire", "demo", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_shipped_recording() -> None:
    result = demo()
    assert (result.returncode, result.stderr) == (0, "")
    title, *rows, verdict = result.stdout.splitlines()
    assert title.split() == ["wire", "content", "type", "bytes", "events", "events/s", "of", "SSE"]
    cells = [row.split() for row in rows]
    assert [row[:2] for row in cells] == [
        ["sse", "text/event-stream"],
        ["protobuf", "application/vnd.ag-ui.event+proto"],
        ["msgpack", "application/vnd.ag-ui.event+msgpack"],
    ]
    assert [row[3] for row in cells] == ["2,041"] * 3
    sizes = [int(row[2].replace(",", "")) for row in cells]
    assert [row[5] for row in cells] == [f"{size / sizes[0]:.0%}" for size in sizes]
    assert sizes[1] < sizes[2] < sizes[0]
    assert verdict == "The three wires gave equal events."


STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def test_a_saved_body(tmp_path: Path) -> None:
    body = tmp_path / "body"
    wire = agui_wire.MSGPACK_MEDIA_TYPE
    body.write_bytes(
        b"".join(agui_wire.encode(agui_wire.from_dict(e), wire) for e in (STARTED, FINISHED))
    )
    result = demo("--replay", body)
    assert (result.returncode, result.stderr) == (0, "")
    assert [line.split()[3] for line in result.stdout.splitlines()[1:4]] == ["2"] * 3


def test_what_differs_between_the_wires(tmp_path: Path) -> None:
    body = tmp_path / "body.jsonl"
    big = {"type": "STATE_SNAPSHOT", "snapshot": {"id": 2**60 + 1}}
    body.write_text("\n".join(map(json.dumps, (STARTED, big, FINISHED))))
    result = demo("--replay", body)
    assert result.returncode == 1
    assert "The wires differ." in result.stdout


def test_a_broken_recording(tmp_path: Path) -> None:
    body = tmp_path / "body.jsonl"
    body.write_text(json.dumps(STARTED) + "\noops\n")
    result = demo("--replay", body)
    assert (result.returncode, result.stdout) == (1, "")
    assert "Traceback" not in result.stderr
    assert "no JSON" in result.stderr
    assert "event 1" in result.stderr
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(StreamError, match="holds no event"):
        replay_agent(empty)


def test_are_equal() -> None:
    passage = Passage("x", 1, [], [], {"a": 1}, 0.5)
    assert are_equal([passage, passage._replace(content_type="y", bytes_received=2, seconds=1.0)])
    others: list[Any] = [{"state": {}}, {"events": [1]}, {"messages": [1]}]
    for other in others:
        assert not are_equal([passage, passage._replace(**other)])
