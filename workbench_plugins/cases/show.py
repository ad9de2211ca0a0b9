"""Runs of cases in words, as data for JSON, and as reports: Markdown, and one HTML page with figures.

All texts of a case are escaped in a report. The page needs no network and has no script, and its policy
forbids scripts and requests.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType

from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.explain import fate_of
from workbench.safe_text import counted, one_line, visible
from workbench.views.data import trace_data
from workbench.views.html import framed, html_table, passage
from workbench.views.text import (
    WIDTH,
    PlainConsole,
    PlainTable,
    Table,
    explanation_text,
    plain,
    rendered,
    rendered_explanation,
    rendered_trace,
)
from workbench_plugins.cases.making import environment
from workbench_plugins.cases.model import Case, Observed, case_text
from workbench_plugins.cases.running import Answered, CaseRun, Matrix


@rendered.register
def rendered_case_run(run: CaseRun) -> RenderableType:
    """Every answer of a case with its verdict, and why the file that decides was returned or not."""
    parts: list[RenderableType] = [plain(run.case.title or "a case without a title", "bold")]
    parts += [plain(", ".join(run.case.references), "dim")] if run.case.references else []
    for one in run.answers:
        parts += [plain(""), *_answer(one)]
    parts += [plain(""), *map(plain, verdict_lines(run))]
    return Group(*parts)


def _answer(one: Answered) -> list[RenderableType]:
    parts: list[RenderableType] = [plain(f"{'HOLDS' if one.holds else 'FAILS'}: {one.says}.", "bold")]
    if one.explanation is not None:
        parts.append(rendered_explanation(one.explanation))
    else:
        parts += [plain(f"“{one.asked.question}”"), rendered_trace(one.trace)]
    if not one.as_observed and one.asked.observed:
        then, now = observed_text(one.asked.observed), observed_text(one.observed)
        parts.append(plain(f"observed before: {then}"))
        parts.append(plain(f"observed now: {now}"))
    return parts


def answer_text(one: Answered, run: CaseRun, problem: str) -> str:
    """An answer as plain text for a test report: the problem, the verdict, and why."""
    told = io.StringIO()
    console = PlainConsole(file=told, width=WIDTH, force_terminal=False, color_system=None)
    versions = [] if one.as_observed else differing_versions(run.case)
    head = [problem, *versions, f"{run.case.title or 'a case'} on {run.pipeline.name}"]
    console.print(Group(*map(plain, head), *_answer(one)))
    return "\n".join(line.rstrip() for line in told.getvalue().splitlines())


def observed_text(one: Observed) -> str:
    """An observation in a line: the fate, its stage, and the returned files."""
    returned = ", ".join(one.returned) if one.returned else "nothing"
    fate = [f"{one.fate} ({one.stage})" if one.stage else one.fate] if one.fate else []
    return "; ".join([*fate, *([f"returned: {returned}"] if one.returned is not None else [])])


def verdict_lines(run: CaseRun) -> list[str]:
    """How many expectations hold, and whether the observations of the case are made again."""
    total, failing = len(run.answers), sum(not one.holds for one in run.answers)
    name = run.pipeline.name
    lines = [
        f"{name}: {'every expectation holds' if not failing else f'{failing} of {total} expectations fail'}"
        f" ({counted(total, 'question')})."
    ]
    if run.case.known_bug and failing:
        lines.append(f"A known bug: {run.case.known_bug}")
    lines += _not_compared(Matrix((run,)))
    if not run.as_observed:
        lines.append("What is observed differs from what the case states.")
        lines += differing_versions(run.case)
    return lines


def differing_versions(case: Case) -> list[str]:
    """The versions that differ from those of the case, one line each."""
    if case.environment is None:
        return []
    then, now = case.environment.model_dump(), environment().model_dump()
    return [
        f"{name}: {then[name]} then, {now[name]} now" for name in now if then[name] not in ("", now[name])
    ]


HEADS = ("system", "verdict", "what decides")


def matrix_rows(matrix: Matrix) -> list[tuple[str, str, str]]:
    """Each system with its verdict and what decides, under `HEADS`."""
    return [(one.pipeline.name, _verdict(one.holds), _deciding(one)) for one in matrix.runs]


@rendered.register
def rendered_matrix(matrix: Matrix) -> RenderableType:
    """One line per system with its verdict, and below the first bad and the first good one."""
    table = PlainTable(*HEADS)
    for row in matrix_rows(matrix):
        table.add_row(*row)
    return Group(table, *map(plain, matrix_lines(matrix)))


def _verdict(holds: bool) -> str:
    return "holds" if holds else "fails"


def _deciding(run: CaseRun) -> str:
    shown = [one for one in run.answers if one.holds == run.holds]
    more = f"; and {len(shown) - 1} more" if len(shown) > 1 else ""
    one = shown[0]
    fate = f" ({one.observed.fate}{f'; stage: {one.observed.stage}' if one.observed.stage else ''})"
    return one.says + (fate if one.observed.fate and not one.holds else "") + more


def matrix_lines(matrix: Matrix) -> list[str]:
    """Sentences that name the first system on which the case fails, and the first good one after it."""
    bad, good = matrix.first_bad, matrix.first_good
    if bad is None:
        return ["The case holds on each of these systems.", *_not_compared(matrix)]
    lines = [f"First bad: {bad.pipeline.name}."]
    lines.append(f"First good after it: {good.pipeline.name}." if good else "No later one here is good.")
    later = matrix.runs[matrix.runs.index(good) + 1 :] if good else ()
    again = [one.pipeline.name for one in later if not one.holds]
    lines += [f"It fails again on {', '.join(again)}."] if again else []
    return [*lines, *_not_compared(matrix)]


def _not_compared(matrix: Matrix) -> list[str]:
    """A sentence for the systems on which a reduced case was not compared with its original."""
    others = [
        run.pipeline.name
        for run in matrix.runs
        if run.case.compared is not None and run.pipeline.name not in run.case.compared
    ]
    return [f"This reduced case was not compared with its original on {', '.join(others)}."] if others else []


def run_data(run: CaseRun | Matrix) -> dict[str, Any]:
    """A run with the trace of each search, or the verdicts on several systems, as a plain dictionary."""
    if isinstance(run, Matrix):
        return {
            "runs": [
                {"system": one.pipeline.name, "holds": one.holds, "says": [a.says for a in one.answers]}
                for one in run.runs
            ],
            "first_bad": run.first_bad.pipeline.name if run.first_bad else None,
            "first_good": run.first_good.pipeline.name if run.first_good else None,
        }
    return {
        "title": run.case.title,
        "system": run.pipeline.name,
        "holds": run.holds,
        "as_observed": run.as_observed,
        "known_bug": run.case.known_bug,
        "answers": [
            {
                "question": one.asked.question,
                "holds": one.holds,
                "says": one.says,
                "observed": one.observed.model_dump(),
                "trace": trace_data(one.trace),
            }
            for one in run.answers
        ],
    }


LARGEST_INSIDE = 30_000
"""Characters of a case that a Markdown report holds; an issue tracker takes about 65,000."""
BEST = 12
"""The most candidates of a question that a page shows."""

STYLE = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def _parts(run: CaseRun, matrix: Matrix | None) -> Iterator[tuple[str, Any]]:
    """What a report shows in each form, in order: the kind of a part, and its content."""
    yield "title", run.case.title or "A case without a title"
    if run.case.references:
        yield "text", f"Reported as {', '.join(run.case.references)}."
    if run.case.note:
        yield "text", run.case.note
    yield "system", run.pipeline.name
    for one in run.answers:
        yield "heading", one.asked.question
        yield "answer", one
        yield "why", explanation_text(one.explanation) if one.explanation else answer_text(one, run, one.says)
    if matrix:
        yield "heading", "Releases"
        yield "matrix", matrix_rows(matrix)
        yield "text", " ".join(matrix_lines(matrix))
    yield "case", case_text(run.case)


# Markdown


def case_markdown(run: CaseRun, matrix: Matrix | None = None) -> str:
    """A report as Markdown: what is expected, what happens, why, the releases, and the case itself.

    `run` is on the case's own system, and `matrix` on its releases, if it has any.
    """
    return "\n\n".join(_markdown(kind, shown) for kind, shown in _parts(run, matrix)) + "\n"


def _markdown(kind: str, shown: Any) -> str:
    match kind:
        case "title":
            return f"# {_plain(shown)}"
        case "heading":
            return f"## {_plain(shown)}"
        case "system":
            return f"System: `{one_line(shown).replace('`', '')}`"
        case "answer":
            return (
                f"- Expected: {_plain(shown.wanted)}.\n"
                f"- Observed: {_plain(observed_text(shown.observed))}.\n"
                f"- Verdict: the expectation {_verdict(shown.holds)}."
            )
        case "why":
            return _fenced(visible(shown))
        case "matrix":
            rows = [HEADS, ("---",) * len(HEADS), *(tuple(map(_plain, row)) for row in shown)]
            return "\n".join(f"| {' | '.join(row)} |" for row in rows)
        case "case" if len(shown) > LARGEST_INSIDE:
            return f"The case has {len(shown):,} characters; attach its file, or shrink it first."
        case "case":
            head = "The case: save it as NAME.case.yaml, and run it with pytest"
            return f"<details><summary>{head}</summary>\n\n{_fenced(shown, 'yaml')}\n\n</details>"
    return _plain(shown)


def _fenced(text: str, language: str = "") -> str:
    """The text in a fence that is longer than every run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    stripped = text.rstrip("\n")
    return f"{fence}{language}\n{stripped}\n{fence}"


MARKUP = re.compile(r"[\\`*_\[\]|#~@]|:(?=//|[\w+-]*[A-Za-z+-][\w+-]*:)")
"""Characters that begin markup, a mention, the address of a page, or the name of an emoji."""


def _plain(text: str) -> str:
    """A text of a case in one line of Markdown, in which nothing is markup, a link or a mention."""
    return MARKUP.sub(lambda found: f"&#{ord(found[0])};", escape(one_line(text), quote=False))


# HTML


def case_html(run: CaseRun, matrix: Matrix | None = None) -> str:
    """A report as one HTML page, without scripts, requests and outside parts."""
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_html(run.case.title or 'A case')}</title><style>\n{STYLE}</style></head><body>"
    )
    body = [_html_part(kind, shown) for kind, shown in _parts(run, matrix)]
    return "\n".join([head, *body, "</body></html>"]) + "\n"


def _html_part(kind: str, shown: Any) -> str:
    match kind:
        case "title":
            return f"<h1>{_html(shown)}</h1>"
        case "heading":
            return f"<h2>{_html(shown)}</h2>"
        case "system":
            return f"<p>System: <code>{_html(shown)}</code></p>"
        case "answer":
            verdict = _verdict(shown.holds)
            return (
                f"<p>Expected: {_html(shown.wanted)}.<br>\n"
                f"Observed: {_html(observed_text(shown.observed))}.<br>\n"
                f'<strong class="{verdict}">The expectation {verdict}.</strong></p>'
                + (framed(passage(shown.explanation)) if shown.explanation else "")
                + (framed(html_table(_best(shown))) if shown.trace.candidates else "")
            )
        case "why":
            return f"<pre>{escape(visible(shown))}</pre>"
        case "matrix":
            heads = "".join(f"<th>{one}</th>" for one in HEADS)
            rows = [
                f'<tr><td>{_html(name)}</td><td class="{verdict}">{verdict}</td><td>{_html(why)}</td></tr>'
                for name, verdict, why in shown
            ]
            return f"<table><tr>{heads}</tr>{''.join(rows)}</table>"
        case "case" if len(shown) > LARGEST_INSIDE:
            return ""
        case "case":
            return f"<details><summary>The case</summary><pre>{escape(visible(shown))}</pre></details>"
    return f"<p>{_html(shown)}</p>"


def _html(text: str) -> str:
    return escape(one_line(text))


def _best(one: Answered) -> Table:
    """The best candidates with their scores and fates, and the floor on these scores, if there is one."""
    best = one.trace.candidates[:BEST]
    floors = (stage for stage in one.trace.stages if isinstance(stage, MinScore))
    floor = next((f", floor {stage.floor:g}" for stage in floors if stage.of == one.trace.ranked_by), "")
    rows = [(found.chunk.place, f"{found.score:.3f}", fate_of(found).value) for found in best]
    return Table(f"The {counted(len(best), 'best candidate')}{floor}", ("candidate", "score", "fate"), rows)
