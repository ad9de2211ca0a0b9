"""A diagnosis on one page, and the blame of two systems as tables."""

from __future__ import annotations

import json
from fractions import Fraction
from io import StringIO

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from workbench.lab.diagnose.blame import OVERLAP, Blame, BlamePart
from workbench.lab.diagnose.causes import Cause
from workbench.lab.diagnose.diagnosis import Diagnosis, verdict_text
from workbench.lab.diagnose.fixes import Fix
from workbench.lab.diagnose.runs import Aim
from workbench.lab.diagnose.written import as_openclaw, as_python, as_set
from workbench.safe_text import counted, one_line
from workbench.views.console import PlainConsole, PlainTable, plain
from workbench.views.text import ABSENT, ALL_FLIPS, WIDTH, explanation_text, rendered

SHOWN_FLIPS = 12
"""So many flipped questions are printed; `flips` and JSON have all."""

QUESTIONS = {
    Aim.IN: ("Who lost it", "What would bring it in"),
    Aim.FIRST: ("What keeps it from the first place", "What would make it the first"),
    Aim.OUT: ("Why it came in", "What would keep it out"),
}
"""The headings of the second and third part, by what is wanted of the file."""


@rendered.register
def rendered_diagnosis(diagnosis: Diagnosis) -> RenderableType:
    """The five parts of a diagnosis, one below the other."""
    who, what = QUESTIONS[diagnosis.goal.aim]
    parts: list[RenderableType] = [
        _heading("What happened"),
        *_lines(explanation_text(diagnosis.explanation, 1)),
    ]
    parts += [_heading(who), *(_causes(diagnosis) or [plain("No set of known repairs changes this answer.")])]
    parts += [_heading(what), *_fixes(diagnosis)]
    parts += [_heading("The price"), *_prices(diagnosis)]
    parts += [_heading("As settings"), *_settings(diagnosis)]
    return Group(*parts)


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """The same page as plain text, WIDTH columns wide."""
    console = PlainConsole(file=StringIO(), width=WIDTH, color_system=None)
    with console.capture() as page:
        console.print(rendered_diagnosis(diagnosis))
    return "\n".join(line.rstrip() for line in page.get().strip().splitlines())


def _heading(text: str) -> RenderableType:
    return Group(plain(""), plain(text, "bold"))


def _lines(text: str) -> list[RenderableType]:
    """Lines that continue below their own beginning."""
    return [_hanging(line) for line in text.split("\n")]


def _hanging(line: str) -> RenderableType:
    text = line.lstrip()
    return Padding.indent(Text(one_line(text)), len(line) - len(text)) if text else Text()


def _causes(diagnosis: Diagnosis) -> list[RenderableType]:
    lines = []
    for place, cause in enumerate(diagnosis.causes, 1):
        lines += [f"{place}. {_cause_title(cause)}", f"   repair: {cause.repair}", f"   {cause.evidence}"]
        if cause.after is not None:
            lines.append(f"   repaired: {_counts(diagnosis, cause.after.hits, cause.after.silences)}")
    return [_hanging(line) for line in lines]


def _cause_title(cause: Cause) -> str:
    where = " and ".join(one.replace("_", " ") for one in cause.where)
    says = cause.says if cause.says.startswith(where) else f"{where}: {cause.says}"
    return says + ("" if cause.verified else " (not verified)")


def _counts(diagnosis: Diagnosis, hits: int, silent: int) -> str:
    stick = diagnosis.yardstick
    told = f"{hits} of {len(stick.questions)} hits, now {stick.now.hits}"
    if not stick.controls:
        return told
    return (
        f"{told}; {silent} of {len(stick.controls)} unanswerable questions silent, now {stick.now.silences}"
    )


def _fixes(diagnosis: Diagnosis) -> list[RenderableType]:
    if not diagnosis.fixes:
        return [plain("No single setting and no known change does it. See the repairs above.")]
    table = PlainTable(pad_edge=False)
    for name in ("", "setting", "now", "becomes", "verified", "hits", "silent", "also comes in", "falls out"):
        table.add_column(name)
    now = diagnosis.yardstick.now
    for place, fix in enumerate(diagnosis.fixes, 1):
        table.add_row(
            str(place),
            fix.setting,
            _value(fix.now),
            becomes_text(fix),
            "yes" if fix.verified else "no",
            f"{now.hits} → {fix.price.after.hits}",
            f"{now.silences} → {fix.price.after.silences}" if diagnosis.yardstick.controls else ABSENT,
            _files(fix.gained),
            _files(fix.lost),
        )
    more = diagnosis.found - len(diagnosis.fixes)
    shown = len(diagnosis.fixes)
    note = f"These are the best {shown} of {diagnosis.found} fixes, ranked by what they lose." if more else ""
    return [table, *([plain(note)] if note else [])]


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value) or ABSENT


def becomes_text(fix: Fix) -> str:
    """The value of a fix in words: `at most 0.349083`, `OR`, or the name of a change."""
    return f"{fix.side} {_value(fix.value)}".strip()


def _files(paths: tuple[str, ...]) -> str:
    if not paths:
        return ABSENT
    return paths[0] if len(paths) == 1 else f"{len(paths)} files"


def _prices(diagnosis: Diagnosis) -> list[RenderableType]:
    lines = [f"Over {diagnosis.yardstick_text}.", *([diagnosis.order_text] if diagnosis.order_text else [])]
    for place, fix in enumerate(diagnosis.fixes, 1):
        lines.append(f"{place}. {verdict_text(fix)}")
        lines += [f"   also comes in: {', '.join(fix.gained)}"] if len(fix.gained) > 1 else []
        lines += [f"   falls out: {', '.join(fix.lost)}"] if len(fix.lost) > 1 else []
    return [_hanging(line) for line in lines]


def _settings(diagnosis: Diagnosis) -> list[RenderableType]:
    lines = []
    for place, fix in enumerate(diagnosis.fixes, 1):
        lines += [f"{place}. {line}" if first else f"   {line}" for first, line in _ways(fix)]
    lines = [*(lines or ["There is no setting to change."]), diagnosis.chunking]
    lines += [diagnosis.settings_text] if diagnosis.settings_text else []
    return [_hanging(line) for line in lines]


def _ways(fix: Fix) -> list[tuple[bool, str]]:
    """The lines of a fix as settings; the first one is marked."""
    options = fix.chunks.command if fix.chunks is not None else as_set(fix)
    lines = [options] if options else [line for line in as_python(fix).split("\n") if line]
    pasted = as_openclaw(fix)
    if pasted is not None:
        lines.append(json.dumps(pasted))
    return [(place == 0, line) for place, line in enumerate(lines)]


# Blame


@rendered.register
def rendered_blame(blame: Blame, all_flips: str = ALL_FLIPS) -> RenderableType:
    """The whole difference, a line for each change, the verdict, and the first questions that flip.

    `all_flips` says where the reader finds all of them.
    """
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
        *_flips(blame, all_flips),
    )


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
    """A number with up to three decimals."""
    return f"{float(value):.3f}".rstrip("0").rstrip(".")


def signed(value: Fraction) -> str:
    """A difference with its sign: `+15.667`, `−2`, `0`."""
    text = number(value)
    return f"+{text}" if value > 0 else text.replace("-", "−")


def _flips(blame: Blame, all_flips: str) -> list[RenderableType]:
    if not blame.flips:
        return [plain("No question has another value.")]
    table = PlainTable(pad_edge=False)
    for name in ("question", "before", "after", "changed by one change alone"):
        table.add_column(name)
    for one in blame.flips[:SHOWN_FLIPS]:
        alone = ", ".join(one.alone) or "no single change"
        table.add_row(one.question, f"{one.before:.3g}", f"{one.after:.3g}", alone)
    rest = len(blame.flips) - SHOWN_FLIPS
    more = [plain(f"{counted(rest, 'more question')}; {all_flips}.")] if rest > 0 else []
    return [plain(""), table, *more]
