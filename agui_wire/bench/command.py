"""The command `bench` (extra `bench`)."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from ..errors import AguiWireError

__all__ = ["bench"]


@click.command()
@click.option(
    "--quick", is_flag=True, help="Fewer and shorter rounds: under three minutes, rougher figures."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="report",
    show_default=True,
    help="Where report.md, its plots, results.json and the workloads go.",
)
@click.option(
    "--recording",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Measure a recording of your own (any wire, or JSON lines) beside the one shipped.",
)
@click.option(
    "--compare",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="OLD.json",
    help="The results.json of an earlier run: tell what got slower, beyond the noise of both. "
    "The exit code does not depend on it: timings are no verdict.",
)
def bench(quick: bool, out: Path, recording: Path | None, compare: Path | None) -> None:
    """Measure the three wires, the SDKs and other libraries here, and write a report.

    Takes about ten minutes without --quick, and a machine that is otherwise idle.

    What is not installed is left out, and the report says so: ag-ui-protocol, orjson, a zstd
    library, and Node.js with @ag-ui/client, @ag-ui/encoder and @ag-ui/proto in the current
    directory's node_modules.
    """
    # Loaded by who uses it: the other commands start the faster.
    from ._progress import showing
    from .compare import slower
    from .report import write_report
    from .results import read_results
    from .running import FULL, NO_TIME, QUICK, run

    given = {"--out": out, "--recording": recording, "--compare": compare}
    words = ["agui-wire", "bench", *(["--quick"] if quick else [])]
    words += [str(word) for item in given.items() if item[1] is not None for word in item]
    try:
        old = None if compare is None else read_results(compare)
        with showing() as progress:
            results = run(
                QUICK if quick else FULL,
                out / "workloads",
                progress,
                recording=recording,
                command=shlex.join(words),
            )
        report = write_report(results, out, old)
    except (AguiWireError, OSError) as error:
        raise click.ClickException(str(error)) from None
    noisy = sum(row.noisy for row in results.rows)
    click.echo(f"{report}: {len(results.rows)} rows, {noisy} of them marked as noisy")
    absent = {each.reason for each in results.missing if each.reason.startswith("not installed")}
    if absent:
        click.echo(
            f"left out: {'; '.join(sorted(absent))}; the extra `bench` brings the Python ones"
        )
    cut = sorted({each.workload for each in results.missing if each.reason == NO_TIME})
    if cut:
        click.echo(
            f"cut short for want of time, see 'Not measured': {'; '.join(filter(None, cut))}"
        )
    if old is not None:
        click.echo("\n".join(slower(old, results)))


if __name__ == "__main__":
    bench()
