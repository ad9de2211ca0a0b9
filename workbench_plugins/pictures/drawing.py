"""Draws named numbers as bars, pairs of numbers as curves, and a number for each pair as a map, in SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise

from workbench.errors import InputError

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b38600")
WIDTH, LINE, NAMES, NUMBERS = 760, 24, 270, 60
HEIGHT, LEFT, RIGHT, BELOW = 240, 46, 190, 34
Interval = tuple[float, float, float]
"""A number with the ends of its interval."""


class Picture:
    """A picture in SVG, and the same numbers in words."""

    def __init__(self, words: str, height: float, parts: Sequence[str]) -> None:
        self.words = words
        self._svg = (
            f'<svg viewBox="0 0 {WIDTH} {height:g}" style="max-width:{WIDTH}px;font:13px sans-serif" '
            f'fill="currentColor" role="img" aria-label="{escape(words)}">{"".join(parts)}</svg>'
        )

    def __repr__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        return self._svg

    @property
    def page(self) -> str:
        """The picture and its words as an HTML page that needs no other file."""
        return (
            '<!doctype html><html lang="en"><meta charset="utf-8">'
            f'<meta name="color-scheme" content="light dark"><title>Picture</title>'
            f"<body>{self._svg}<p>{escape(self.words)}</p></body></html>"
        )


def bar_chart(numbers: Mapping[str, float | Interval], unit: str) -> Picture:
    """One bar for each name; (number, low, high) adds a line from low to high. Raises InputError for none."""
    every = {name: one if isinstance(one, tuple) else (one, one, one) for name, one in numbers.items()}
    low, high = _ends(end for some in every.values() for end in some)
    scale = (WIDTH - NAMES - NUMBERS) / ((high - low) or 1.0)
    parts = [_text(NAMES, 14, unit, size=12)]
    for place, (name, (value, least, most)) in enumerate(every.items()):
        y, zero = 22 + LINE * place, NAMES - low * scale
        start, width = zero + min(value, 0) * scale, abs(value) * scale
        parts += [
            _text(NAMES - 8, y + 13, name, "end"),
            f'<rect x="{start:.1f}" y="{y}" width="{width:.1f}" height="16" fill="{COLOURS[value < 0]}"/>',
            _line((zero + least * scale, y + 8), (zero + most * scale, y + 8), "currentColor"),
            _text(zero + max(value, most, 0) * scale + 6, y + 13, f"{value:.4g}"),
        ]
    return Picture(f"{unit}: " + ", ".join(map(_told, every.items())), 26 + LINE * len(every), parts)


def line_chart(points: Mapping[str, Sequence[tuple[float, float]]], x: str, y: str) -> Picture:
    """The points of each name, joined in their order; `x` and `y` name the axes.

    Raises InputError for none.
    """
    ends = [_ends(point[axis] for some in points.values() for point in some) for axis in (0, 1)]
    bottom = HEIGHT + 20.0

    def at(point: tuple[float, float]) -> tuple[float, float]:
        shares = [(one - low) / ((high - low) or 1.0) for one, (low, high) in zip(point, ends, strict=True)]
        return LEFT + shares[0] * (WIDTH - LEFT - RIGHT), bottom - shares[1] * HEIGHT

    parts = [_text(4, 12, y, size=12), _text(WIDTH - RIGHT, bottom + 28, x, "end", 12)]
    parts += [_text(at((end, ends[1][0]))[0], bottom + 14, f"{end:.4g}", "middle") for end in ends[0]]
    parts += [_text(LEFT - 6, at((ends[0][0], end))[1] + 4, f"{end:.4g}", "end") for end in ends[1]]
    free = bottom
    for place, (name, some) in enumerate(sorted(points.items(), key=lambda one: one[1][-1][1])):
        colour, there = COLOURS[place % len(COLOURS)], [at(point) for point in some]
        parts += [_line(one, other, colour) for one, other in pairwise(there)]
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="5" fill="{colour}"/>' for a, b in there]
        free = min(there[-1][1], free) - 16  # names do not overlap
        names = WIDTH - RIGHT + 12
        parts += [
            _line((names, free + 16), (names + 12, free + 16), colour),
            _text(names + 17, free + 20, name),
        ]
    told = (f"{name}: " + ", ".join(f"({a:.4g}, {b:.4g})" for a, b in some) for name, some in points.items())
    return Picture(f"{y} by {x}. " + "; ".join(told), bottom + BELOW, parts)


def heat_map(
    cells: Mapping[tuple[str, str], float], x: str, y: str, marks: Mapping[tuple[str, str], str]
) -> Picture:
    """A cell for each pair of names, the darker the larger its number; `marks` stand beside some numbers.

    Raises InputError for none.
    """
    across, up = ([*dict.fromkeys(one[axis] for one in cells)] for axis in (0, 1))
    _, high = _ends(cells.values())
    low = min(cells.values())
    wide = min(90.0, (WIDTH - LEFT - RIGHT) / len(across))
    parts = [_text(0, 14, f"up: {y}; across: {x}", size=12)]
    for (one, other), number in cells.items():
        left, top = RIGHT + wide * across.index(one), 22 + LINE * (len(up) - 1 - up.index(other))
        share = (number - low) / ((high - low) or 1.0)
        parts.append(
            f'<rect x="{left:.1f}" y="{top}" width="{wide - 1:.1f}" height="{LINE - 1}" '
            f'fill="{COLOURS[0]}" fill-opacity="{0.06 + 0.6 * share:.3f}"/>'
        )
        words = f"{number:.4g} {marks.get((one, other), '')}".strip()
        parts.append(_text(left + wide / 2, top + 16, words, "middle", 12))
    bottom = 22.0 + LINE * len(up)
    parts += [_text(RIGHT + wide * (n + 0.5), bottom + 14, one, "middle", 12) for n, one in enumerate(across)]
    parts += [_text(RIGHT - 8, bottom - LINE * (n + 0.35), one, "end", 12) for n, one in enumerate(up)]
    told = [f"({one}, {other}) {number:.4g}" for (one, other), number in cells.items()]
    named = [f"{name} ({one}, {other})" for (one, other), name in marks.items()]
    return Picture(f"{y} by {x}: {', '.join(told)}. {', '.join(named)}", bottom + BELOW, parts)


def _ends(numbers: Iterable[float]) -> tuple[float, float]:
    """The least and the largest of the numbers and 0."""
    every = [*numbers]
    if not every:
        raise InputError("There is nothing to draw.", "Give one number or more.")
    return min(0.0, *every), max(0.0, *every)


def _told(one: tuple[str, Interval]) -> str:
    name, (value, low, high) = one
    return f"{name} {value:.4g}" + (f" ({low:.4g} to {high:.4g})" if low < high else "")


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 13) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def _line(one: tuple[float, float], other: tuple[float, float], colour: str) -> str:
    ends = f'x1="{one[0]:.1f}" y1="{one[1]:.1f}" x2="{other[0]:.1f}" y2="{other[1]:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="2"/>'
