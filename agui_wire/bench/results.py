"""What a run of the benchmark found: the raw JSON beside every report."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..errors import AguiWireError

__all__ = [
    "Held",
    "Missing",
    "Point",
    "Results",
    "Row",
    "WireSize",
    "WorkloadInfo",
    "read_results",
    "write_results",
]

VERSION = 1


class Row(msgspec.Struct, kw_only=True):
    """One contender on one workload of one axis."""

    axis: str
    workload: str
    label: str
    events: int
    size: int
    """Bytes of the whole stream, 0 where there is none."""
    ns_per_event: float
    ratio: float
    """Time in units of the axis's baseline: the median over the rounds."""
    low: float
    high: float
    kept: int
    dropped: int
    noisy: bool

    @property
    def events_per_second(self) -> float:
        return 1e9 / self.ns_per_event

    @property
    def mb_per_second(self) -> float:
        return self.size / self.events / self.ns_per_event * 1e3

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles of the ratios, as a part of the median."""
        return (self.high - self.low) / 2 / self.ratio

    @property
    def key(self) -> tuple[str, str, str]:
        return self.axis, self.workload, self.label


class Point(msgspec.Struct, kw_only=True):
    """The cost of one event at one size of what grows; `ratio` is to the first size."""

    case: str
    label: str
    value: int
    ns_per_event: float
    ratio: float
    low: float
    high: float
    kept: int
    dropped: int
    noisy: bool


class WireSize(msgspec.Struct, kw_only=True):
    """Bytes that a workload takes on a wire, in a coding, with a flush for each event."""

    workload: str
    wire: str
    coding: str
    events: int
    size: int

    @property
    def per_event(self) -> float:
        return self.size / self.events


class Held(msgspec.Struct, kw_only=True):
    """Memory for a whole workload, in bytes; None where it could not be told."""

    case: str
    workload: str
    label: str
    events: int
    blocks: int | None
    """Live memory blocks of the interpreter while the result is held."""
    held: int
    peak: int | None
    resident: int | None


class Missing(msgspec.Struct, kw_only=True):
    """What was to be measured and could not be."""

    axis: str
    workload: str
    label: str
    reason: str


class WorkloadInfo(msgspec.Struct, kw_only=True):
    """A workload and the hash of its JSON lines: equal hashes, equal streams.

    `events` leaves out the start and the end of the run around a seeded workload.
    """

    name: str
    what: str
    events: int
    size: int
    sha256: str


class Results(msgspec.Struct, kw_only=True):
    """A whole run of the benchmark."""

    version: int = VERSION
    started: str
    seconds: float = 0.0
    command: str
    quick: bool
    seed: int
    engine: str
    machine: dict[str, str]
    versions: dict[str, str]
    method: dict[str, float]
    workloads: list[WorkloadInfo]
    rows: list[Row]
    sizes: list[WireSize]
    points: list[Point]
    memory: list[Held]
    missing: list[Missing]


def write_results(results: Results, path: Path) -> None:
    """Write the results as JSON. Raises OSError."""
    text = msgspec.json.format(msgspec.json.encode(results), indent=1)
    path.write_bytes(text + b"\n")


def read_results(path: Path) -> Results:
    """The results in a file. Raises OSError, and AguiWireError where it holds none of ours."""
    try:
        results = msgspec.json.decode(path.read_bytes(), type=Results)
    except msgspec.MsgspecError as error:
        raise AguiWireError(f"{path} holds no results of this benchmark: {error}") from None
    if results.version != VERSION:
        raise AguiWireError(f"{path} is of version {results.version}, not {VERSION}")
    return results
