"""The documentation's pages of numbers, from one run of the benchmark.

    python -m agui_wire.bench.docs                       measures (about ten minutes), writes
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
from .report import headline, markdown, plots
from .results import Results, read_results, write_results
from .running import FULL, run

__all__ = ["README_MARKS", "readme_section", "write_docs"]

README_MARKS = ("<!-- benchmark: begin -->", "<!-- benchmark: end -->")
_IMAGES = "docs/benchmarks"


def readme_section(results: Results) -> str:
    """One plot and one table, from the workload `tokens`."""
    processor = results.machine["processor"]
    rows = headline(results, "tokens")
    marked = "; ~ marks figures that moved too much from round to round" if " ~ |" in rows else ""
    return "\n\n".join(
        [
            "One short text delta, in processor time, this package's fastest wire and the SDKs "
            f"({processor}, {results.started[:10]}, {results.engine} engine{marked}):",
            rows,
            f"![bytes of one short text delta]({_IMAGES}/bytes.svg)",
            "All numbers, the method, and where this package loses: "
            "[benchmarks](docs/benchmarks.md). Which wire to take: "
            "[choosing a wire](docs/choosing-a-wire.md). On your machine: "
            "`agui-wire bench --quick` (extra `bench`).",
        ]
    )


def write_docs(results: Results, root: Path) -> None:
    """Write the pages under `root`. Raises OSError."""
    docs, images = root / "docs", root / _IMAGES
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
