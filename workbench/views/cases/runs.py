"""Runs of cases in words and tables, and as plain data for JSON."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType

from workbench.lab.cases.making import environment
from workbench.lab.cases.model import Case, Observed
from workbench.lab.cases.running import Answered, CaseRun, Matrix
from workbench.safe_text import counted
from workbench.views.console import PlainConsole, PlainTable, plain
from workbench.views.data import trace_data
from workbench.views.text import WIDTH, rendered, rendered_explanation, rendered_trace


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


@rendered.register
def rendered_matrix(matrix: Matrix) -> RenderableType:
    """One line per system with its verdict, and below the first bad and the first good one."""
    table = PlainTable()
    for head in ("system", "verdict", "what decides"):
        table.add_column(head, no_wrap=head == "verdict")
    for run in matrix.runs:
        table.add_row(run.pipeline.name, "holds" if run.holds else "fails", _deciding(run))
    return Group(table, *map(plain, matrix_lines(matrix)))


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
        return ["The case holds on each of these systems."]
    lines = [f"First bad: {bad.pipeline.name}."]
    lines.append(f"First good after it: {good.pipeline.name}." if good else "No later one is good.")
    later = matrix.runs[matrix.runs.index(good) + 1 :] if good else ()
    again = [one.pipeline.name for one in later if not one.holds]
    return lines + ([f"It fails again on {', '.join(again)}."] if again else [])


def case_run_data(run: CaseRun) -> dict[str, Any]:
    """A run as a plain dictionary, with the trace of each search."""
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


def matrix_data(matrix: Matrix) -> dict[str, Any]:
    """A matrix as a plain dictionary: the verdicts, the first bad and the first good system."""
    return {
        "runs": [
            {"system": one.pipeline.name, "holds": one.holds, "says": [a.says for a in one.answers]}
            for one in matrix.runs
        ],
        "first_bad": matrix.first_bad.pipeline.name if matrix.first_bad else None,
        "first_good": matrix.first_good.pipeline.name if matrix.first_good else None,
    }


def rendered_runs_of_files(runs: Sequence[tuple[str, CaseRun]]) -> PlainTable:
    """One line per case file: its verdict and what decides."""
    table = PlainTable("case", "system", "verdict", "what decides")
    for name, run in runs:
        table.add_row(name, run.pipeline.name, "holds" if run.holds else "fails", _deciding(run))
    return table
