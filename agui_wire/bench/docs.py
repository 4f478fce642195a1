"""The documentation's pages of numbers, from one run of the benchmark.

    python -m agui_wire.bench.docs                       measures (about half an hour), writes
    python -m agui_wire.bench.docs report/results.json   writes from a run made before

Writes docs/benchmarks.md with its plots and raw results in docs/benchmarks/, and
docs/choosing-a-wire.md; where README.md has the two comments that `README_MARKS` names, one plot
and one table go between them. To be run in the checkout's directory.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from .choosing import choosing_a_wire
from .findings import best_of_ours, row, size
from .report import RIVALS, markdown, plots
from .results import Results, read_results, write_results
from .running import FULL, run
from .tables import number, table, time_text

__all__ = ["README_MARKS", "readme_section", "write_docs"]

README_MARKS = ("<!-- benchmark: begin -->", "<!-- benchmark: end -->")
_PLOT = "pipeline.svg"


def readme_section(results: Results) -> str:
    """One plot and one table, from the workload `tokens`."""
    rows = []
    for axis, what in (("encode", "encode"), ("decode", "decode"), ("pipeline", "bytes to state")):
        ours = best_of_ours(results, axis, "tokens")
        theirs = row(results, axis, "tokens", RIVALS[axis])
        if ours is not None and theirs is not None:
            times = time_text(ours.ns_per_event), time_text(theirs.ns_per_event)
            factor = number(theirs.ns_per_event / ours.ns_per_event)
            rows.append((what, ours.label, times[0], theirs.label, times[1], f"{factor} ×"))
    wires = [size(results, "tokens", wire) for wire in ("sse", "protobuf", "msgpack")]
    told = ", ".join(f"{each.wire} {each.per_event:.0f}" for each in wires if each is not None)
    head = ("one short text delta", "who", "time", "the SDK", "time", "as fast")
    return "\n\n".join(
        [
            f"![the full pipeline](docs/benchmarks/{_PLOT})",
            table(head, rows),
            f"Bytes on the wire: {told}. All numbers, the method, and where this package loses: "
            "[benchmarks](docs/benchmarks.md). Which wire to take: "
            "[choosing a wire](docs/choosing-a-wire.md). On your machine: "
            "`agui-wire bench --quick`.",
        ]
    )


def write_docs(results: Results, root: Path) -> None:
    """Write the pages under `root`. Raises OSError."""
    docs = root / "docs"
    images = docs / "benchmarks"
    images.mkdir(parents=True, exist_ok=True)
    for name, text in plots(results).items():
        (images / name).write_text(text, encoding="utf-8")
    write_results(results, images / "results.json")
    report = markdown(results, images="benchmarks/")
    (docs / "benchmarks.md").write_text(report, encoding="utf-8")
    (docs / "choosing-a-wire.md").write_text(choosing_a_wire(results), encoding="utf-8")
    readme = root / "README.md"
    if readme.exists():
        text = readme.read_text(encoding="utf-8")
        begin, end = README_MARKS
        if begin in text and end in text:
            head, _, rest = text.partition(begin)
            tail = rest.partition(end)[2]
            section = f"{head}{begin}\n{readme_section(results)}\n{end}{tail}"
            readme.write_text(section, encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Write the pages, from the results that are named or from a new run."""
    if arguments:
        results = read_results(Path(arguments[0]))
    else:
        from ._progress import showing

        with tempfile.TemporaryDirectory() as directory, showing() as progress:
            results = run(FULL, Path(directory), progress, command="agui-wire bench --out report")
    write_docs(results, Path())


if __name__ == "__main__":
    main(sys.argv[1:])
