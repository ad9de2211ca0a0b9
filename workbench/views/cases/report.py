"""A case as a report: Markdown for an issue tracker, and one HTML page with figures that needs no network.

All texts of a case are escaped. The page has no script, and its policy forbids scripts and requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from workbench.lab.cases.files import case_text
from workbench.lab.cases.model import Expected
from workbench.lab.cases.running import Answered, CaseRun, Matrix
from workbench.records import Candidate
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.explain import fate_of
from workbench.safe_text import one_line, visible
from workbench.views.cases.runs import answer_text, matrix_lines, observed_text
from workbench.views.text import explanation_text

LARGEST_INSIDE = 30_000
"""Characters of a case that a Markdown report holds; an issue tracker takes about 65,000."""
BARS = 12
BAR, GAP, LEFT, WIDTH = 18, 6, 300, 940
LABEL = 310
"""Pixels to the right of the longest bar: room for its score and for the longest fate."""

STYLE = """
:root { color-scheme: light dark; --bad: #b3261e; --good: #1b6e3c; --dim: #6b6b6b; --line: #8888; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --good: #7bd89a; --dim: #a0a0a0; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
pre { border: 1px solid var(--line); padding: 1rem; }
table { border-collapse: collapse; }
td, th { text-align: left; padding: .2rem 1rem .2rem 0; vertical-align: top; }
.bad { color: var(--bad); } .good { color: var(--good); } svg { max-width: 100%; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
svg .returned { fill: var(--good); } svg .dropped { fill: var(--dim); } svg .deciding { fill: var(--bad); }
svg line { stroke: currentColor; stroke-dasharray: 4 3; }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True)
class CaseReport:
    """What a report shows: a run on the case's own system, and one on its releases, if it has any."""

    run: CaseRun
    matrix: Matrix | None = None

    @property
    def title(self) -> str:
        return one_line(self.run.case.title or "A case without a title")


def expected_text(expected: Expected) -> str:
    """What is expected, in a sentence."""
    within = f" among the first {expected.within} files" if expected.within else ""
    if expected.found is not None:
        return f"{expected.found} is returned{within}"
    if expected.not_found is not None:
        return f"{expected.not_found} is not returned"
    if expected.order is not None:
        return f"{', '.join(expected.order)} are returned in this order"
    if expected.same_as is not None:
        what = "the answer, with its scores, is" if expected.scores else "the answer is"
        return f"{what} that of {expected.same_as.called}{within}"
    return "nothing is returned"


# Markdown


def case_markdown(report: CaseReport) -> str:
    """The report as Markdown: what is expected, what happens, why, the releases, and the case itself."""
    run = report.run
    lines = [f"# {_plain(report.title)}", ""]
    if run.case.references:
        lines += [f"Reported as {', '.join(map(_plain, run.case.references))}.", ""]
    if run.case.note:
        lines += [_plain(run.case.note), ""]
    lines += [f"System: {_code(run.pipeline.name)}", ""]
    for one in run.answers:
        lines += list(_markdown_answer(one, run))
    if report.matrix:
        lines += ["## Releases", "", "| release | verdict | what decides |", "|---|---|---|"]
        lines += [
            f"| {_plain(one.pipeline.name)} | {_verdict(one.holds)} | {_plain(one.answers[0].says)} |"
            for one in report.matrix.runs
        ]
        lines += ["", " ".join(map(_plain, matrix_lines(report.matrix))), ""]
    return "\n".join([*lines, *_markdown_case(run)]) + "\n"


def _markdown_answer(one: Answered, run: CaseRun) -> Iterator[str]:
    yield from (f"## {_plain(one.asked.question)}", "")
    yield f"- Expected: {_plain(expected_text(one.asked.expect))}."
    yield f"- Observed: {_plain(observed_text(one.observed))}."
    yield f"- Verdict: the expectation {_verdict(one.holds)}."
    yield from ("", *_fenced(_why(one, run)), "")


def _why(one: Answered, run: CaseRun) -> str:
    if one.explanation is not None:
        return visible(explanation_text(one.explanation))
    return answer_text(one, run, one.says)


def _verdict(holds: bool) -> str:
    return "holds" if holds else "fails"


def _markdown_case(run: CaseRun) -> list[str]:
    text = case_text(run.case)
    if len(text) > LARGEST_INSIDE:
        return [f"The case has {len(text):,} characters; attach its file, or shrink it first."]
    head = ["<details><summary>The case: save it as NAME.case.yaml, and run it with pytest</summary>", ""]
    return [*head, *_fenced(text, "yaml"), "", "</details>"]


def _fenced(text: str, language: str = "") -> list[str]:
    """The text in a fence that is longer than every run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", text.rstrip("\n"), fence]


def _plain(text: str) -> str:
    """A text of a case in one line of Markdown, in which nothing is markup, a link or a mention."""
    return re.sub(
        r"([\\`*_\[\]|#~@:])", lambda found: f"&#{ord(found[0])};", escape(one_line(text), quote=False)
    )


def _code(text: str) -> str:
    return f"`{one_line(text).replace('`', '')}`"


# HTML


def case_html(report: CaseReport) -> str:
    """The report as one HTML page, without scripts, requests and outside parts."""
    run = report.run
    body = [f"<h1>{_html(report.title)}</h1>"]
    if run.case.references:
        body.append(f"<p>Reported as {_html(', '.join(run.case.references))}.</p>")
    body += [f"<p>{_html(run.case.note)}</p>"] if run.case.note else []
    body.append(f"<p>System: <code>{_html(run.pipeline.name)}</code></p>")
    for one in run.answers:
        body += list(_html_answer(one, run))
    if report.matrix:
        body += list(_html_matrix(report.matrix))
    text = case_text(run.case)
    if len(text) <= LARGEST_INSIDE:
        body.append(f"<details><summary>The case</summary><pre>{escape(visible(text))}</pre></details>")
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_html(report.title)}</title><style>{STYLE}</style></head><body>"
    )
    return "\n".join([head, *body, "</body></html>"]) + "\n"


def _html(text: str) -> str:
    return escape(one_line(text))


def _html_answer(one: Answered, run: CaseRun) -> Iterator[str]:
    kind = "good" if one.holds else "bad"
    yield f"<h2>{_html(one.asked.question)}</h2>"
    yield f"<p>Expected: {_html(expected_text(one.asked.expect))}.<br>"
    yield f"Observed: {_html(observed_text(one.observed))}.<br>"
    yield f'<strong class="{kind}">The expectation {_verdict(one.holds)}.</strong></p>'
    if one.trace.candidates:
        yield _score_figure(one, run)
    yield f"<pre>{escape(visible(_why(one, run)))}</pre>"


def _score_figure(one: Answered, run: CaseRun) -> str:
    """The best candidates as bars, the floor as a line; the file that decides has a colour of its own."""
    best = one.trace.candidates[:BARS]
    floor = next((stage.floor for stage in one.trace.stages if isinstance(stage, MinScore)), None)
    top = max([*(abs(found.score) for found in best), abs(floor or 0), 1e-9])
    scale = (WIDTH - LEFT - LABEL) / top
    rows = [_bar(found, place, scale, one) for place, found in enumerate(best)]
    height = len(best) * (BAR + GAP) + 24
    if floor is not None and floor > 0:
        x = LEFT + floor * scale
        rows.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - 20}"/>')
        rows.append(f'<text x="{x:.1f}" y="{height - 6}" text-anchor="middle">floor {floor:g}</text>')
    says = f"Scores of the {len(best)} best candidates on {run.pipeline.name}"
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
        f"<title>{_html(says)}</title>{''.join(rows)}</svg>"
    )


def _bar(found: Candidate, place: int, scale: float, one: Answered) -> str:
    y = place * (BAR + GAP)
    target = one.explanation.target if one.explanation else ""
    kind = "returned" if found.drop is None else "deciding" if found.chunk.path == target else "dropped"
    wide = max(0.0, found.score * scale)
    name = found.chunk.place if len(found.chunk.place) <= 44 else f"…{found.chunk.place[-43:]}"
    return (
        f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{_html(name)}</text>'
        f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{wide:.1f}" height="{BAR}"/>'
        f'<text x="{LEFT + wide + 6:.1f}" y="{y + 13}">{found.score:.3f} '
        f"{_html(fate_of(found).value)}</text>"
    )


def _html_matrix(matrix: Matrix) -> Iterator[str]:
    yield "<h2>Releases</h2><table><tr><th>release</th><th>verdict</th><th>what decides</th></tr>"
    for run in matrix.runs:
        kind = "good" if run.holds else "bad"
        yield (
            f'<tr><td>{_html(run.pipeline.name)}</td><td class="{kind}">{_verdict(run.holds)}</td>'
            f"<td>{_html(run.answers[0].says)}</td></tr>"
        )
    yield f"</table><p>{_html(' '.join(matrix_lines(matrix)))}</p>"
