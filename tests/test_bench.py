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
from xml.etree import ElementTree

import msgspec
import pytest
from click.testing import CliRunner

import agui_wire
from agui_wire.bench import axes, ours, upb, worker, workloads
from agui_wire.bench.command import bench
from agui_wire.bench.compare import LEAST_CHANGE, changes, comparison, size_changes
from agui_wire.bench.docs import README_MARKS, write_docs
from agui_wire.bench.measure import (
    MAX_DRIFT,
    MIN_KEPT,
    Round,
    bracketed,
    loops_for,
    quartiles,
    summarise,
)
from agui_wire.bench.prepared import Context, chunks
from agui_wire.bench.report import markdown, plots, write_report
from agui_wire.bench.results import (
    Held,
    Missing,
    Point,
    Results,
    Row,
    WireSize,
    WorkloadInfo,
    read_results,
)
from agui_wire.bench.running import Settings, run
from agui_wire.bench.tables import bytes_text, number, table, time_text
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
    summary = summarise([STILL, MOVED, STILL, MOVED, STILL])
    assert (summary.ratio, summary.seconds) == (2.0, 2.0)
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
    assert len(events) == files[name].events
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
    assert (yours.events, yours.sha256) == (files["tokens"].events, files["tokens"].sha256)


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
    assert (prepared.events, prepared.size) == (file.events, len(body))
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


def a_row(label: str, ratio: float, **changed: Any) -> Row:
    row = Row(
        axis="encode",
        workload="tokens",
        label=label,
        events=100,
        size=10_000,
        ns_per_event=ratio * 100,
        ratio=ratio,
        low=ratio * 0.99,
        high=ratio * 1.01,
        kept=5,
        dropped=1,
        noisy=False,
    )
    return msgspec.structs.replace(row, **changed)


OURS = "agui_wire, protobuf"
OTHERS = ("orjson.dumps of a dict", "json.dumps of a dict", "ag_ui.encoder, SSE", "floor: msgspec")


def some_results(ratio: float = 0.6, others: float = 1.0, **changed: Any) -> Results:
    results = Results(
        started="2026-01-02T03:04:05+00:00",
        seconds=12.0,
        command="agui-wire bench --quick --out report",
        quick=True,
        seed=workloads.SEED,
        engine="native",
        machine={"processor": "a processor", "cores": "2"},
        versions={"CPython": "3.11.7", "msgspec": "0.20.0"},
        method={
            "rounds": 5,
            "extra rounds": 2,
            "seconds of a batch": 0.006,
            "dropped where the baseline moved more than": 0.08,
            "marked where the middle half is wider than": 0.1,
        },
        workloads=[WorkloadInfo(name="tokens", what="deltas", events=100, size=9000, sha256="ab")],
        rows=[
            a_row(OURS, ratio),
            *(a_row(label, n * others) for n, label in zip((0.5, 3.0, 30.0, 1.0), OTHERS)),
        ],
        sizes=[
            WireSize(workload="tokens", wire=wire, coding=coding, events=100, size=size)
            for wire, coding, size in (
                ("sse", "raw", 10_000),
                ("protobuf", "raw", 12_000),
                ("sse", "gzip", 2_000),
            )
        ],
        points=[
            Point(
                case="streams",
                label="agui_wire",
                value=value,
                ns_per_event=100.0,
                ratio=1.0,
                low=0.9,
                high=1.1,
                noisy=value == 10,
            )
            for value in (1, 10)
        ],
        memory=[
            Held(
                case="hold",
                workload="tokens",
                label=OURS,
                events=100,
                blocks=400,
                held=20_000,
                peak=30_000,
                resident=None,
            )
        ],
        missing=[Missing(axis="decode", workload="tokens", label="x", reason="not installed: x")],
    )
    return msgspec.structs.replace(results, **changed)


def test_nothing_changed() -> None:
    (change,) = changes(some_results(), some_results())
    assert (change.verdict, change.change) == ("same", 0.0)


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.2, "slower"), (0.8, "faster"), (1 + LEAST_CHANGE / 2, "same")]
)
def test_what_got_slower(factor: float, verdict: str) -> None:
    (change,) = changes(some_results(0.6), some_results(0.6 * factor))
    assert change.verdict == verdict
    assert change.change == pytest.approx(factor - 1)


def test_a_change_that_all_had_is_the_machine() -> None:
    (change,) = changes(some_results(), some_results(0.6 * 1.3, others=1.3))
    assert change.verdict == "same"
    (change,) = changes(some_results(), some_results(0.6, others=0.7))
    assert change.verdict == "slower"


def test_a_change_within_the_spread_is_noise() -> None:
    wide = some_results(0.7)
    wide.rows[0].low, wide.rows[0].high = 0.6, 0.8
    (change,) = changes(some_results(0.6), wide)
    assert change.verdict == "same"


def test_a_change_as_the_others_moved_is_noise() -> None:
    moved = some_results(0.75)
    for row, factor in zip(moved.rows[1:], (0.85, 1.0, 1.1, 1.15)):
        row.ratio *= factor
    (change,) = changes(some_results(0.6), moved)
    assert change.verdict == "same"


def test_few_others_are_all_noise() -> None:
    old, new = some_results(0.6), some_results(0.75)
    for results, factor in ((old, 1.0), (new, 1.4)):
        del results.rows[2:]
        results.rows[1].ratio *= factor
    (change,) = changes(old, new)
    assert change.noise == pytest.approx(0.4)


def test_sizes_are_compared_where_the_workload_is_the_same() -> None:
    new = some_results()
    new.sizes[0].size += 1
    assert size_changes(some_results(), new) == [("tokens, sse, raw", 10_000, 10_001)]
    new.workloads[0].sha256 = "cd"
    assert size_changes(some_results(), new) == []


def test_a_comparison_tells_what_else_differs() -> None:
    text = comparison(
        some_results(0.6), some_results(0.9, engine="reference", versions={"CPython": "3.13.0"})
    )
    assert "**Slower, beyond the noise: 1**" in text
    assert "| encode, tokens: agui_wire, protobuf | 0.6 | 0.9 | +50% | ±5% |" in text
    assert "the protobuf engines differ (native, now reference)" in text
    assert "CPython was 3.11.7 and is 3.13.0" in text


def test_a_report_has_all_that_a_stranger_needs() -> None:
    text = markdown(some_results(), some_results(0.3))
    for heading in (
        "# AG-UI on the wire: a benchmark",
        "## In short",
        "## Against the earlier run",
        "## How to read the tables",
        "## Where this package loses",
        "## Bytes on the wire",
        "## Encoding, one event at a time",
        "## Memory and allocations",
        "## Scaling",
        "## Not measured",
        "## Method",
        "## Workloads",
    ):
        assert f"\n{heading}\n" in f"\n{text}"
    for fact in (
        "a processor",
        "msgspec 0.20.0",
        f"seed {workloads.SEED}",
        "`agui-wire bench --quick --out report`",
        "not installed: x",
        "engine of agui_wire: **native**",
    ):
        assert fact in text


def test_a_report_names_the_cases_that_are_lost() -> None:
    text = markdown(some_results())
    losses = text.partition("## Where this package loses")[2].partition("## Bytes")[0]
    assert "bare protobuf is 20% larger than bare SSE (120 against 100 bytes an event)" in losses
    assert "SSE with gzip takes 17% of the bytes of bare protobuf" in losses
    assert "agui_wire, protobuf (60.0 ns) is beaten by orjson.dumps of a dict (1.2 × as" in losses
    assert "json.dumps of a dict (" not in losses.replace("orjson.dumps of a dict (", "")


def test_a_noisy_row_is_marked_and_shown() -> None:
    results = some_results()
    assert " ~ |" not in markdown(results).partition("## Scaling")[0]
    results.rows[0].noisy = True
    assert "| **agui_wire, protobuf** | 60.0 ns ~ | 16,666,667 | 1,667 | 0.6 | 1.0% | 5 | 1 |" in (
        markdown(results)
    )


def test_rows_stand_by_their_time() -> None:
    text = markdown(some_results())
    details = text[text.index("<details><summary>Encoding, one event at a time: tokens") :]
    labels = ["orjson.dumps of a dict", OURS, "floor: msgspec", "json.dumps of a dict |", "ag_ui."]
    places = [details.index(label) for label in labels]
    assert places[0] < places[1] < places[2] < places[4]


def test_plots_are_whole_svg() -> None:
    drawn = plots(some_results())
    assert set(drawn) == {"bytes.svg", "encode.svg", "scaling-streams.svg"}
    for text in drawn.values():
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        assert len(texts) > 3
    assert "agui_wire, protobuf" in drawn["encode.svg"]


def test_the_pages_of_the_documentation(tmp_path: Path) -> None:
    begin, end = README_MARKS
    (tmp_path / "README.md").write_text(f"before\n{begin}\nold\n{end}\nafter\n", encoding="utf-8")
    write_docs(some_results(), tmp_path)
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert readme.startswith(f"before\n{begin}\n![")
    assert readme.endswith(f"\n{end}\nafter\n")
    assert "old" not in readme
    report = (tmp_path / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert "](benchmarks/encode.svg)" in report
    assert (tmp_path / "docs" / "benchmarks" / "encode.svg").exists()
    choosing = (tmp_path / "docs" / "choosing-a-wire.md").read_text(encoding="utf-8")
    assert "| text as it is written | SSE: 100 B | SSE: 20.0 B | - |" in choosing


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_report(some_results(), tmp_path)
    assert read_results(tmp_path / "results.json") == some_results()


@pytest.mark.parametrize("text", ["", "[]", '{"version": 1}'])
def test_what_holds_no_results(tmp_path: Path, text: str) -> None:
    (tmp_path / "old.json").write_text(text, encoding="utf-8")
    told = CliRunner().invoke(bench, ["--quick", "--compare", str(tmp_path / "old.json")])
    assert told.exit_code == 1
    assert "no results of this benchmark" in told.output


def test_the_command_is_one_of_agui_wires() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "agui_wire", "bench", "--help"], capture_output=True, text=True
    )
    assert told.returncode == 0
    assert {"--quick", "--out", "--recording", "--compare"} <= set(told.stdout.split())


def test_results_of_another_version(tmp_path: Path) -> None:
    write_report(some_results(version=99), tmp_path)
    with pytest.raises(AguiWireError, match="version 99"):
        read_results(tmp_path / "results.json")


def test_numbers_have_three_figures_that_count() -> None:
    assert [number(each) for each in (0, 0.01234, 1.234, 12.34, 123.4, 12345.6)] == [
        "0", "0.0123", "1.23", "12.3", "123", "12,346"
    ]  # fmt: skip
    assert [time_text(each) for each in (12.34, 1234, 1.234e7, 2e9)] == [
        "12.3 ns", "1.23 µs", "12.3 ms", "2 s"
    ]  # fmt: skip
    assert [bytes_text(each) for each in (123, 12_345, 12_345_678, 2e10)] == [
        "123 B", "12.3 KB", "12.3 MB", "20.0 GB"
    ]  # fmt: skip
    assert table(("a", "b"), [("x|y", "1")]) == "| a | b |\n| --- | ---: |\n| x\\|y | 1 |"


def test_a_loss_of_instructions() -> None:
    base = {"encode": 1000, "decode": 1000}
    kept = compare(base, {"encode": int(1000 * (1 + LIMIT)), "decode": 500, "new": 7})
    assert (len(kept[0]), kept[1]) == (3, False)
    lines, lost = compare(base, {"encode": int(1000 * (1 + LIMIT)) + 1, "decode": 1000})
    assert lost
    assert [line.endswith("LOST") for line in lines] == [True, False]


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
