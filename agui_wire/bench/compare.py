"""What got slower or larger since another run, with the noise of both taken into account.

Times are compared as ratios to each run's own baseline. What cannot have changed, the other
libraries, tells how far the figures of an axis and a workload move by themselves: that shift is
taken off, and what remains of their movement is noise.
"""

from __future__ import annotations

import statistics
from typing import Literal, NamedTuple

from .axes import OURS
from .results import Results, Row
from .tables import number, table

__all__ = ["LEAST_CHANGE", "Change", "changes", "comparison", "size_changes", "slower"]

LEAST_CHANGE = 0.05
"""Smaller changes are never told: two builds of the same code differ by as much."""

_DOUBLED = 1.0
_SPREADS = 2.0
_DEVIATIONS = 3.0
# From a median absolute deviation to a standard deviation.
_NORMAL = 1.4826
_MIN_CONTROLS = 3

Verdict = Literal["slower", "faster", "same", "unsure"]


class Change(NamedTuple):
    """One row of ours in two runs."""

    old: Row
    new: Row
    change: float
    """The new ratio over the old one, less 1 and less the shift of what did not change."""
    noise: float
    """How large a change may be without meaning anything."""

    @property
    def what(self) -> str:
        """The row in words."""
        return f"{self.new.axis}, {self.new.workload}: {self.new.label}"

    @property
    def verdict(self) -> Verdict:
        """What the change means; where either run has marked the row, only a doubling does."""
        if (self.old.noisy or self.new.noisy) and self.change < _DOUBLED:
            return "unsure"
        if abs(self.change) <= self.noise:
            return "same"
        return "slower" if self.change > 0 else "faster"


class _Drift(NamedTuple):
    """How what cannot have changed moved: its shift as a factor, and the noise around that."""

    shift: float
    noise: float


def _drift(factors: list[float]) -> _Drift:
    shift = statistics.median(factors)
    deviation = statistics.median(abs(each / shift - 1) for each in factors)
    return _Drift(shift, _DEVIATIONS * _NORMAL * deviation)


def _drifts(pairs: list[tuple[Row, Row]]) -> dict[tuple[str, str], _Drift]:
    """By axis and workload. Few other libraries tell no shift: then all they moved is noise."""
    groups: dict[tuple[str, str], list[float]] = {}
    for old, new in pairs:
        controls = groups.setdefault((new.axis, new.workload), [])
        if not new.label.startswith(OURS):
            controls.append(new.ratio / old.ratio)
    everything = [factor for factors in groups.values() for factor in factors]
    overall = _drift(everything) if everything else _Drift(1.0, LEAST_CHANGE)
    return {
        group: _drift(factors)
        if len(factors) >= _MIN_CONTROLS
        else _Drift(1.0, max([overall.noise, *(abs(each - 1) for each in factors)]))
        for group, factors in groups.items()
    }


def changes(old: Results, new: Results) -> list[Change]:
    """The rows of ours that both runs have, the worst first."""
    before = {row.key: row for row in old.rows}
    pairs = [(before[row.key], row) for row in new.rows if row.key in before]
    drifts = _drifts(pairs)
    found = []
    for earlier, row in pairs:
        if row.label.startswith(OURS):
            drift = drifts[row.axis, row.workload]
            change = row.ratio / earlier.ratio / drift.shift - 1
            noise = max(LEAST_CHANGE, _SPREADS * (earlier.spread + row.spread), drift.noise)
            found.append(Change(earlier, row, change, noise))
    return sorted(found, key=lambda each: -each.change)


def size_changes(old: Results, new: Results) -> list[tuple[str, int, int]]:
    """What, old and new bytes, where the same workload takes another number of them."""
    hashes = {each.name: each.sha256 for each in old.workloads}
    same = {each.name for each in new.workloads if hashes.get(each.name) == each.sha256}
    before = {(each.workload, each.wire, each.coding): each.size for each in old.sizes}
    return [
        (f"{each.workload}, {each.wire}, {each.coding}", size, each.size)
        for each in new.sizes
        if each.workload in same
        and (size := before.get((each.workload, each.wire, each.coding), each.size)) != each.size
    ]


def comparison(old: Results, new: Results) -> str:
    """The comparison as Markdown."""
    found = changes(old, new)
    parts = [
        f"Compared with the run of {old.started}: {len(found)} rows of {OURS} are in both. The "
        "figures are ratios to the floor, less the shift of the other libraries in the same table. "
        f"A row counts as changed where it moved by more than {LEAST_CHANGE:.0%}, by more than "
        "twice the spreads of both runs together, and by more than the other libraries, which "
        "did not change, moved among themselves. Rows that either run has marked tell of a "
        "doubling alone."
    ]
    parts += _differences(old, new)
    parts.append(f"**Too noisy to tell: {_unsure(found)}**")
    for verdict, title in (("slower", "Slower"), ("faster", "Faster")):
        rows = [each for each in found if each.verdict == verdict]
        if verdict == "faster":
            rows.reverse()
        parts.append(f"**{title}, beyond the noise: {len(rows)}**")
        if rows:
            parts.append(_table(rows))
    sizes = size_changes(old, new)
    parts.append(f"**Other sizes on the wire: {len(sizes)}**")
    if sizes:
        rows_of_sizes = [(what, f"{a:,}", f"{b:,}", f"{b / a - 1:+.1%}") for what, a, b in sizes]
        parts.append(table(("what", "old bytes", "new bytes", "change"), rows_of_sizes))
    return "\n\n".join(parts)


def _unsure(found: list[Change]) -> int:
    return sum(each.verdict == "unsure" for each in found)


def slower(old: Results, new: Results) -> list[str]:
    """Lines for a terminal: what got slower, and how many rows did not."""
    found = changes(old, new)
    rows = [each for each in found if each.verdict == "slower"]
    return [
        *(f"slower by {each.change:.0%} (noise ±{each.noise:.0%}): {each.what}" for each in rows),
        f"{len(rows)} of {len(found)} rows got slower than on {old.started}, beyond the noise; "
        f"{_unsure(found)} are too noisy to tell",
    ]


def _table(rows: list[Change]) -> str:
    return table(
        ("what", "old, × floor", "new, × floor", "change", "noise"),
        [
            (
                each.what,
                number(each.old.ratio),
                number(each.new.ratio),
                f"{each.change:+.0%}",
                f"±{each.noise:.0%}",
            )
            for each in rows
        ],
    )


def _differences(old: Results, new: Results) -> list[str]:
    """What else is not the same in the two runs."""
    told = []
    if old.machine.get("processor") != new.machine.get("processor"):
        told.append("the processors differ")
    if old.engine != new.engine:
        told.append(f"the protobuf engines differ ({old.engine}, now {new.engine})")
    if old.quick != new.quick:
        told.append("one run was quick and the other was not")
    for name in sorted(old.versions.keys() & new.versions.keys()):
        if name != "agui_wire" and old.versions[name] != new.versions[name]:
            told.append(f"{name} was {old.versions[name]} and is {new.versions[name]}")
    return [f"Mind that {'; '.join(told)}."] if told else []
