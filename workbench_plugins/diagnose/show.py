"""Diagnoses, findings, sweeps and triage as text, and as tables of pandas."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import astuple
from io import StringIO
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from workbench.measure.evaluation import Share
from workbench.measure.paired import HITS
from workbench.safe_text import counted, one_line
from workbench.views.frames import Frame, Types, frame, made_frame
from workbench.views.text import (
    ABSENT,
    WIDTH,
    PlainConsole,
    Table,
    explanation_text,
    numbers,
    plain,
    rendered,
    rich_table,
)
from workbench_plugins.diagnose.causes import Cause, Marks, Prices
from workbench_plugins.diagnose.diagnosis import Diagnosis
from workbench_plugins.diagnose.findings import Findings
from workbench_plugins.diagnose.fixes import Fix
from workbench_plugins.diagnose.sweep import Sweep, best, held_out, pareto, right_answers
from workbench_plugins.diagnose.triage import Fit, Triage


@rendered.register
def rendered_diagnosis(diagnosis: Diagnosis) -> RenderableType:
    """The five parts of a diagnosis, one below the other."""
    parts = {
        "What happened": _hanging(explanation_text(diagnosis.explanation, 1).split("\n")),
        "Causes": _causes(diagnosis) or [plain("No set of known repairs changes this answer.")],
        f"Fixes: the file is then {diagnosis.goal.aim}": _fixes(diagnosis),
        "The price": _hanging(_prices(diagnosis)),
        "As settings": _hanging(_settings(diagnosis)),
    }
    return Group(
        *(line for head, lines in parts.items() for line in (plain(""), plain(head, "bold"), *lines))
    )


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """The same page as plain text, WIDTH columns wide."""
    console = PlainConsole(file=StringIO(), width=WIDTH, color_system=None)
    with console.capture() as page:
        console.print(rendered_diagnosis(diagnosis))
    return "\n".join(line.rstrip() for line in page.get().strip().splitlines())


def _hanging(lines: Iterable[str]) -> list[RenderableType]:
    """Lines that continue below their own beginning."""
    pairs = ((line, line.lstrip()) for line in lines)
    return [
        Padding.indent(Text(one_line(text)), len(line) - len(text)) if text else Text()
        for line, text in pairs
    ]


def _causes(diagnosis: Diagnosis) -> list[RenderableType]:
    lines = []
    for place, cause in enumerate(diagnosis.causes, 1):
        lines += [f"{place}. {_cause_title(cause)}", f"   repair: {cause.repair}", f"   {cause.evidence}"]
        if cause.after is not None:
            lines.append(f"   repaired: {_counts(diagnosis.prices, cause.after)}")
    return _hanging(lines)


def _cause_title(cause: Cause) -> str:
    where = " and ".join(one.replace("_", " ") for one in cause.where)
    says = cause.says if cause.says.startswith(where) else f"{where}: {cause.says}"
    return says + ("" if cause.verified else " (not verified)")


def _counts(prices: Prices, after: Marks) -> str:
    told = f"{after.hits} of {len(prices.questions)} hits, now {prices.now.hits}"
    if not prices.controls:
        return told
    silent = f"{after.silences} of {len(prices.controls)} unanswerable questions"
    return f"{told}; no result for {silent}, now {prices.now.silences}"


def _fixes(diagnosis: Diagnosis) -> list[RenderableType]:
    if not diagnosis.fixes:
        return [plain("No single setting and no known change does it. See the repairs above.")]
    heads = ("", "setting", "now", "becomes", "verified", "hits", "no result", "files gained", "files lost")
    rows = [
        (
            str(place),
            fix.setting,
            _value(fix.now),
            becomes_text(fix),
            "yes" if fix.verified else "no",
            fix.price.hits_text,
            fix.price.silence_text if diagnosis.prices.controls else ABSENT,
            _files(fix.gained),
            _files(fix.lost),
        )
        for place, fix in enumerate(diagnosis.fixes, 1)
    ]
    table = rich_table(Table("fixes", heads, rows))
    shown = len(diagnosis.fixes)
    if shown == diagnosis.found:
        return [table]
    note = f"These are the best {shown} of {diagnosis.found} fixes, ranked by what they lose."
    return [table, plain(note)]


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value) or ABSENT


def becomes_text(fix: Fix) -> str:
    """The value of a fix in words: `at most 0.34`, `OR`, or the name of a change."""
    return f"{fix.side} {_value(fix.value)}".strip()


def _files(paths: tuple[str, ...]) -> str:
    if not paths:
        return ABSENT
    return paths[0] if len(paths) == 1 else f"{len(paths)} files"


def _prices(diagnosis: Diagnosis) -> list[str]:
    lines = [f"Over {diagnosis.prices_text}.", *([diagnosis.order_text] if diagnosis.order_text else [])]
    for place, fix in enumerate(diagnosis.fixes, 1):
        lines.append(f"{place}. {fix.verdict}")
        for name, files in (("gained", fix.gained), ("lost", fix.lost)):
            lines += [f"   files {name}: {', '.join(files)}"] if len(files) > 1 else []
    return lines


def _settings(diagnosis: Diagnosis) -> list[str]:
    lines = []
    for place, fix in enumerate(diagnosis.fixes, 1):
        first, *others = _ways(fix)
        lines += [f"{place}. {first}", *(f"   {line}" for line in others)]
    lines = [*(lines or ["There is no setting to change."]), diagnosis.chunking]
    return [*lines, *([diagnosis.settings_text] if diagnosis.settings_text else [])]


def _ways(fix: Fix) -> list[str]:
    """The lines of a fix as settings."""
    options = fix.chunks.command if fix.chunks is not None else fix.as_set
    lines = [options] if options else [line for line in fix.as_python.split("\n") if line]
    return lines if fix.to_paste is None else [*lines, json.dumps(fix.to_paste)]


@rendered.register
def rendered_triage(found: Triage) -> RenderableType:
    """The best symptom with all that it leads to, and the names of the next ones."""
    best, *others = found.fits
    head = [] if found.known else ["No known symptom is near these words. The nearest is below."]
    lines = [*head, *_triage_lines(best), *map(_other, others)]
    return Group(*(plain(line, "bold" if line.startswith("symptom: ") else "") for line in lines))


def _triage_lines(fit: Fit) -> list[str]:
    symptom = fit.symptom
    return [
        f"symptom: {symptom.name} ({fit.sure}, cosine {fit.cosine:.2f} with “{fit.nearest}”)",
        f"  {symptom.says}",
        *(f"  run: {one}" for one in symptom.checks),
        *(
            f"  like it: workbench museum {one.name} ({', '.join(one.references[:2])})"
            for one in fit.specimens
        ),
        f"  lesson: workbench lab, notebooks/{symptom.lesson}.ipynb",
    ]


def _other(fit: Fit) -> str:
    return f"or: {fit.symptom.name} ({fit.sure}, cosine {fit.cosine:.2f})"


@rendered.register
def rendered_findings(found: Findings) -> RenderableType:
    """One row for each finding: what cannot work, the arithmetic, and the public issue it resembles."""
    if not found:
        return plain(f"{found.system}: nothing found")
    count = counted(len(found), "finding")
    heads, rows = ("finding", "what it means", "arithmetic", "resembles"), [astuple(one) for one in found]
    return Group(plain(f"{found.system}: {count}", "bold"), rich_table(Table("findings", heads, rows)))


SHOWN = 10
"""The number of settings that the table shows beside those of the Pareto front."""
MOST_OF_FRONT = 10


@rendered.register
def rendered_sweep(sweep: Sweep) -> RenderableType:
    """The best settings, the Pareto front, the present setting, and the held-out estimate."""
    lines = [
        f"{sweep.pipeline.name}: {len(sweep.settings):,} settings, {sweep.values.shape[1]} questions, "
        f"{sweep.silent.shape[1]} unanswerable questions"
    ]
    if sweep.by_stages:
        lines.append(f"The stages ran for each question and setting, since {sweep.by_stages}.")
    return Group(
        *map(plain, lines),
        plain(""),
        rich_table(settings_table(sweep)),
        plain(""),
        *map(plain, verdict(sweep)),
    )


def settings_table(sweep: Sweep) -> Table:
    """One row for each setting with the most right answers, those of the front, and the present one."""
    front = pareto(sweep)[:MOST_OF_FRONT]
    first = np.argsort(-right_answers(sweep), kind="stable")[:SHOWN].tolist()
    rows = []
    for place in dict.fromkeys([*first, *front]):
        signs = [word for word, holds in (("best", place == best(sweep)), ("front", place in front)) if holds]
        rows.append((*sweep.settings[place], *_numbers(sweep, place), ", ".join(signs)))
    heads = numbers(*(one.name for one in sweep.axes), sweep.measure, "nothing returned")
    return Table("settings", [*heads, ""], [*rows, (*sweep.now, *_numbers(sweep, -1), "now")])


def _numbers(sweep: Sweep, place: int) -> tuple[str, str]:
    count = sweep.values.shape[1]
    score = (
        f"{int(sweep.values[place].sum())}/{count}" if sweep.measure == HITS else f"{sweep.score(place):.3f}"
    )
    return score, _share(sweep.silence(place))


def _share(share: Share) -> str:
    return f"{share.hits}/{share.n}" if share.n else ABSENT


def verdict(sweep: Sweep) -> list[str]:
    """What the best setting is worth on questions that did not choose it, in sentences."""
    lines = [
        "best: most right answers, which are the questions' "
        f"{sweep.measure} plus the unanswerable questions with nothing returned",
        "front: no other setting is better in one of the two without being worse in the other",
    ]
    held = held_out(sweep)
    if held is None:
        return [*lines, "All questions are about one file, so no part of them can be held out."]
    return [
        *lines,
        f"held out: chosen on {len(held.chosen) - 1} of {len(held.chosen)} parts and measured on the other, "
        f"{sweep.measure} {held.mean:.3f}, nothing returned for {_share(held.silent)}. "
        f"{flattery(held.flattered, sweep.measure)}",
        f"held out, compared with now: {held.paired}",
    ]


def flattery(flattered: float, measure: str) -> str:
    """How much better the best setting looks on the questions that chose it, in points or in the measure."""
    if flattered <= 0:
        return "The best setting's own number is not better than that."
    points = f"{100 * flattered:.0f} points" if measure == HITS else f"{flattered:.3f} {measure}"
    return f"The best setting's own number flatters it by {points}."


SETTINGS: Types = {
    "system": "str", "setting": "int64", "now": "bool", "measure": "str", "mean": "float64",
    "questions": "int64", "nothing_returned": "int64", "unanswerable": "int64",
}  # fmt: skip


FIXES: Types = {
    "system": "str", "question": "str", "target": "str", "setting": "str", "now": "str", "value": "str",
    "fails": "float64", "verified": "bool", "gained": "int64", "lost": "int64", "hits_before": "int64",
    "hits_after": "int64", "silent_before": "int64", "silent_after": "int64",
}  # fmt: skip


FINDINGS: Types = {"system": "str", "finding": "str", "meaning": "str", "arithmetic": "str", "issue": "str"}


@frame.register
def _sweep(sweep: Sweep) -> Frame:
    """A row for each setting, and the pipeline's own last; the swept parameters are further columns."""
    columns = {one.name: "float64" if one.is_number else "str" for one in sweep.axes}
    asked, silent = sweep.values.shape[1], sweep.silent.shape[1]

    def rows() -> Iterable[list[Any]]:
        for place, setting in enumerate([*sweep.settings, sweep.now]):
            last = place == len(sweep.settings)
            figures = [sweep.measure, sweep.score(place), asked, sweep.silence(place).hits, silent]
            yield [sweep.pipeline.name, place + 1, last, *figures, *setting]

    return made_frame({**SETTINGS, **columns}, rows())


@frame.register
def _diagnosis(diagnosis: Diagnosis) -> Frame:
    about = {
        "system": diagnosis.pipeline.name, "question": diagnosis.question, "target": diagnosis.target
    }  # fmt: skip
    rows = (
        {
            **about,
            **fix.as_json(),
            "now": str(fix.now) or None,
            "value": str(fix.value),
            "gained": len(fix.gained),
            "lost": len(fix.lost),
        }
        for fix in diagnosis.fixes
    )
    return made_frame(FIXES, ([row[name] for name in FIXES] for row in rows))


@frame.register
def _findings(found: Findings) -> Frame:
    rows = ([found.system, one.kind, one.says, one.arithmetic, one.issue] for one in found)
    return made_frame(FINDINGS, rows)
