"""The report: one run of the benchmark for a reader who has never seen this project."""

from __future__ import annotations

from pathlib import Path

from .axes import AXES, HTTP, MEMORY, OURS, SCALING, Axis
from .compare import comparison
from .findings import best_of_ours, losses_in_size, losses_in_time, row
from .plots import Bar, bars, lines
from .results import Results, Row, write_results
from .tables import bytes_text, number, table, time_text

__all__ = ["headline", "markdown", "plots", "write_report"]

_TOKENS = "tokens"
_PLOTTED = ("encode", "decode", "pipeline", "http")
_WIRES = {"sse": "SSE", "protobuf": "protobuf", "msgpack": "MessagePack"}
_CODINGS = ("raw", "gzip", "zstd")

_INTRODUCTION = """\
AG-UI is a protocol by which an agent on a server tells a front end, event by event, what it does:
text as it is written, tool calls, changes of a shared state. `agui_wire` is a Python library that
writes and reads such streams on three wires: JSON in server-sent events (**SSE**, the default of
every AG-UI server and client), **protobuf** (the protocol's binary form) and **MessagePack** (an
extension of this package). This report says what each costs in time, bytes and memory, next to
the protocol's own SDKs and to general-purpose libraries."""

_READING = """\
## How to read the tables

- Times are of one event, as processor time; smaller is better. A **workload** is a whole stream,
  described in the last section; the same events for all contenders.
- **× floor** is the time in units of a baseline, the floor, that runs right before and right after,
  in each of several rounds: the median over the rounds. 1.0 is as fast as the floor. It is what was
  measured, and the figure to compare between machines; the times are this ratio times the floor's
  median time. ± is half the distance between the quartiles.
- **~** marks a figure to be read with care: its rounds were too far apart, or too few of them were
  quiet. Run it again on an idle machine.
- Rows are sorted by time, so whoever beats this package stands above it."""


def markdown(results: Results, old: Results | None = None, *, images: str = "") -> str:
    """The report as Markdown; plots are linked in the directory `images` (with its slash)."""
    parts = [
        "# AG-UI on the wire: a benchmark",
        _INTRODUCTION,
        _facts(results),
        "## In short",
        *_short(results),
    ]
    if old is not None:
        parts += ["## Against the earlier run", comparison(old, results)]
    parts += [
        _READING,
        "## Where this package loses",
        *_losses(results),
        *_sizes(results, images),
    ]
    for axis in (*AXES, HTTP):
        parts += _axis(results, axis, images)
    parts += _memory(results)
    parts += _scaling(results, images)
    parts += _missing(results)
    parts += _method(results)
    return "\n\n".join(parts) + "\n"


def plots(results: Results) -> dict[str, str]:
    """SVG text by file name, for what was measured."""
    drawn: dict[str, str] = {}
    subject = _subject(results)
    sizes = [each for each in results.sizes if each.workload == subject]
    if sizes:
        drawn["bytes.svg"] = bars(
            "Bytes on the wire for one event",
            f"workload: {subject}; gzip and zstd with a flush for each event",
            [
                Bar(
                    f"{_WIRES[each.wire]}, {each.coding}",
                    each.per_event,
                    bytes_text(each.per_event),
                    _WIRES[each.wire],
                )
                for each in sizes
            ],
            ("protobuf", "MessagePack", "SSE"),
        )
    for axis in (*AXES, HTTP):
        rows = [each for each in results.rows if each.key[:2] == (axis.name, subject)]
        if axis.name in _PLOTTED and rows:
            drawn[f"{axis.name}.svg"] = bars(
                axis.title,
                f"processor time of one event, logarithmic; workload: {subject}",
                [
                    Bar(_short_label(each.label), each.ns_per_event, _time(each), _group(each))
                    for each in rows
                ],
                _GROUPS,
                _power,
            )
    for case in SCALING:
        series: dict[str, list[tuple[float, float]]] = {}
        for point in results.points:
            if point.case == case.name:
                series.setdefault(point.label, []).append((point.value, point.ratio))
        if series:
            drawn[f"scaling-{case.name.replace(' ', '-')}.svg"] = lines(
                f"Scaling: {case.name}",
                f"{case.what}; cost of one event relative to {case.unit} = {case.sizes[0]:,}",
                series,
                case.unit,
            )
    return drawn


def write_report(results: Results, directory: Path, old: Results | None = None) -> Path:
    """Write report.md, its plots and results.json; gives the report. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in plots(results).items():
        (directory / name).write_text(text, encoding="utf-8")
    write_results(results, directory / "results.json")
    report = directory / "report.md"
    report.write_text(markdown(results, old), encoding="utf-8")
    return report


def _subject(results: Results) -> str:
    """The workload that plots and the summary are about: the user's own, or the tokens."""
    names = [each.name for each in results.workloads]
    return next((name for name in names if name.startswith("yours: ")), _TOKENS)


_GROUPS = (OURS, "the AG-UI SDKs", "other libraries", "floor and ceiling")


def _group(each: Row) -> str:
    if each.label.startswith(OURS):
        return OURS
    if each.label.startswith(("floor: ", "memcpy")):
        return "floor and ceiling"
    return "the AG-UI SDKs" if "ag_ui" in each.label or "@ag-ui" in each.label else _GROUPS[2]


def _short_label(label: str) -> str:
    return label.partition(",")[0] if label.startswith("floor: ") else label


def _power(ns: float) -> str:
    """A power of ten without the figures that it has not."""
    return time_text(ns).replace(".00", "").replace(".0", "")


def _time(each: Row) -> str:
    return time_text(each.ns_per_event) + (" ~" if each.noisy else "")


def _facts(results: Results) -> str:
    machine = ", ".join(f"{name}: {value}" for name, value in results.machine.items())
    versions = ", ".join(f"{name} {value}" for name, value in results.versions.items())
    dropped = sum(each.dropped for each in results.rows)
    rounds = dropped + sum(each.kept for each in results.rows)
    noisy = sum(each.noisy for each in results.rows)
    lines_of_facts = [
        f"- Started {results.started}, took {results.seconds:.0f} s"
        + (" (a quick run: fewer and shorter rounds)." if results.quick else "."),
        f"- Machine: {machine}.",
        f"- Versions: {versions}. Protobuf engine of agui_wire: **{results.engine}**.",
        f"- Quiet: {rounds - dropped} of {rounds} rounds counted; "
        f"{noisy} of {len(results.rows)} rows are marked.",
        f"- Again, with the same bytes (seed {results.seed}): `{results.command}`",
    ]
    return "\n".join(lines_of_facts)


def _short(results: Results) -> list[str]:
    subject = _subject(results)
    told = [f"One event of the workload `{subject}`: this package's fastest wire, and the SDKs."]
    told.append(headline(results, subject))
    sizes = [each for each in results.sizes if each.workload == subject]
    if sizes:
        least = min(sizes, key=lambda each: each.size)
        raw = ", ".join(
            f"{_WIRES[each.wire]} {bytes_text(each.per_event)}"
            for each in sizes
            if each.coding == "raw"
        )
        told.append(
            f"Bytes of such an event: {raw}; the least is {_WIRES[least.wire]} with "
            f"{least.coding}, {bytes_text(least.per_event)}."
        )
    return told


_HEADLINES = (
    ("encode", "encode", "ag_ui.encoder, SSE"),
    ("decode", "decode", "ag_ui's models, TypeAdapter.validate_json"),
    ("pipeline", "decode, verify and assemble", "@ag-ui/client, SSE (Node.js)"),
    ("http", "HTTP, both sides", "ag_ui.encoder to TypeAdapter, SSE"),
)


def headline(results: Results, workload: str) -> str:
    """A table of this package's fastest wire against the SDKs, or why there is none."""
    rows = []
    for axis, what, rival in _HEADLINES:
        ours = best_of_ours(results, axis, workload)
        theirs = row(results, axis, workload, rival)
        if ours is not None and theirs is not None:
            factor = f"{number(theirs.ns_per_event / ours.ns_per_event)} × as fast"
            cells = (f"{each.label}: {_time(each)}" for each in (ours, theirs))
            rows.append((what, *cells, factor))
    return table(("", OURS, "SDK", ""), rows) if rows else "No SDK was measured."


def _losses(results: Results) -> list[str]:
    """Every case, and none kept back."""
    told = [
        "Every workload on which protobuf is not the smallest, or on which another library beats "
        "the fastest of this package's wires. The tables show the rest: the slower wires, and the "
        "floor and memcpy, which do less than the work.\n",
        *(f"- {sentence}" for sentence in losses_in_size(results)),
    ]
    for axis in (*AXES, HTTP):
        for workload, ours, faster in losses_in_time(results, axis.name):
            names = "; ".join(
                f"{each.label} ({number(ours.ns_per_event / each.ns_per_event)} × as fast)"
                for each in faster
            )
            told.append(
                f"- {axis.title}, `{workload}`: {ours.label} ({_time(ours)}) is beaten by {names}."
            )
    for info in results.workloads:
        parse = row(results, "decode", info.name, "JSON.parse of UTF-8 bytes (Node.js)")
        proto = row(results, "decode", info.name, "@ag-ui/proto (Node.js)")
        if parse and proto and proto.ns_per_event > parse.ns_per_event:
            factor = number(proto.ns_per_event / parse.ns_per_event)
            told.append(
                f"- In a browser's engine, `{info.name}`: decoding protobuf with @ag-ui/proto "
                f"takes {factor} × as long as JSON.parse."
            )
    return ["\n".join(told)] if len(told) > 1 else ["In none of the cases that were measured."]


def _sizes(results: Results, images: str) -> list[str]:
    if not results.sizes:
        return []
    names = dict.fromkeys(each.workload for each in results.sizes)
    found = {(each.workload, each.wire, each.coding): each for each in results.sizes}
    columns = [(wire, coding) for coding in _CODINGS for wire in _WIRES]
    rows = []
    for name in names:
        cells = [found.get((name, *column)) for column in columns]
        least = min(each.size for each in cells if each is not None)
        rows.append(
            [
                name,
                *(
                    "-"
                    if each is None
                    else f"**{each.per_event:,.1f}**"
                    if each.size == least
                    else f"{each.per_event:,.1f}"
                    for each in cells
                ),
            ]
        )
    head = ["bytes an event", *(f"{wire} {coding}" for wire, coding in columns)]
    return [
        "## Bytes on the wire",
        "With the framing of each wire. gzip and zstd flush after each event, as a live stream has "
        "to. These are counts, not timings: they are the same on every machine with the same "
        "compression libraries. The least is bold.",
        f"![bytes]({images}bytes.svg)",
        table(head, rows),
    ]


def _axis(results: Results, axis: Axis, images: str) -> list[str]:
    rows = [each for each in results.rows if each.axis == axis.name]
    if not rows:
        return []
    parts = [f"## {axis.title}", f"{axis.what} Floor: {axis.floor}."]
    if axis.name in _PLOTTED and any(each.workload == _subject(results) for each in rows):
        parts.append(f"![{axis.name}]({images}{axis.name}.svg)")
    measured = {each.workload for each in rows}
    workloads = [known.name for known in results.workloads if known.name in measured]
    if len(workloads) > 1:
        found = {(each.workload, each.label): each for each in rows}
        labels = dict.fromkeys(each.label for each in rows)
        matrix = [
            [
                _bold(label),
                *(
                    "-" if (each := found.get((workload, label))) is None else _time(each)
                    for workload in workloads
                ),
            ]
            for label in labels
        ]
        parts.append(table(["time of one event", *workloads], matrix))
    for workload in workloads:
        ordered = sorted(
            (each for each in rows if each.workload == workload), key=lambda each: each.ns_per_event
        )
        head = ("", "one event", "events/s", "MB/s", "× floor", "±", "rounds", "dropped")
        detailed = table(head, [_detailed(each) for each in ordered])
        parts.append(
            f"<details><summary>{axis.title}: {workload}</summary>\n\n{detailed}\n\n</details>"
        )
    return parts


def _bold(label: str) -> str:
    return f"**{label}**" if label.startswith(OURS) else label


def _detailed(each: Row) -> tuple[str, ...]:
    return (
        _bold(each.label),
        _time(each),
        number(each.events_per_second),
        number(each.mb_per_second) if each.size else "-",
        number(each.ratio),
        f"{each.spread:.1%}",
        str(each.kept),
        str(each.dropped),
    )


def _memory(results: Results) -> list[str]:
    if not results.memory:
        return []
    parts = [
        "## Memory and allocations",
        "Each in a process of its own, once. *Kept* is what the result holds, *peak* the most that "
        "was held on the way (both as Python's allocators see it; memory that protobuf's runtime "
        "or Node.js takes from the system itself shows only in *process grew*), *objects* the "
        "live memory blocks for each event.",
    ]
    for case in MEMORY:
        for workload in dict.fromkeys(each.workload for each in results.memory):
            rows = [
                each
                for each in results.memory
                if (each.case, each.workload) == (case.name, workload)
            ]
            if not rows:
                continue
            parts += [
                f"**{case.title}** (`{workload}`)",
                table(
                    ("", "kept, an event", "kept", "peak", "process grew", "objects, an event"),
                    [
                        (
                            _bold(each.label),
                            bytes_text(each.held / each.events),
                            bytes_text(each.held),
                            "-" if each.peak is None else bytes_text(each.peak),
                            "-" if each.resident is None else bytes_text(each.resident),
                            "-" if each.blocks is None else number(each.blocks / each.events),
                        )
                        for each in sorted(rows, key=lambda each: each.held)
                    ],
                ),
            ]
    return parts


def _scaling(results: Results, images: str) -> list[str]:
    if not results.points:
        return []
    parts = [
        "## Scaling",
        "The cost of one event as something grows, in units of the cost at the first size, and as "
        "a time. 1.0 all along is a perfectly linear total.",
    ]
    for case in SCALING:
        points = [each for each in results.points if each.case == case.name]
        if not points:
            continue
        sizes = list(dict.fromkeys(each.value for each in points))
        rows = []
        for label in dict.fromkeys(each.label for each in points):
            found = {each.value: each for each in points if each.label == label}
            cells = [
                f"{number(each.ratio)} ({time_text(each.ns_per_event)})"
                + (" ~" if each.noisy else "")
                for value in sizes
                if (each := found.get(value)) is not None
            ]
            rows.append([_bold(label), *cells])
        parts += [
            f"**{case.name.capitalize()}**: {case.what}",
            f"![{case.name}]({images}scaling-{case.name.replace(' ', '-')}.svg)",
            table([case.unit, *(f"{value:,}" for value in sizes)], rows),
        ]
    return parts


def _missing(results: Results) -> list[str]:
    if not results.missing:
        return []
    axes: dict[tuple[str, str, str], dict[str, None]] = {}
    for each in results.missing:
        key = each.label or "everyone", each.workload, each.reason
        axes.setdefault(key, {})[each.axis] = None
    names: dict[tuple[str, str, str], list[str]] = {}
    for (who, workload, why), of_one in axes.items():
        names.setdefault((who, "; ".join(of_one), why), []).append(workload)
    rows = [(who, what, "; ".join(filter(None, on)), why) for (who, what, why), on in names.items()]
    return [
        "## Not measured",
        "What is missing from the tables above, and why.",
        table(("who", "what", "workloads", "why"), rows, numbers=False),
    ]


def _method(results: Results) -> list[str]:
    method = results.method
    batch = method["seconds of a batch"] * 1e3
    drift = method["dropped where the baseline moved more than"]
    spread = method["marked where the middle half is wider than"]
    workloads = table(
        ("workload", "events", "as JSON lines", "SHA-256", "what"),
        [
            (each.name, f"{each.events:,}", bytes_text(each.size), f"`{each.sha256}`", each.what)
            for each in results.workloads
        ],
    )
    return [
        "## Method",
        f"""\
- Whoever would disturb the others has a process of its own: this package, its reference engine,
  the Python SDK (pydantic), Google's protobuf runtime, Node.js. Each works only while it is asked.
- Everything is run twice before it is measured (Node.js until its compiler has settled).
- A round times baseline, contender, baseline, each for about {batch:g} ms;
  contenders take turns in an order that is shuffled for each round; {method["rounds"]:g} rounds.
- A round in which the baseline moved by more than {drift:.0%} is dropped. Who has fewer than three
  left gets up to {method["extra rounds"]:g} rounds more; if that does not help, the three quietest
  count and the row is marked.
- A row is also marked where the middle half of its ratios is wider than {spread:.0%} of the median.
- Processor time is what is measured, which a busy machine disturbs less than the clock on the
  wall; over HTTP that of client and server together. Node.js's includes its helper threads.
- A run has a time limit. What has used up its share of it begins no further round, so a busy
  machine makes for fewer rounds; what could not begin at all is under "Not measured".
- The start and the end of the run around a seeded workload are processed like all events, but not
  counted as events: beside a state of 100 KB they are nothing.
- The garbage collector stays on, as it is for users. Every contender gets its input in the form
  that suits it best: Structs, dicts, models or messages.
- The floor measured against itself stands in each table: how far it is from 1 tells how much a
  difference of that size is worth.""",
        "## Workloads",
        "The command leaves them in `workloads` as recordings (JSON lines); equal hashes, equal "
        "streams.",
        workloads,
    ]
