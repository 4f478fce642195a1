"""Goes through the axes: prepares, measures in turns, and gathers the results."""

from __future__ import annotations

import datetime
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from .axes import AXES, HTTP, MEMORY, SCALING, Axis, Contender, MemoryCase, ScalingCase
from .machine import machine
from .measure import MAX_DRIFT, MAX_SPREAD, Summary, bracketed, summarise
from .results import Held, Missing, Point, Results, Row, WireSize, WorkloadInfo
from .workers import ContenderFailed, Running, Server, Workers, fresh
from .workloads import RECORDED, SEED, WorkloadFile, add_recording, write_workloads

__all__ = ["FULL", "QUICK", "Progress", "Settings", "run"]

Progress = Callable[[str, int, int], None]
"""Told what is measured now, steps done, steps in all."""


class Settings(NamedTuple):
    """How much to measure. Names of None stand for all there are."""

    rounds: int
    extra: int
    """Rounds more for who had too few quiet ones."""
    batch_seconds: float
    deadline: float | None = None
    """Seconds after which nothing new is begun: what is left is reported as not measured."""
    quick: bool = False
    axes: frozenset[str] | None = None
    workloads: frozenset[str] | None = None
    homes: frozenset[str] | None = None


FULL = Settings(rounds=11, extra=6, batch_seconds=0.05)
QUICK = Settings(rounds=5, extra=2, batch_seconds=0.006, deadline=155, quick=True)

# Who takes so long for one pass over a workload has had enough after SLOW_ROUNDS.
_SLOW_SECONDS = 0.05
_SLOW_ROUNDS = {True: 3, False: 5}

# What says the most comes first, should a deadline cut off the rest.
_FIRST = ("tokens", RECORDED)
_NEXT = ("state 100 KB", "200 messages", "state deltas", "multimodal", "state 1 KB")


class Step(NamedTuple):
    """One thing to measure."""

    axis: str
    workload: str
    work: Callable[[], None]


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
        for number, step in enumerate(steps):
            if settings.deadline is not None and time.perf_counter() - begin > settings.deadline:
                missed = Missing(
                    axis=step.axis, workload=step.workload, label="", reason="no time was left"
                )
                results.missing.append(missed)
                continue
            progress(f"{step.axis}: {step.workload}".rstrip(": "), number, len(steps))
            try:
                step.work()
            except ContenderFailed as error:  # the floor, or a process that broke down on its way
                missed = Missing(
                    axis=step.axis, workload=step.workload, label="", reason=str(error)
                )
                results.missing.append(missed)
        progress("done", len(steps), len(steps))
    results.seconds = round(time.perf_counter() - begin, 1)
    return results


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

    def steps(self, workloads: list[WorkloadFile], yours: list[WorkloadFile]) -> Iterator[Step]:
        """What there is to do, the most telling first. A user's recording goes through all."""
        everything = [*workloads, *yours]
        first = [*yours, *(each for each in workloads if each.name in _FIRST)]
        if self._wanted("sizes"):
            for workload in everything:
                yield Step("sizes", workload.name, partial(self._size, workload))
        yield from self._timed(first, yours)
        if self._wanted("memory"):
            for workload in first:
                for case in MEMORY if workload in yours or workload.name == RECORDED else ():
                    work = partial(self._memory, case, workload)
                    yield Step(f"memory: {case.name}", workload.name, work)
        if self._wanted("scaling"):
            for growing in SCALING:
                yield Step(f"scaling: {growing.name}", "", partial(self._scaling, growing))
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
                    yield Step(axis.name, workload.name, partial(measure, axis, workload))

    def _wanted(self, axis: str) -> bool:
        return self._settings.axes is None or axis in self._settings.axes

    def _present(
        self, contenders: Iterable[Contender], workload: WorkloadFile | None = None
    ) -> list[Contender]:
        """Without the reference engine where it would only repeat the default's rows. A quick run
        has time for it only on few workloads.
        """
        homes = self._settings.homes
        hurried = self._settings.quick and (workload is None or workload.name not in _FIRST)
        no_reference = hurried or self._results.engine == "reference"
        return [
            each
            for each in contenders
            if (homes is None or each.home in homes)
            and not (each.home == "reference" and no_reference)
        ]

    def _miss(self, axis: str, workload: str, label: str, error: ContenderFailed) -> None:
        self._results.missing.append(
            Missing(axis=axis, workload=workload, label=label, reason=str(error))
        )

    def _axis(self, axis: Axis, workload: WorkloadFile) -> None:
        self._measure(axis, workload, {}, self._present(axis.contenders, workload))

    def _http(self, axis: Axis, workload: WorkloadFile) -> None:
        contenders = self._present(axis.contenders)
        with ExitStack() as stack:
            urls = {}
            for home in {"ours", *(each.home for each in contenders)}:
                side = "sdk" if home == "sdk" else "ours"
                server = Server(side, workload, pure=home == "reference")
                stack.callback(server.close)
                urls[home] = server.url
            self._measure(axis, workload, urls, contenders)

    def _measure(
        self,
        axis: Axis,
        workload: WorkloadFile,
        urls: dict[str, str],
        contenders: list[Contender],
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
            for label, summary in self._rounds(baseline, ready, axis).items():
                running = ready[label]
                self._results.rows.append(
                    Row(
                        axis=axis.name,
                        workload=workload.name,
                        label=label,
                        events=running.events,
                        size=running.size,
                        ns_per_event=summary.seconds * 1e9,
                        ratio=summary.ratio,
                        low=summary.low,
                        high=summary.high,
                        kept=summary.kept,
                        dropped=summary.dropped,
                        noisy=summary.noisy,
                    )
                )

    def _rounds(
        self, baseline: Running, ready: dict[str, Running], axis: Axis | None = None
    ) -> dict[str, Summary]:
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
        )
        return {name: summarise(each) for name, each in rounds.items()}

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

    def _size(self, workload: WorkloadFile) -> None:
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

    def _memory(self, case: MemoryCase, workload: WorkloadFile) -> None:
        """Each in a process that has done nothing else."""
        for each in self._present(case.contenders):
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

    def _scaling(self, case: ScalingCase) -> None:
        sizes = case.quick_sizes if self._settings.quick else case.sizes
        axis = f"scaling: {case.name}"
        for contender in self._present(case.contenders):
            with self._preparing() as prepare:
                try:
                    ready = {str(n): prepare(axis, contender, None, "", n) for n in sizes}
                except ContenderFailed as error:
                    self._miss(axis, "", contender.label, error)
                    continue
                smallest = ready[str(sizes[0])]
                for value, summary in self._rounds(smallest, ready).items():
                    self._results.points.append(
                        Point(
                            case=case.name,
                            label=contender.label,
                            value=int(value),
                            ns_per_event=summary.seconds * 1e9,
                            ratio=summary.ratio,
                            low=summary.low,
                            high=summary.high,
                            noisy=summary.noisy,
                        )
                    )
