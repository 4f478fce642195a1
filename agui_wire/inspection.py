"""What `agui-wire inspect` prints about a recorded body."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

import msgspec

from ._json import DEFAULT_MAX_DEPTH
from ._warnings import WarningLog
from .convert import to_dict
from .decoder import EventReader
from .errors import StreamError
from .events import Event
from .pipeline.assemble import MessageAssembler
from .pipeline.expand import ChunkExpander
from .pipeline.verify import SequenceVerifier
from .recording import Recorded, json_line, json_text, read_frames

__all__ = ["assembled", "check", "events_as_lines", "printable", "statistics"]

_DROPPED = "(dropped)"

Write = Callable[[bytes], Any]


# Text of a peer's must not steer the terminal: every control character but tab and line feed.
_CONTROLS = {code: "\ufffd" for code in [*range(32), *range(127, 160)] if chr(code) not in "\t\n"}


def printable(text: str) -> str:
    """Text of a peer's as it may be shown on a terminal."""
    return text.translate(_CONTROLS).encode("utf-8", "replace").decode()


def events_as_lines(recording: Iterable[Recorded], write: Write) -> None:
    """Write each event as a line of JSON. Raises StreamError after those before the fault."""
    for recorded in recording:
        for event in recorded.events:
            write(json_line(event))


def statistics(recording: Iterable[Recorded], write: Write) -> None:
    """Write a table of the event types, up to a fault. Raises StreamError where there is one."""
    sizes: dict[str, list[int]] = {}
    try:
        for recorded in recording:
            names = [event.type.value for event in recorded.events] or [_DROPPED]
            for name in names:
                sizes.setdefault(name, []).append(recorded.size)
    finally:
        write(_table(sizes).encode())


def assembled(recording: Iterable[Recorded], write: Write, warnings: WarningLog) -> None:
    """Write what a body comes to, as one JSON object: messages, state, how its last run ended.

    Where the body is broken, that is what was there before the fault. Raises StreamError then.
    """
    stages = _Stages(warnings)
    try:
        for index, recorded in enumerate(recording):
            try:
                for event in recorded.events:
                    stages.apply(event)
            except StreamError as error:
                raise error.located(index, recorded.offset) from None
        stages.verifier.close()
    finally:
        text = msgspec.json.format(json_text(_summary(stages.assembler)), indent=2)
        write(text + b"\n")


def check(stream: BinaryIO, media_type: str | None, write: Write) -> int:
    """Write every warning and every fault with its event, and go on where that is possible.

    Returns the number of faults.
    """
    findings = _Findings()
    stages = _Stages(findings)
    count = 0
    wire, frames = read_frames(stream, media_type)
    reader = EventReader(wire, DEFAULT_MAX_DEPTH, findings)
    try:
        for index, frame in enumerate(frames):
            count = index + 1
            findings.event_index = index
            try:
                for event in reader.read(frame.payload):
                    findings.event_type = event.type.value
                    stages.apply(event)
            except StreamError as error:
                findings.fault(frame.fault(error, index))
            findings.flush(write)
        findings.event_index = None
        stages.verifier.close()
    except StreamError as error:
        findings.event_index = error.event_index
        findings.fault(error)
        findings.flush(write)
    counts = f"{count:,} events, {findings.warnings:,} warnings, {findings.faults:,} faults\n"
    write(counts.encode())
    return findings.faults


class _Stages:
    """The stages of a StreamConsumer after decoding, one event at a time."""

    def __init__(self, warnings: WarningLog) -> None:
        self._expander = ChunkExpander()
        self.verifier = SequenceVerifier(warnings)
        self.assembler = MessageAssembler(warnings=warnings)

    def apply(self, event: Event) -> None:
        for expanded in self._expander.expand(event):
            self.verifier.verify(expanded)
            self.assembler.apply(expanded)


class _Findings(WarningLog):
    """Notes every warning, also those that were told before."""

    def __init__(self) -> None:
        super().__init__()
        self.event_type = ""
        self.warnings = 0
        self.faults = 0
        self._lines: list[tuple[str, str]] = []

    def warn(self, kind: str, path: str, message: str) -> None:
        where = f" (at {path})" if path else ""
        self.warnings += 1
        self._lines.append((f"warning [{kind}]", f"{message}{where}"))

    def fault(self, error: StreamError) -> None:
        self.faults += 1
        self._lines.append((f"fault [{type(error).__name__}]", str(error)))

    def flush(self, write: Write) -> None:
        place = "end" if self.event_index is None else f"event {self.event_index}"
        if self.event_type:
            place += f" {self.event_type}"
        for what, message in self._lines:
            line = printable(message).replace("\n", " ")
            write(f"{place}: {what}: {line}\n".encode())
        self._lines.clear()
        self.event_type = ""


def _summary(assembler: MessageAssembler) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "messages": [to_dict(message) for message in assembler.messages],
        "state": assembler.state,
        "outcome": assembler.outcome,
        "pendingToolCallIds": assembler.pending_tool_call_ids,
    }
    if assembler.error is not None:
        summary["error"] = to_dict(assembler.error)
    if assembler.result is not None:
        summary["result"] = assembler.result
    for name, structs in (("interrupts", assembler.interrupts), ("usage", assembler.usage)):
        if structs:
            summary[name] = msgspec.to_builtins(structs)
    return summary


def _table(sizes: dict[str, list[int]]) -> str:
    rows = [(name, len(each), sum(each)) for name, each in sorted(sizes.items())]
    rows.append(("total", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    width = max(len("event type"), *(len(row[0]) for row in rows))
    lines = [f"{'event type':<{width}}  {'events':>8}  {'bytes':>10}  {'mean':>8}"]
    for name, count, size in rows:
        mean = size / count if count else 0.0
        lines.append(f"{name:<{width}}  {count:>8}  {size:>10}  {mean:>8.1f}")
    return "\n".join(lines) + "\n"
