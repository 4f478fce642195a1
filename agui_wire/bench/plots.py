"""Two kinds of plots as SVG text: bars, and lines over a growing size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

__all__ = ["Bar", "bars", "lines"]

_WIDTH = 860
_LABELS = 330
_BAR = 18
_TOP = 58
_OURS, _THEIRS, _FLOOR = "#0b6e99", "#9aa5b1", "#d9a441"
_COLOURS = (_OURS, "#c1453a", "#3d8c40", "#7a4ea3", _FLOOR)
_FONT = "font-family='system-ui, sans-serif'"


class Bar(NamedTuple):
    """One bar: what it is, how long, what stands beside it, and whose it is."""

    label: str
    value: float
    shown: str
    kind: str = "theirs"
    """"ours", "theirs" or "floor"."""


def _svg(height: int, title: str, subtitle: str, body: list[str]) -> str:
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{_WIDTH}' height='{height}' "
        f"viewBox='0 0 {_WIDTH} {height}' role='img' aria-label='{_text(title)}'>"
        f"<rect width='100%' height='100%' fill='#ffffff'/>"
    )
    return "\n".join(
        [
            head,
            _label(16, 24, title, size=16, weight="bold"),
            _label(16, 43, subtitle, size=12, colour="#52606d"),
            *body,
            "</svg>\n",
        ]
    )


def _text(text: str) -> str:
    return escape(text, {"'": "&apos;"})


def _label(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 12,
    anchor: str = "start",
    colour: str = "#1f2933",
    weight: str = "normal",
) -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' {_FONT} font-size='{size}' font-weight='{weight}' "
        f"text-anchor='{anchor}' fill='{colour}'>{_text(text)}</text>"
    )


def bars(title: str, subtitle: str, items: Sequence[Bar], *, log: bool = False) -> str:
    """Horizontal bars, the shortest first. With `log`, lengths are logarithms."""
    ordered = sorted(items, key=lambda bar: bar.value)
    room = _WIDTH - _LABELS - 110
    body = []
    for index, bar in enumerate(ordered):
        y = _TOP + index * (_BAR + 6)
        length = max(2.0, room * _part(bar.value, ordered, log))
        colour = {"ours": _OURS, "floor": _FLOOR}.get(bar.kind, _THEIRS)
        weight = "bold" if bar.kind == "ours" else "normal"
        body += [
            _label(_LABELS - 8, y + 13, bar.label, anchor="end", weight=weight),
            f"<rect x='{_LABELS}' y='{y}' width='{length:.1f}' height='{_BAR}' fill='{colour}'/>",
            _label(_LABELS + length + 6, y + 13, bar.shown),
        ]
    return _svg(_TOP + len(ordered) * (_BAR + 6) + 12, title, subtitle, body)


def _part(value: float, ordered: Sequence[Bar], log: bool) -> float:
    longest = ordered[-1].value
    if not log:
        return value / longest if longest > 0 else 0.0
    # The shortest bar still shows: it stands one third of a decade above nothing.
    start = ordered[0].value / 2
    return math.log(value / start) / math.log(longest / start)


def lines(
    title: str, subtitle: str, series: dict[str, list[tuple[float, float]]], unit: str
) -> str:
    """Lines over a logarithmic x axis; y begins at 0."""
    height, left, right, bottom = 320, 60, _WIDTH - 220, 270
    points = [point for each in series.values() for point in each]
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    top = max(1.0, *(y for _, y in points)) * 1.1
    span = math.log(high / low) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        across = left + (right - left) * math.log(x / low) / span
        return across, bottom - (bottom - _TOP) * y / top

    body = [
        f"<line x1='{left}' y1='{bottom}' x2='{right}' y2='{bottom}' stroke='#9aa5b1'/>",
        f"<line x1='{left}' y1='{_TOP}' x2='{left}' y2='{bottom}' stroke='#9aa5b1'/>",
        _label((left + right) / 2, bottom + 38, unit, anchor="middle", colour="#52606d"),
    ]
    for x in sorted({x for x, _ in points}):
        body.append(_label(place(x, 0)[0], bottom + 18, f"{x:,.0f}", anchor="middle", size=11))
    for step in range(5):
        y = top / 1.1 * step / 4
        body.append(_label(left - 6, place(low, y)[1] + 4, f"{y:.2f}", anchor="end", size=11))
    for index, (name, each) in enumerate(series.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        places = [place(x, y) for x, y in sorted(each)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        body.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'/>")
        body += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{colour}'/>" for x, y in places]
        legend = _TOP + 10 + index * 20
        body.append(
            f"<rect x='{right + 16}' y='{legend - 9}' width='12' height='10' fill='{colour}'/>"
        )
        body.append(_label(right + 34, legend, name))
    return _svg(height, title, subtitle, body)
