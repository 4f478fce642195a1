"""From timed rounds to one figure with its spread: bracketed, interleaved, medians of ratios.

A shared machine slows down and speeds up by itself. So every round times the baseline before
and after the contender; where the two differ by more than MAX_DRIFT the round says something
about the machine and is dropped. What is reported is the median of contender / baseline.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

__all__ = [
    "MAX_DRIFT",
    "MAX_SPREAD",
    "MIN_KEPT",
    "Batch",
    "Round",
    "Summary",
    "bracketed",
    "loops_for",
    "quartiles",
    "summarise",
    "typical",
]

MAX_DRIFT = 0.08
"""How far the baseline may move, as a part of the smaller time, before a round is dropped."""

MAX_SPREAD = 0.10
"""How wide the middle half of the ratios may be, as a part of their median, before it is marked."""

MIN_KEPT = 3
"""With fewer rounds left than this there is no spread to speak of."""

Batch = Callable[[], float]
"""Runs once and gives seconds per event."""


class Round(NamedTuple):
    """Seconds per event: the baseline, the contender, the baseline again."""

    before: float
    contender: float
    after: float

    @property
    def drift(self) -> float:
        """How far the baseline moved, as a part of the smaller time."""
        return abs(self.after - self.before) / min(self.before, self.after)

    @property
    def ratio(self) -> float:
        """The contender's time in units of the baseline around it."""
        return 2 * self.contender / (self.before + self.after)


class Summary(NamedTuple):
    """What the rounds of one contender come to, in units of the baseline."""

    ratio: float
    low: float
    """The first quartile of the ratios."""
    high: float
    """The third quartile of the ratios."""
    kept: int
    """Rounds in which the baseline held still."""
    dropped: int
    noisy: bool
    """Whether the figure is to be read with care: a wide spread, or too few quiet rounds."""

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, as a part of the median."""
        return (self.high - self.low) / 2 / self.ratio


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """First quartile, median and third quartile (linear between neighbours) of one or more."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def summarise(rounds: Iterable[Round]) -> Summary:
    """The figure of one contender, from the rounds in which the baseline held still.

    Where those are fewer than MIN_KEPT, the quietest ones count, and the figure is marked. Raises
    StatisticsError for no rounds at all.
    """
    rounds = list(rounds)
    if not rounds:
        raise statistics.StatisticsError("no rounds")
    quiet = [each for each in rounds if each.drift <= MAX_DRIFT]
    used = quiet if len(quiet) >= MIN_KEPT else sorted(rounds, key=_drift)[:MIN_KEPT]
    low, middle, high = quartiles([each.ratio for each in used])
    return Summary(
        ratio=middle,
        low=low,
        high=high,
        kept=len(quiet),
        dropped=len(rounds) - len(quiet),
        noisy=len(quiet) < MIN_KEPT or (high - low) / middle > MAX_SPREAD,
    )


def typical(rounds: Iterable[Round]) -> float:
    """The baseline's median time in the quiet rounds, or in all where none is. Needs one round."""
    rounds = list(rounds)
    quiet = [each for each in rounds if each.drift <= MAX_DRIFT]
    return statistics.median((each.before + each.after) / 2 for each in quiet or rounds)


def loops_for(seconds_per_pass: float, batch_seconds: float) -> int:
    """How many passes fill a batch: at least one."""
    return max(1, round(batch_seconds / max(seconds_per_pass, 1e-9)))


def bracketed(
    baseline: Batch,
    contenders: dict[str, Batch],
    rounds: int,
    rng: random.Random,
    *,
    extra: int = 0,
    skip: Callable[[str, int], bool] = lambda name, done: False,
    over: Callable[[], bool] = lambda: False,
) -> dict[str, list[Round]]:
    """The rounds of each contender, in turns and in an order that `rng` shuffles every time.

    The baseline runs between any two contenders, so that each has it on both sides. After
    `rounds` rounds, up to `extra` more are run for those that have too few quiet ones. `skip`
    tells, by name and rounds done, who has had enough; once time is `over`, no round after the
    first begins.
    """
    done: dict[str, list[Round]] = {name: [] for name in contenders}
    for number in range(rounds + extra):
        if number and over():
            break
        waiting = [
            name
            for name in contenders
            if not skip(name, len(done[name])) and (number < rounds or _unquiet(done[name]))
        ]
        if not waiting:
            continue
        rng.shuffle(waiting)
        before = baseline()
        for name in waiting:
            taken = contenders[name]()
            after = baseline()
            done[name].append(Round(before, taken, after))
            before = after
    return done


def _drift(each: Round) -> float:
    return each.drift


def _unquiet(rounds: list[Round]) -> bool:
    return sum(each.drift <= MAX_DRIFT for each in rounds) < MIN_KEPT
