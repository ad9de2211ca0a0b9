"""Reports of a case: Markdown for an issue tracker, and one HTML page with figures.

All texts of a case are escaped in a report, and secrets in them are left out. The page needs no network and
has no script, and its policy forbids scripts and requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from workbench.masking import MASK, masked, secret_spans
from workbench.retrieval.cutoff import MinScore
from workbench.safe_text import counted, one_line, visible
from workbench.tables import (
    Table,
    framed,
    html_of,
    html_table,
    markdown_block,
    markdown_line,
    markdown_table,
    masked_parts,
    masked_table,
)
from workbench.terminal import text_of
from workbench_plugins.cases.case_results import (
    Answered,
    CaseRun,
    Matrix,
    differing_versions,
    observed_text,
    verdict_text,
)
from workbench_plugins.cases.model import case_text


def answer_text(one: Answered, run: CaseRun, problem: str) -> str:
    """An answer as plain text for a test report: the problem, the verdict, and why."""
    versions = [] if one.as_observed else differing_versions(run.case)
    name = f"{run.case.title or 'a case'} on {run.pipeline.name}"
    return text_of([*masked_parts([problem, *versions, name]), *one.view()])


LARGEST_INSIDE = 30_000
"""Characters of a case that a Markdown report holds; an issue tracker takes about 65,000."""
BEST = 12
"""The most candidates of a question that a page shows."""

STYLE = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def _parts(run: CaseRun, matrix: Matrix | None) -> Iterator[tuple[str, Any]]:
    """What a report shows in each form, in order: the kind of a part, and its content without secrets."""
    for kind, shown in _told(run, matrix):
        yield kind, run.mask(shown) if isinstance(shown, str) else shown


def _told(run: CaseRun, matrix: Matrix | None) -> Iterator[tuple[str, Any]]:
    yield "title", run.case.title or "A case without a title"
    if run.case.references:
        yield "text", f"Reported as {', '.join(run.case.references)}."
    if run.case.note:
        yield "text", run.case.note
    yield "system", run.pipeline.name
    for one in run.answers:
        yield "heading", one.asked.question
        yield "answer", one
        yield "why", one.explanation.text() if one.explanation else answer_text(one, run, one.description)
    if matrix:
        yield "heading", "Releases"
        yield "matrix", masked_table(matrix.verdicts_table(), run.mask)
        yield "text", " ".join(matrix.lines())
    case = case_text(run.case)
    yield "case", case
    if len(case) <= LARGEST_INSIDE and (secrets := len(secret_spans(case))):  # a larger one is not shown
        yield "text", f"In the case, “{MASK}” stands for {counted(secrets, 'secret')}."


# Markdown


def case_markdown(run: CaseRun, matrix: Matrix | None = None) -> str:
    """A report as Markdown: what is expected, what happens, why, the releases, and the case itself.

    `run` is on the case's own system, and `matrix` on its releases, if it has any.
    """
    return "\n\n".join(_markdown(kind, shown) for kind, shown in _parts(run, matrix)) + "\n"


def _markdown(kind: str, shown: Any) -> str:
    match kind:
        case "title":
            return f"# {markdown_line(shown)}"
        case "heading":
            return f"## {markdown_line(shown)}"
        case "system":
            return f"System: `{one_line(shown).replace('`', '')}`"
        case "answer":
            return (
                f"- Expected: {markdown_line(masked(shown.wanted))}.\n"
                f"- Observed: {markdown_line(masked(observed_text(shown.observed)))}.\n"
                f"- Verdict: the expectation {verdict_text(shown.holds)}."
            )
        case "why":
            return markdown_block(visible(shown))
        case "matrix":
            return markdown_table(shown)
        case "case" if len(shown) > LARGEST_INSIDE:
            return f"The case has {len(shown):,} characters; attach its file, or shrink it first."
        case "case":
            head = "The case: save it as NAME.case.yaml, and run it with pytest"
            return f"<details><summary>{head}</summary>\n\n{markdown_block(shown, 'yaml')}\n\n</details>"
    return markdown_line(shown)


# HTML


def case_html(run: CaseRun, matrix: Matrix | None = None) -> str:
    """A report as one HTML page, without scripts, requests and outside parts."""
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_html(masked(run.case.title or 'A case'))}</title><style>\n{STYLE}</style></head><body>"
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
            verdict = verdict_text(shown.holds)
            return (
                f"<p>Expected: {_html(masked(shown.wanted))}.<br>\n"
                f"Observed: {_html(masked(observed_text(shown.observed)))}.<br>\n"
                f'<strong class="{verdict}">The expectation {verdict}.</strong></p>'
                + (framed(html_of(masked_parts([shown.explanation.picture()]))) if shown.explanation else "")
                + (framed(html_table(masked_table(_best(shown)))) if shown.trace.candidates else "")
            )
        case "why":
            return f"<pre>{escape(visible(shown))}</pre>"
        case "matrix":
            heads = "".join(f"<th>{one}</th>" for one in shown.header)
            rows = [
                f'<tr><td>{_html(name)}</td><td class="{verdict}">{verdict}</td><td>{_html(why)}</td></tr>'
                for name, verdict, why in shown.rows
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
    rows = [(found.chunk.location, f"{found.score:.3f}", found.fate.value) for found in best]
    return Table(f"The {counted(len(best), 'best candidate')}{floor}", ("candidate", "score", "fate"), rows)
