"""What the benchmark makes of its results: comparison, report, plots, pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from click.testing import CliRunner

from agui_wire.bench import workloads
from agui_wire.bench.command import bench
from agui_wire.bench.compare import LEAST_CHANGE, changes, comparison, size_changes, slower
from agui_wire.bench.docs import README_MARKS, write_docs
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
from agui_wire.bench.tables import bytes_text, number, table, time_text
from agui_wire.errors import AguiWireError


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
                kept=5,
                dropped=0,
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


def test_a_terminal_is_told_what_got_slower() -> None:
    assert slower(some_results(), some_results()) == [
        "0 of 1 rows got slower than on 2026-01-02T03:04:05+00:00, beyond the noise; "
        "0 are too noisy to tell"
    ]
    assert slower(some_results(), some_results(0.9))[0] == (
        "slower by 50% (noise ±5%): encode, tokens: agui_wire, protobuf"
    )


@pytest.mark.parametrize(("factor", "verdict"), [(1.9, "unsure"), (0.4, "unsure"), (2.1, "slower")])
@pytest.mark.parametrize("marked", [0, 1])
def test_a_marked_row_tells_of_a_doubling_alone(factor: float, verdict: str, marked: int) -> None:
    both = some_results(0.6), some_results(0.6 * factor)
    both[marked].rows[0].noisy = True
    (change,) = changes(*both)
    assert change.verdict == verdict


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
    assert "| encode, tokens: agui_wire, protobuf | 0.600 | 0.900 | +50% | ±5% |" in text
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
    assert "agui_wire, protobuf (60.0 ns) is beaten by orjson.dumps of a dict (1.20 × as" in losses
    assert "json.dumps of a dict (" not in losses.replace("orjson.dumps of a dict (", "")


def test_a_noisy_row_is_marked_and_shown() -> None:
    results = some_results()
    assert " ~ |" not in markdown(results).partition("## Scaling")[0]
    results.rows[0].noisy = True
    assert (
        "| **agui_wire, protobuf** | 60.0 ns ~ | 16,666,667 | 1,667 | 0.600 | 1.0% | 5 | 1 |"
        in (markdown(results))
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
    assert readme.startswith(f"before\n{begin}\nOne short text delta")
    assert readme.endswith(f"\n{end}\nafter\n")
    assert "old" not in readme
    assert (readme.count("!["), readme.count("\n| --- |")) == (1, 1)
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
        "12.3 ns", "1.23 µs", "12.3 ms", "2.00 s"
    ]  # fmt: skip
    assert [bytes_text(each) for each in (123, 12_345, 12_345_678, 2e10)] == [
        "123 B", "12.3 KB", "12.3 MB", "20.0 GB"
    ]  # fmt: skip
    assert table(("a", "b"), [("x|y", "1")]) == "| a | b |\n| --- | ---: |\n| x\\|y | 1 |"
