"""The benchmark: its statistics, workloads and report. No test looks at how long a thing took."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import agui_wire
from agui_wire.bench import axes, ours, upb, worker, workloads
from agui_wire.bench.measure import (
    MAX_DRIFT,
    MIN_KEPT,
    Round,
    bracketed,
    loops_for,
    quartiles,
    summarise,
    typical,
)
from agui_wire.bench.prepared import Context, chunks
from agui_wire.bench.report import write_report
from agui_wire.bench.results import read_results
from agui_wire.bench.running import NO_TIME, Settings, run
from agui_wire.bench.workers import ContenderFailed, fresh
from agui_wire.errors import AguiWireError
from tests.wires import WIRES
from tools.count_instructions import LIMIT, compare

STILL = Round(1.0, 2.0, 1.0)
MOVED = Round(1.0, 9.0, 1.0 + 2 * MAX_DRIFT)


def test_a_round_is_its_contender_in_units_of_the_baseline_around_it() -> None:
    assert Round(1.0, 3.0, 2.0).ratio == 2.0
    assert Round(2.0, 3.0, 1.0).drift == Round(1.0, 3.0, 2.0).drift == 1.0
    assert STILL.drift == 0.0


def test_quartiles() -> None:
    assert quartiles([5.0]) == (5.0, 5.0, 5.0)
    assert quartiles([4.0, 1.0, 3.0, 2.0, 5.0]) == (2.0, 3.0, 4.0)


def test_rounds_in_which_the_baseline_moved_are_dropped() -> None:
    rounds = [STILL, MOVED, STILL, MOVED, STILL]
    summary = summarise(rounds)
    assert summary.ratio == 2.0
    assert typical(rounds) == 1.0
    assert (summary.kept, summary.dropped, summary.noisy) == (3, 2, False)


def test_a_drift_of_exactly_the_limit_is_kept() -> None:
    edge = Round(100.0, 100.0, 100.0 * (1 + MAX_DRIFT))
    assert summarise([edge] * 3).kept == 3


def test_with_too_few_quiet_rounds_the_quietest_count_and_the_figure_is_marked() -> None:
    worse = Round(1.0, 50.0, 4.0)
    summary = summarise([worse, STILL, MOVED, MOVED, worse])
    assert (summary.kept, summary.dropped, summary.noisy) == (1, 4, True)
    assert summary.ratio == pytest.approx(MOVED.ratio)


def test_a_wide_spread_is_marked_and_not_hidden() -> None:
    wide = [Round(1.0, time, 1.0) for time in (1.0, 1.5, 2.0, 2.5, 3.0)]
    summary = summarise(wide)
    assert summary.noisy
    assert (summary.low, summary.ratio, summary.high) == (1.5, 2.0, 2.5)
    assert summary.spread == 0.25
    assert not summarise([Round(1.0, time, 1.0) for time in (1.98, 2.0, 2.02)]).noisy


def test_no_rounds() -> None:
    with pytest.raises(statistics.StatisticsError):
        summarise([])


def test_loops_fill_a_batch() -> None:
    assert [loops_for(each, 1.0) for each in (0.1, 0.4, 5.0, 0.0)] == [10, 2, 1, 1_000_000_000]


def scripted(log: list[str], name: str, *times: float) -> Any:
    """A batch that gives these times in turn, the last one for ever."""
    left = list(times)

    def batch() -> float:
        log.append(name)
        return left.pop(0) if len(left) > 1 else left[0]

    return batch


def test_the_baseline_runs_between_any_two_contenders() -> None:
    log: list[str] = []
    contenders = {name: scripted(log, name, 2.0) for name in "abc"}
    rounds = bracketed(scripted(log, "-", 1.0), contenders, 5, random.Random(1))
    assert {name: len(each) for name, each in rounds.items()} == {"a": 5, "b": 5, "c": 5}
    turns = "".join(log)
    assert all(turns[index : index + 7 : 2] == "----" for index in range(0, len(turns), 7))
    orders = {turns[index + 1 : index + 7 : 2] for index in range(0, len(turns), 7)}
    assert {"".join(sorted(order)) for order in orders} == {"abc"}
    assert len(orders) > 1


def test_each_round_has_the_baseline_of_its_own_time() -> None:
    contenders = {name: scripted([], name, 7.0) for name in "ab"}
    rounds = bracketed(scripted([], "-", 1.0, 2.0, 3.0), contenders, 1, random.Random(1))
    assert sorted(rounds["a"] + rounds["b"]) == [Round(1.0, 7.0, 2.0), Round(2.0, 7.0, 3.0)]


def test_who_has_too_few_quiet_rounds_gets_more() -> None:
    # The baseline moves for so long, then holds still.
    baseline = scripted([], "-", *[1.0, 2.0] * 4, 1.0)
    noisy = bracketed(baseline, {"a": scripted([], "a", 1.0)}, 4, random.Random(1), extra=9)
    assert len(noisy["a"]) == 4 + MIN_KEPT
    still = bracketed(
        scripted([], "-", 1.0), {"a": scripted([], "a", 1.0)}, 4, random.Random(1), extra=9
    )
    assert len(still["a"]) == 4


def test_without_a_quiet_round_all_tell_the_baseline() -> None:
    assert typical([MOVED, Round(2.0, 9.0, 4.0)]) == pytest.approx((1.0 + MAX_DRIFT + 3.0) / 2)


def test_when_time_is_over_no_round_begins_but_the_first() -> None:
    contenders = {name: scripted([], name, 1.0) for name in "ab"}
    over = iter([False, True])
    rounds = bracketed(
        scripted([], "-", 1.0), contenders, 6, random.Random(1), over=lambda: next(over)
    )
    assert {name: len(each) for name, each in rounds.items()} == {"a": 2, "b": 2}


def test_who_has_had_enough_is_skipped() -> None:
    contenders = {name: scripted([], name, 1.0) for name in ("slow", "fast")}
    rounds = bracketed(
        scripted([], "-", 1.0),
        contenders,
        6,
        random.Random(1),
        skip=lambda name, done: name == "slow" and done >= 2,
    )
    assert (len(rounds["slow"]), len(rounds["fast"])) == (2, 6)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, workloads.WorkloadFile]:
    written = workloads.write_workloads(tmp_path_factory.mktemp("workloads"))
    return {each.name: each for each in written}


NAMES = [each.name for each in workloads.SEEDED] + [workloads.RECORDED]


def test_the_same_seed_makes_the_same_bytes_in_another_process(
    files: dict[str, workloads.WorkloadFile], tmp_path: Path
) -> None:
    program = (
        "import sys; from pathlib import Path; from agui_wire.bench.workloads import *;"
        "print({each.name: each.sha256 for each in write_workloads(Path(sys.argv[1]))})"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == str({each.name: each.sha256 for each in files.values()})


def test_another_seed_makes_other_bytes(
    files: dict[str, workloads.WorkloadFile], tmp_path: Path
) -> None:
    (other,) = workloads.write_workloads(tmp_path, frozenset({"tokens"}), seed=1)
    assert other.events == files["tokens"].events
    assert other.sha256 != files["tokens"].sha256


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("wire", WIRES)
def test_a_workload_is_a_run_without_a_warning(
    files: dict[str, workloads.WorkloadFile], name: str, wire: str
) -> None:
    events = workloads.load(files[name].path)
    around = 0 if name == workloads.RECORDED else 2
    assert len(events) == files[name].events + around
    warnings: list[agui_wire.StreamWarning] = []
    body = agui_wire.EventEncoder(wire, on_warning=warnings.append).encode_many(events)
    consumer = agui_wire.StreamConsumer(wire, on_warning=warnings.append)
    for piece in chunks(body):
        consumer.feed(piece)
    consumer.close()
    assert consumer.assembler.outcome == "success"
    assert warnings == []
    assert agui_wire.decode(body, wire) == events


def test_a_recording_of_any_wire_is_a_workload(
    files: dict[str, workloads.WorkloadFile], tmp_path: Path
) -> None:
    events = workloads.load(files["tokens"].path)
    recording = tmp_path / "body.bin"
    recording.write_bytes(agui_wire.EventEncoder(agui_wire.AGUI_MEDIA_TYPE).encode_many(events))
    yours = workloads.add_recording(tmp_path, recording)
    assert yours.name == "yours: body.bin"
    assert (yours.events, yours.sha256) == (len(events), files["tokens"].sha256)


def test_an_empty_recording(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(AguiWireError, match="no event"):
        workloads.add_recording(tmp_path, tmp_path / "empty")


TABLES = {
    "ours": worker.table("ours"),
    "reference": worker.table("ours"),
    "sdk": worker.table("sdk"),
    "upb": worker.table("upb"),
}
CONTENDERS = [
    *(
        (axis.name, each)
        for axis in (*axes.AXES, axes.HTTP)
        for each in (axes.Contender("ours", axis.baseline, axis.floor), *axis.contenders)
    ),
    *((case.name, each) for case in axes.MEMORY for each in case.contenders),
    *((f"scaling: {case.name}", each) for case in axes.SCALING for each in case.contenders),
]


@pytest.mark.parametrize(
    ("axis", "contender"), CONTENDERS, ids=lambda value: getattr(value, "label", value)
)
def test_every_contender_has_its_work(axis: str, contender: axes.Contender) -> None:
    if contender.home == "node":
        program = Path(worker.__file__).with_suffix(".mjs").read_text(encoding="utf-8")
        assert f'"{axis}/{contender.name}": ' in program
    else:
        assert (axis, contender.name) in TABLES[contender.home]


@pytest.mark.parametrize("axis", [*axes.AXES, axes.HTTP], ids=lambda axis: axis.name)
def test_labels_tell_contenders_apart(axis: axes.Axis) -> None:
    labels = [each.label for each in axis.contenders]
    assert len(set(labels)) == len(labels)
    assert axis.workloads is None or axis.workloads <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_conversion_by_hand_does_the_whole_work(
    files: dict[str, workloads.WorkloadFile], name: str
) -> None:
    """What it is compared with does the same: the same bytes mean the same on both sides."""
    for line in files[name].path.read_bytes().splitlines():
        obj = json.loads(line)
        payload = upb.to_message(obj).SerializeToString()
        (event,) = agui_wire.decode(
            len(payload).to_bytes(4, "big") + payload, agui_wire.AGUI_MEDIA_TYPE
        )
        assert event == agui_wire.from_dict(obj)
        assert upb.to_object(type(upb.to_message(obj)).FromString(payload)) == obj


@pytest.mark.parametrize("axis", ["encode", "encode many", "decode", "pipeline", "hold"])
@pytest.mark.parametrize("wire", ours.WIRES)
def test_work_counts_its_events_and_bytes(
    files: dict[str, workloads.WorkloadFile], axis: str, wire: str
) -> None:
    file = files["state 1 KB"]
    prepared = ours.PREPARE[axis, wire](Context(file.path))
    encoder = agui_wire.EventEncoder(ours.WIRES[wire])
    body = encoder.encode_many(workloads.load(file.path))
    assert (prepared.events, prepared.size) == (file.events + 2, len(body))
    prepared.run()
    prepared.run()


def test_a_worker_outlives_what_fails(files: dict[str, workloads.WorkloadFile]) -> None:
    worker_process = fresh("ours")
    try:
        with pytest.raises(ContenderFailed, match="KeyError"):
            worker_process.prepare("encode", "nobody", files["tokens"])
        ready = worker_process.prepare("encode", "sse", files["tokens"])
        assert ready.events == files["tokens"].events
        assert ready.batch(0.0)() > 0
        told = worker_process.prepare("hold", "sse", files["tokens"], cold=True)
        memory = worker_process.ask(op="memory", id=told.id)
        assert memory["peak"] >= memory["held"] > 0
        assert memory["blocks"] > files["tokens"].events
    finally:
        worker_process.close()
    assert worker_process.ended


def test_a_loss_of_instructions() -> None:
    base = {"encode": 1000, "decode": 1000}
    kept = compare(base, {"encode": int(1000 * (1 + LIMIT)), "decode": 500, "new": 7})
    assert (len(kept[0]), kept[1]) == (3, False)
    lines, lost = compare(base, {"encode": int(1000 * (1 + LIMIT)) + 1, "decode": 1000})
    assert lost
    assert [line.endswith("LOST") for line in lines] == [True, False]


def test_what_no_time_was_left_for_is_told(tmp_path: Path) -> None:
    settings = Settings(
        rounds=1,
        extra=0,
        batch_seconds=0.0,
        deadline=0,
        workloads=frozenset({"state 1 KB"}),
        homes=frozenset({"ours"}),
    )
    results = run(settings, tmp_path, lambda *step: None)
    assert (results.rows, results.sizes, results.points, results.memory) == ([], [], [], [])
    assert {each.reason for each in results.missing} == {NO_TIME}
    assert {each.axis for each in results.missing} >= {"sizes", "encode", "scaling: depth"}
    report = write_report(results, tmp_path).read_text(encoding="utf-8")
    assert (
        "| everyone | sizes; encode; decode; pipeline | state 1 KB | no time was left |" in report
    )


def test_a_quick_run_tells_that_it_leaves_the_reference_engine_out(tmp_path: Path) -> None:
    settings = Settings(
        rounds=1,
        extra=0,
        batch_seconds=0.0,
        quick=True,
        workloads=frozenset({"state 1 KB"}),
        axes=frozenset({"pipeline"}),
        homes=frozenset({"reference"}),
    )
    results = run(settings, tmp_path, lambda *step: None)
    left_out = 3 if results.engine == "native" else 0
    assert len(results.missing) == left_out
    assert all(each.reason == "left out of a quick run" for each in results.missing)
    assert [row.label.partition(",")[0] for row in results.rows] == ["floor: msgspec alone"]


@pytest.mark.slow
def test_a_whole_run(tmp_path: Path) -> None:
    """Everything once, as small as can be: two rounds, one workload and a recording."""
    recording = tmp_path / "mine.sse"
    event = {"type": "CUSTOM", "name": "n", "value": [1, 2.5, None]}
    run_of_mine = {"threadId": "t", "runId": "r"}
    events = [{"type": "RUN_STARTED", **run_of_mine}, *[event] * 5]
    events.append({"type": "RUN_FINISHED", **run_of_mine})
    recording.write_bytes(agui_wire.EventEncoder().encode_many(events))
    told: list[tuple[str, int, int]] = []
    settings = Settings(
        rounds=2,
        extra=0,
        batch_seconds=0.0,
        quick=True,
        workloads=frozenset({"state 1 KB"}),
        axes=frozenset({"sizes", "encode", "pipeline", "http", "memory", "scaling"}),
        homes=frozenset({"ours"}),
    )
    results = run(
        settings,
        tmp_path / "report" / "workloads",
        lambda *step: told.append(step),
        recording=recording,
    )
    names = {each.name for each in results.workloads}
    assert names == {"state 1 KB", "yours: mine.sse"}
    assert {row.axis for row in results.rows} == {"encode", "pipeline", "http"}
    assert all(row.kept + row.dropped == 2 for row in results.rows)
    assert all(row.ns_per_event > 0 and row.ratio > 0 for row in results.rows)
    assert {(each.wire, each.coding) for each in results.sizes} >= {
        (wire, coding) for wire in ours.WIRES for coding in ("raw", "gzip")
    }
    assert {each.case for each in results.points} == {case.name for case in axes.SCALING}
    assert all(each.held > 0 for each in results.memory)
    assert {each.workload for each in results.memory} == {"yours: mine.sse"}
    assert told[-1] == ("done", told[-1][2], told[-1][2])
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    report = write_report(results, tmp_path / "report", results)
    assert "workload: yours: mine.sse" in (tmp_path / "report" / "encode.svg").read_text()
    assert "Slower, beyond the noise: 0" in report.read_text(encoding="utf-8")
    assert read_results(tmp_path / "report" / "results.json") == results
