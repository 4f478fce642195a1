"""Ratios that hold on a busy machine: each candidate's time stands between two of the baseline's.

A round in which the baseline itself moved is dropped, the median of the others counts. Time is the
thread's own, so what else runs here shows only through the caches. The collector is off: both
sides make as many objects, and a full collection would fall to one of them by chance.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable
from itertools import repeat
from time import thread_time_ns
from typing import Any, NamedTuple

__all__ = ["Call", "Ratio", "bracket"]

Call = tuple[Callable[[Any], Any], Any]
"""What is timed, and the one argument that it is given: nothing else is in the loop."""

TOLERANCE = 0.08
"""How far the baseline may move in one round."""

ROUND_NS = 8_000_000


class Ratio(NamedTuple):
    """A median ratio, both medians in ns a call, and how many rounds were kept."""

    ratio: float
    candidate: float
    baseline: float
    rounds: int


def _time(call: Call, count: int) -> float:
    function, argument = call
    start = thread_time_ns()
    for _ in repeat(None, count):
        function(argument)
    return (thread_time_ns() - start) / count


def _count(call: Call) -> int:
    _time(call, 3)
    count = 1
    while True:
        spent = _time(call, count) * count
        if spent > ROUND_NS / 4:
            return max(1, int(count * ROUND_NS / spent))
        count *= 4


def bracket(candidate: Call, baseline: Call, rounds: int = 9) -> Ratio:
    """The candidate's time over the baseline's, the median of `rounds` rounds."""
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        return _bracket(candidate, baseline, rounds)
    finally:
        if collecting:
            gc.enable()


def _bracket(candidate: Call, baseline: Call, rounds: int) -> Ratio:
    candidate_count, baseline_count = _count(candidate), _count(baseline)
    kept: list[tuple[float, float, float]] = []
    dropped: list[tuple[float, float, float]] = []
    before = _time(baseline, baseline_count)
    for _ in range(5 * rounds):
        seen = _time(candidate, candidate_count)
        after = _time(baseline, baseline_count)
        mean = (before + after) / 2
        steady = abs(after - before) <= TOLERANCE * min(after, before)
        (kept if steady else dropped).append((seen / mean, seen, mean))
        before = after
        if len(kept) == rounds:
            break
    ratios, candidates, baselines = zip(*(kept or dropped))
    return Ratio(
        statistics.median(ratios),
        statistics.median(candidates),
        statistics.median(baselines),
        len(kept),
    )
