"""The blame of two systems as tables."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from rich.console import Group, RenderableType

from workbench.measure.blame import OVERLAP, Blame, BlamePart
from workbench.safe_text import counted
from workbench.views.frames import Frame, Types, frame, made_frame
from workbench.views.text import ALL_FLIPS, Column, Table, numbers, plain, rendered, rich_table

BLAMED: Types = {
    "before": "str", "after": "str", "measure": "str", "questions": "int64", "change": "str",
    "becomes": "str", "alone": "float64", "last": "float64", "share": "float64", "error": "float64",
}  # fmt: skip

SHOWN_FLIPS = 12
"""So many flipped questions are printed; `flips` and JSON have all."""


@rendered.register
def rendered_blame(blame: Blame, all_flips: str = ALL_FLIPS) -> RenderableType:
    """The whole difference, a line for each change, the verdict, and the first questions that flip.

    `all_flips` says where the reader finds all of them.
    """
    table = shares_table(blame)
    total = ("all changes", "", "", signed(blame.difference), "")
    return Group(
        plain(heading_text(blame), "bold"),
        rich_table(replace(table, rows=[*table.rows, total])),
        plain(method_text(blame), "dim"),
        plain(str(blame.verdict)),
        *_flips(blame, all_flips),
    )


def by_share(blame: Blame) -> list[BlamePart]:
    """The changes, the one with the largest share first."""
    return sorted(blame.parts, key=lambda one: (-abs(one.share), one.name))


def shares_table(blame: Blame) -> Table:
    """A row for each change: its values alone, as the last change and shared, and what it changes."""
    rows = [
        (one.name, signed(one.alone), signed(one.last), share_text(one), _becomes(one))
        for one in by_share(blame)
    ]
    columns: list[Column | str] = ["change", *numbers("alone", "last", "share"), "becomes"]
    return Table(f"Shares of the difference in {blame.measure}", columns, rows)


def _becomes(part: BlamePart) -> str:
    return "; ".join(edit.says for edit in part.edits)


@frame.register
def _blame_frame(blame: Blame) -> Frame:
    about = [blame.one.name, blame.other.name, blame.measure, blame.questions]
    rows = (
        [*about, one.name, _becomes(one), float(one.alone), float(one.last), float(one.share), one.error]
        for one in blame.parts
    )
    return made_frame(BLAMED, rows)


def heading_text(blame: Blame) -> str:
    """The two systems with their values: `A 6 → B 51 hits of 57 questions`."""
    unit = {OVERLAP: "overlap with the second answer"}.get(blame.measure, blame.measure)
    asked = counted(blame.questions, "question")
    values = f"{number(blame.before)} → {number(blame.after)} {unit}, {asked}"
    return f"{blame.one.name} → {blame.other.name}: {values}"


def method_text(blame: Blame) -> str:
    """How the shares were computed."""
    if blame.exact:
        return f"Shapley shares, exact: all {blame.runs} sets of the {len(blame.parts)} changes were run."
    return (
        f"Shapley shares from drawn orders of the {len(blame.parts)} changes ({blame.runs} sets were run); "
        "± is the standard error. They sum to the whole difference."
    )


def share_text(part: BlamePart) -> str:
    """The share of a change, with its error if it has one."""
    return signed(part.share) + (f" ± {part.error:.2g}" if part.error else "")


def number(value: Fraction) -> str:
    """A number with up to four digits, or a whole one."""
    return f"{float(value):.4g}" if abs(value) < 1000 else f"{float(value):.0f}"


def signed(value: Fraction) -> str:
    """A difference with its sign: `+15.67`, `−2`, `0`."""
    text = number(value)
    return f"+{text}" if value > 0 else text.replace("-", "−")


def _flips(blame: Blame, all_flips: str) -> list[RenderableType]:
    if not blame.flips:
        return [plain("No question has another value.")]
    rows = [
        (
            one.question,
            f"{one.before:.3g}",
            f"{one.after:.3g}",
            ", ".join(one.alone) or "no single change",
        )
        for one in blame.flips[:SHOWN_FLIPS]
    ]
    table = Table("", ("question", "before", "after", "changed by one change alone"), rows)
    rest = len(blame.flips) - SHOWN_FLIPS
    more = [plain(f"{counted(rest, 'more question')}; {all_flips}.")] if rest > 0 else []
    return [plain(""), rich_table(table), *more]
