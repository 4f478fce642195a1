"""Two kinds of plots as SVG text: bars, and lines over a growing size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

__all__ = ["Bar", "bars", "lines"]

_WIDTH = 860
_LABELS = 340
_BAR = 18
_STEP = _BAR + 6
_TOP = 58
_GREY = "#52606d"
_COLOURS = ("#0b6e99", "#c1453a", "#9aa5b1", "#d9a441")
_FONT = "font-family='system-ui, sans-serif'"


class Bar(NamedTuple):
    """One bar: what it is, how long, what stands beside it, and the group that colours it."""

    label: str
    value: float
    shown: str
    group: str


def _svg(height: int, title: str, subtitle: str, body: list[str]) -> str:
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{_WIDTH}' height='{height}' "
        f"viewBox='0 0 {_WIDTH} {height}' role='img' aria-label='{_text(title)}'>"
        "<rect width='100%' height='100%' fill='#ffffff'/>"
    )
    return "\n".join(
        [
            head,
            _label(16, 24, title, size=16, weight="bold"),
            _label(16, 43, subtitle, size=12, colour=_GREY),
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


def bars(
    title: str,
    subtitle: str,
    items: Sequence[Bar],
    groups: Sequence[str],
    tick: Callable[[float], str] | None = None,
) -> str:
    """Horizontal bars, the shortest first, coloured by their group. With `tick`, which writes a
    value of the axis, lengths are logarithms.
    """
    ordered = sorted(items, key=lambda bar: bar.value)
    shown = [group for group in groups if any(bar.group == group for bar in ordered)]
    longest = ordered[-1].value
    # The shortest bar still shows: a logarithmic axis begins at the power of ten below it.
    start = 10.0 ** math.floor(math.log10(ordered[0].value) - 0.1) if tick else 0.0
    room = _WIDTH - _LABELS - 100

    def length(value: float) -> float:
        if not tick:
            return room * value / longest
        return room * math.log(value / start) / math.log(longest / start)

    top, bottom = _TOP + 22, _TOP + 22 + len(ordered) * _STEP
    body = _legend(16, _TOP + 8, shown, groups)
    power = start
    while tick and power <= longest:
        x = _LABELS + length(power)
        body += [
            f"<line x1='{x:.1f}' y1='{top}' x2='{x:.1f}' y2='{bottom}' stroke='#d8dee4'/>",
            _label(x, bottom + 14, tick(power), size=11, anchor="middle", colour=_GREY),
        ]
        power *= 10
    for index, bar in enumerate(ordered):
        y = top + index * _STEP + 3
        width = max(2.0, length(bar.value))
        colour = _COLOURS[groups.index(bar.group)]
        body += [
            _label(_LABELS - 8, y + 13, bar.label, anchor="end"),
            f"<rect x='{_LABELS}' y='{y}' width='{width:.1f}' height='{_BAR}' fill='{colour}'/>",
            _label(_LABELS + width + 6, y + 13, bar.shown),
        ]
    return _svg(bottom + (24 if tick else 12), title, subtitle, body)


def _legend(x: float, y: float, names: Sequence[str], groups: Sequence[str]) -> list[str]:
    body = []
    for name in names:
        colour = _COLOURS[groups.index(name)]
        body.append(f"<rect x='{x:.1f}' y='{y - 9}' width='12' height='10' fill='{colour}'/>")
        body.append(_label(x + 18, y, name, colour=_GREY))
        x += 18 + 7 * len(name) + 24
    return body


def _tick_step(top: float) -> float:
    """The round number that divides `top` into three to six parts."""
    power = 10.0 ** math.floor(math.log10(top / 3))
    return next(power * n for n in (5, 2, 1) if top / (power * n) >= 3)


def lines(
    title: str, subtitle: str, series: dict[str, list[tuple[float, float]]], unit: str
) -> str:
    """Lines over a logarithmic x axis; y begins at 0."""
    height, left, right, top, bottom = 340, 60, _WIDTH - 60, _TOP + 24, 290
    points = [point for each in series.values() for point in each]
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    most = max(1.0, *(y for _, y in points)) * 1.1
    span = math.log(high / low) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        across = left + (right - left) * math.log(x / low) / span
        return across, bottom - (bottom - top) * y / most

    body = _legend(left, _TOP + 8, list(series), list(series))
    body.append(_label((left + right) / 2, bottom + 38, unit, anchor="middle", colour=_GREY))
    step = _tick_step(most)
    for number in range(int(most / step) + 1):
        y = place(low, number * step)[1]
        body += [
            f"<line x1='{left}' y1='{y:.1f}' x2='{right}' y2='{y:.1f}' stroke='#d8dee4'/>",
            _label(left - 6, y + 4, f"{number * step:g}", anchor="end", size=11),
        ]
    for x in sorted({x for x, _ in points}):
        body.append(_label(place(x, 0)[0], bottom + 18, f"{x:,.0f}", anchor="middle", size=11))
    for colour, each in zip(_COLOURS, series.values()):
        places = [place(x, y) for x, y in sorted(each)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        body.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'/>")
        body += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{colour}'/>" for x, y in places]
    return _svg(height, title, subtitle, body)
