"""A diagnosis on one page: what happened, who did it, what would have saved it, and what that costs."""

from __future__ import annotations

import json

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from workbench.lab.diagnose.causes import Cause
from workbench.lab.diagnose.diagnosis import Diagnosis, verdict_text
from workbench.lab.diagnose.fixes import Fix
from workbench.lab.diagnose.runs import Aim
from workbench.lab.diagnose.written import as_openclaw, as_python, as_set
from workbench.safe_text import one_line
from workbench.views.console import PlainTable, plain
from workbench.views.text import ABSENT, explanation_text, rendered

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
    lines = [f"Over {diagnosis.yardstick_text}."]
    for place, fix in enumerate(diagnosis.fixes, 1):
        lines.append(f"{place}. {verdict_text(fix)}")
        lines += [f"   also comes in: {', '.join(fix.gained)}"] if len(fix.gained) > 1 else []
        lines += [f"   falls out: {', '.join(fix.lost)}"] if len(fix.lost) > 1 else []
    return [_hanging(line) for line in lines]


def _settings(diagnosis: Diagnosis) -> list[RenderableType]:
    lines = []
    for place, fix in enumerate(diagnosis.fixes, 1):
        lines += [f"{place}. {line}" if first else f"   {line}" for first, line in _ways(fix)]
    lines += [diagnosis.settings_text] if diagnosis.settings_text else []
    return [_hanging(line) for line in lines or ["There is no setting to change."]]


def _ways(fix: Fix) -> list[tuple[bool, str]]:
    """The lines of a fix as settings; the first one is marked."""
    options = as_set(fix)
    lines = [options] if options else [line for line in as_python(fix).split("\n") if line]
    pasted = as_openclaw(fix)
    if pasted is not None:
        lines.append(json.dumps(pasted))
    return [(place == 0, line) for place, line in enumerate(lines)]
