"""Goes through the axes: prepares, measures in turns, and gathers the results."""

from __future__ import annotations

import datetime
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from .axes import AXES, HTTP, MEMORY, SCALING, Axis, Contender, MemoryCase, ScalingCase
from .machine import machine
from .measure import MAX_DRIFT, MAX_SPREAD, bracketed, summarise, typical
from .results import Held, Missing, Point, Results, Row, WireSize, WorkloadInfo
from .workers import ContenderFailed, Running, Server, Workers, fresh
from .workloads import RECORDED, SEED, WorkloadFile, add_recording, write_workloads

__all__ = ["FULL", "NO_TIME", "QUICK", "Progress", "Settings", "run"]

Progress = Callable[[str, int, int], None]
"""Told what is measured now, steps done, steps in all."""


class Settings(NamedTuple):
    """How much to measure. Names of None stand for all there are."""

    rounds: int
    extra: int
    """Rounds more for who had too few quiet ones."""
    batch_seconds: float
    deadline: float = math.inf
    """Seconds for all. Each step has its part of what is left, and runs fewer rounds where that is
    too little; what could not even begin is reported as not measured.
    """
    quick: bool = False
    axes: frozenset[str] | None = None
    workloads: frozenset[str] | None = None
    homes: frozenset[str] | None = None


FULL = Settings(rounds=11, extra=6, batch_seconds=0.02, deadline=660)
QUICK = Settings(rounds=5, extra=2, batch_seconds=0.006, deadline=150, quick=True)

NO_TIME = "no time was left"

# Who takes so long for one pass over a workload has had enough after SLOW_ROUNDS.
_SLOW_SECONDS = 0.05
_SLOW_ROUNDS = {True: 3, False: 5}

# What says the most comes first, should a deadline cut off the rest. A quick run has the reference
# engine on these alone.
_FIRST = ("tokens", RECORDED)
_NEXT = ("state 100 KB", "200 messages", "state deltas", "multimodal", "state 1 KB")


class Step(NamedTuple):
    """One thing to measure."""

    axis: str
    workload: str
    weight: int
    """How much of the time it needs, beside the others: how many contenders there are."""
    work: Callable[[float], None]
    """Does it, given the moment (of perf_counter) when it should be over."""


def run(
    settings: Settings,
    directory: Path,
    progress: Progress,
    *,
    recording: Path | None = None,
    command: str = "agui-wire bench",
) -> Results:
    """Measure; the workloads are left in `directory`.

    With `recording`, it is measured beside the workload it is most like, the recorded run.
    Raises OSError, and AguiWireError where the recording is broken.
    """
    begin = time.perf_counter()
    names = settings.workloads
    if recording is not None and names is None:
        names = frozenset({RECORDED})
    directory.mkdir(parents=True, exist_ok=True)
    progress("writing the workloads", 0, 1)
    workloads = write_workloads(directory, names)
    yours = [] if recording is None else [add_recording(directory, recording)]
    with Workers() as workers:
        about = workers.get("ours").ask(op="about")
        results = Results(
            started=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            command=command,
            quick=settings.quick,
            seed=SEED,
            engine=about["engine"],
            machine=machine(),
            versions=_versions(workers),
            method={
                "rounds": settings.rounds,
                "extra rounds": settings.extra,
                "seconds of a batch": settings.batch_seconds,
                "dropped where the baseline moved more than": MAX_DRIFT,
                "marked where the middle half is wider than": MAX_SPREAD,
            },
            workloads=[
                WorkloadInfo(
                    name=each.name,
                    what=each.what,
                    events=each.events,
                    size=each.size,
                    sha256=each.sha256,
                )
                for each in [*workloads, *yours]
            ],
            rows=[],
            sizes=[],
            points=[],
            memory=[],
            missing=[],
        )
        steps = list(_Run(settings, workers, results).steps(workloads, yours))
        results.missing += _work_through(steps, begin + settings.deadline, progress)
    results.seconds = round(time.perf_counter() - begin, 1)
    return results


def _work_through(steps: list[Step], end: float, progress: Progress) -> list[Missing]:
    """Takes the steps in turn; gives those that failed, or that the end came before."""
    missing = []
    weight = sum(step.weight for step in steps)
    for number, step in enumerate(steps):
        now = time.perf_counter()
        try:
            if now >= end:
                raise ContenderFailed(NO_TIME)
            progress(f"{step.axis}: {step.workload}".rstrip(": "), number, len(steps))
            step.work(now + (end - now) * step.weight / weight)
        except ContenderFailed as error:  # the floor, or a process that broke down on its way
            missing.append(
                Missing(axis=step.axis, workload=step.workload, label="", reason=str(error))
            )
        weight -= step.weight
    progress("done", len(steps), len(steps))
    return missing


def _versions(workers: Workers) -> dict[str, str]:
    versions: dict[str, str] = {}
    for home in ("ours", "node"):
        try:
            about = workers.get(home).ask(op="about")
        except ContenderFailed:
            continue
        versions[about["runtime"].split()[0]] = about["runtime"].split()[1]
        versions |= about["versions"]
    return versions


class _Run:
    def __init__(self, settings: Settings, workers: Workers, results: Results) -> None:
        self._settings = settings
        self._workers = workers
        self._results = results
        self._rng = random.Random(SEED)
        self._first: set[str] = set()

    def steps(self, workloads: list[WorkloadFile], yours: list[WorkloadFile]) -> Iterator[Step]:
        """What there is to do, the most telling first. A user's recording goes through all."""
        everything = [*workloads, *yours]
        first = [*yours, *(each for each in workloads if each.name in _FIRST)]
        self._first = {each.name for each in first}
        if self._wanted("sizes"):
            for workload in everything:
                yield Step("sizes", workload.name, 2, partial(self._size, workload))
        yield from self._timed(first, yours)
        if self._wanted("memory"):
            for workload in first:
                for case in MEMORY if workload in yours or workload.name == RECORDED else ():
                    work = partial(self._memory, case, workload)
                    weight = len(case.contenders)
                    yield Step(f"memory: {case.name}", workload.name, weight, work)
        if self._wanted("scaling"):
            for growing in SCALING:
                weight = len(growing.contenders) * len(growing.sizes)
                work = partial(self._scaling, growing)
                yield Step(f"scaling: {growing.name}", "", weight, work)
        rest = [each for each in workloads if each not in first]
        yield from self._timed(sorted(rest, key=lambda each: each.name not in _NEXT), yours)

    def _timed(self, workloads: list[WorkloadFile], yours: list[WorkloadFile]) -> Iterator[Step]:
        for workload in workloads:
            for axis in (*AXES, HTTP):
                names = axis.workloads
                if self._wanted(axis.name) and (
                    names is None or workload.name in names or workload in yours
                ):
                    measure = self._http if axis is HTTP else self._axis
                    weight = len(axis.contenders) * (2 if axis is HTTP else 1)
                    yield Step(axis.name, workload.name, weight, partial(measure, axis, workload))

    def _wanted(self, axis: str) -> bool:
        return self._settings.axes is None or axis in self._settings.axes

    def _present(
        self, axis: str, contenders: Iterable[Contender], workload: str = ""
    ) -> Iterator[Contender]:
        """Without the reference engine where it would only repeat the default's rows, or where a
        quick run has no time for it.
        """
        homes = self._settings.homes
        for each in contenders:
            reference = each.home == "reference"
            if (homes is not None and each.home not in homes) or (
                reference and self._results.engine == "reference"
            ):
                continue
            if reference and self._settings.quick and workload not in self._first:
                self._miss(axis, workload, each.label, ContenderFailed("left out of a quick run"))
            else:
                yield each

    def _miss(self, axis: str, workload: str, label: str, error: ContenderFailed) -> None:
        self._results.missing.append(
            Missing(axis=axis, workload=workload, label=label, reason=str(error))
        )

    def _axis(self, axis: Axis, workload: WorkloadFile, until: float) -> None:
        contenders = list(self._present(axis.name, axis.contenders, workload.name))
        self._measure(axis, workload, {}, contenders, until)

    def _http(self, axis: Axis, workload: WorkloadFile, until: float) -> None:
        contenders = list(self._present(axis.name, axis.contenders, workload.name))
        with ExitStack() as stack:
            urls = {}
            for home in {"ours", *(each.home for each in contenders)}:
                side = "sdk" if home == "sdk" else "ours"
                server = Server(side, workload, pure=home == "reference")
                stack.callback(server.close)
                urls[home] = server.url
            self._measure(axis, workload, urls, contenders, until)

    def _measure(
        self,
        axis: Axis,
        workload: WorkloadFile,
        urls: dict[str, str],
        contenders: list[Contender],
        until: float,
    ) -> None:
        with self._preparing() as prepare:
            floor = Contender("ours", axis.baseline, axis.floor)
            baseline = prepare(axis.name, floor, workload, urls.get("ours", ""), 0)
            ready: dict[str, Running] = {}
            for each in contenders:
                try:
                    url = urls.get(each.home, "")
                    ready[each.label] = prepare(axis.name, each, workload, url, 0)
                except ContenderFailed as error:
                    self._miss(axis.name, workload.name, each.label, error)
            # The floor takes its turn too: its own row shows what the method is worth.
            ready[f"floor: {axis.floor}"] = baseline
            for label, figures in self._rounds(baseline, ready, until, axis).items():
                running = ready[label]
                self._results.rows.append(
                    Row(
                        axis=axis.name,
                        workload=workload.name,
                        label=label,
                        events=running.events,
                        size=running.size,
                        **figures,
                    )
                )

    def _rounds(
        self, baseline: Running, ready: dict[str, Running], until: float, axis: Axis | None = None
    ) -> dict[str, dict[str, Any]]:
        """By name, the fields of a summary, and `ns_per_event`: in a table that was measured in
        turns, times that follow from the ratios are as comparable as these.
        """
        settings = self._settings
        # Asking the server for its time costs time: longer batches hide it.
        seconds = settings.batch_seconds * (2 if axis is HTTP else 1)

        def enough(name: str, done: int) -> bool:
            slow = ready[name].seconds > _SLOW_SECONDS
            return slow and done >= _SLOW_ROUNDS[settings.quick]

        rounds = bracketed(
            baseline.batch(seconds),
            {name: each.batch(seconds) for name, each in ready.items()},
            settings.rounds,
            self._rng,
            extra=settings.extra,
            skip=enough,
            over=lambda: time.perf_counter() >= until,
        )
        ns = typical(each for of_one in rounds.values() for each in of_one) * 1e9
        summaries = {name: summarise(each) for name, each in rounds.items()}
        return {
            name: {**summary._asdict(), "ns_per_event": summary.ratio * ns}
            for name, summary in summaries.items()
        }

    @contextmanager
    def _preparing(self) -> Iterator[Callable[..., Running]]:
        """Makes contenders ready, and lets go of them at the end."""
        ready: list[Running] = []

        def prepare(
            axis: str, contender: Contender, workload: WorkloadFile | None, url: str, value: int
        ) -> Running:
            worker = self._workers.get(contender.home)
            running = worker.prepare(axis, contender.name, workload, url=url, value=value)
            ready.append(running)
            return running

        try:
            yield prepare
        finally:
            for running in ready:
                with suppress(ContenderFailed):
                    running.forget()

    def _size(self, workload: WorkloadFile, until: float) -> None:
        worker = self._workers.get("ours")
        for wire in ("sse", "protobuf", "msgpack"):
            for coding in ("raw", "gzip", "zstd"):
                name = f"{wire} {coding}"
                try:
                    running = worker.prepare("compress", name, workload, cold=True)
                    running.forget()
                except ContenderFailed as error:
                    self._miss("sizes", workload.name, name, error)
                    continue
                self._results.sizes.append(
                    WireSize(
                        workload=workload.name,
                        wire=wire,
                        coding=coding,
                        events=running.events,
                        size=running.size,
                    )
                )

    def _memory(self, case: MemoryCase, workload: WorkloadFile, until: float) -> None:
        """Each in a process that has done nothing else."""
        for each in self._present(case.name, case.contenders, workload.name):
            try:
                worker = fresh(each.home)
                try:
                    running = worker.prepare(case.name, each.name, workload, cold=True)
                    told = worker.ask(op="memory", id=running.id)
                finally:
                    worker.close()
            except ContenderFailed as error:
                self._miss(f"memory: {case.name}", workload.name, each.label, error)
                continue
            self._results.memory.append(
                Held(
                    case=case.name,
                    workload=workload.name,
                    label=each.label,
                    events=running.events,
                    blocks=told["blocks"],
                    held=told["held"],
                    peak=told["peak"],
                    resident=told["resident"],
                )
            )

    def _scaling(self, case: ScalingCase, until: float) -> None:
        axis = f"scaling: {case.name}"
        for contender in self._present(axis, case.contenders):
            with self._preparing() as prepare:
                try:
                    ready = {str(n): prepare(axis, contender, None, "", n) for n in case.sizes}
                except ContenderFailed as error:
                    self._miss(axis, "", contender.label, error)
                    continue
                first = ready[str(case.sizes[0])]
                for value, figures in self._rounds(first, ready, until).items():
                    point = Point(
                        case=case.name, label=contender.label, value=int(value), **figures
                    )
                    self._results.points.append(point)
