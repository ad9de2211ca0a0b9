"""Blame in tables: what each change adds alone, last and on average, and the questions that flip."""

from __future__ import annotations

from fractions import Fraction

from rich.console import Group, RenderableType

from workbench.lab.diagnose.blame import OVERLAP, Blame, Part
from workbench.views.console import PlainTable, plain
from workbench.views.text import rendered

SHOWN_FLIPS = 12


@rendered.register
def rendered_blame(blame: Blame) -> RenderableType:
    """The whole difference, a line for each change, the verdict, and the questions that flip."""
    table = PlainTable(pad_edge=False)
    for name in ("change", "alone", "last", "share", "becomes"):
        table.add_column(name, justify="left" if name in ("change", "becomes") else "right")
    for part in sorted(blame.parts, key=lambda one: (-abs(one.share), one.name)):
        says = "; ".join(edit.says for edit in part.edits)
        table.add_row(part.name, signed(part.alone), signed(part.last), share_text(part), says)
    table.add_row("all changes", "", "", signed(blame.difference), "")
    return Group(
        plain(heading_text(blame), "bold"),
        table,
        plain(method_text(blame), "dim"),
        plain(str(blame.verdict)),
        *_flips(blame),
    )


def heading_text(blame: Blame) -> str:
    """The two systems with their values: `A 6 → B 51 hits of 57 questions`."""
    unit = {OVERLAP: "overlap with the second answer"}.get(blame.measure, blame.measure)
    asked = "1 question" if blame.questions == 1 else f"{blame.questions} questions"
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


def share_text(part: Part) -> str:
    """The share of a change, with its error if it has one."""
    return signed(part.share) + (f" ± {part.error:.2g}" if part.error else "")


def number(value: Fraction) -> str:
    """A number with up to three decimals."""
    return f"{float(value):.3f}".rstrip("0").rstrip(".")


def signed(value: Fraction) -> str:
    """A difference with its sign: `+15.667`, `−2`, `0`."""
    text = number(value)
    return f"+{text}" if value > 0 else text.replace("-", "−")


def _flips(blame: Blame) -> list[RenderableType]:
    if not blame.flips:
        return [plain("No question has another value.")]
    table = PlainTable(pad_edge=False)
    for name in ("question", "before", "after", "changed by one change alone"):
        table.add_column(name)
    for one in blame.flips[:SHOWN_FLIPS]:
        alone = ", ".join(one.alone) or "no single change"
        table.add_row(one.question, f"{one.before:.3g}", f"{one.after:.3g}", alone)
    rest = len(blame.flips) - SHOWN_FLIPS
    more = [plain(f"{rest} more questions; --json lists all.")] if rest > 0 else []
    return [plain(""), table, *more]
