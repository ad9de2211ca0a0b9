"""Commands that search a memory: for one question, or for many labelled questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.app import (
    SAMPLE,
    AsJson,
    AskedFloor,
    AskedLimit,
    AskedReranker,
    AskedSystem,
    IndexFile,
    Memory,
    ReEmbed,
    Settings,
    SettingsOfMany,
    app,
    labelled,
    opened_index,
    pipeline_of,
    pipelines_of,
    relative,
    system_for,
    uncollected,
)
from workbench.cli.output import put, tell
from workbench.cli.saving import CaseOut, saved_as_case
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.contracts import Index
    from workbench.lab.cases.model import Case
    from workbench.records import Trace

HANDFUL = (
    "openclaw-2026.2.13",  # the bug report's release
    "openclaw-2026.2.13-vector-only",  # its work-around: is the keyword leg of any use?
    "openclaw-2026.2.13+or+rrf+minmax",  # its three fixes
    "openclaw-2026.2.13+or+rrf+minmax+evidence",  # the fixes with a threshold that can refuse
    "openclaw-2026.9.6",  # the newest release
    "bm-head",  # another design: whole notes
)
"""The systems that `evaluate` compares by default. Each differs from the others in kind."""


@app.command()
def search(
    question: Annotated[str, typer.Argument(help="The question.")],
    memory: Memory = SAMPLE,
    system: AskedSystem = None,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: Settings = None,
    rerank: AskedReranker = None,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    as_json: AsJson = False,
    case: CaseOut = None,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="With --case: the file that you expect in the answer."),
    ] = None,
) -> None:
    """Search a memory. Exit code 1 if nothing is returned."""
    from workbench.retrieval import pipeline
    from workbench.retrieval.query import check_question
    from workbench.views.data import trace_data

    if (case is None) != (target is None):
        raise InputError(
            "A search becomes a case with --case FILE and --target FILE.",
            "Give both or none; `workbench case new` has the other expectations.",
        )
    with uncollected():
        asked = pipeline_of(system_for(memory, system), limit, min_score, settings, rerank)
        cleaned = check_question(question)
        with opened_index(memory, index_file, re_embed) as opened, opened.snapshot():
            trace = pipeline.search(cleaned, asked, opened)
            saved_as_case(case, lambda: _case(trace, opened, relative(target or "", memory)))
        put(trace_data(trace) if as_json else trace, as_json)
    raise typer.Exit(0 if trace.results else 1)


def _case(trace: Trace, index: Index, target: str) -> Case:
    """Cases load much that a search does not need."""
    from workbench.lab.cases.intake.found import case_of_trace

    return case_of_trace(trace, index, target)


@app.command()
def explain(
    question: Annotated[str, typer.Argument(help="The question.")],
    target: Annotated[str, typer.Option("--target", "-t", help="The file that you expect in the answer.")],
    memory: Memory = SAMPLE,
    system: AskedSystem = None,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: Settings = None,
    rerank: AskedReranker = None,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    as_json: AsJson = False,
    case: CaseOut = None,
) -> None:
    """Explain why a file is in the answer or not. Exit code 1 if it is not."""
    from workbench.lab.questions import nearest
    from workbench.retrieval import explain as explaining
    from workbench.retrieval import pipeline
    from workbench.retrieval.query import check_question
    from workbench.views.data import explanation_data

    asked = pipeline_of(system_for(memory, system), limit, min_score, settings, rerank)
    cleaned = check_question(question)
    with opened_index(memory, index_file, re_embed) as opened, opened.snapshot():
        trace = pipeline.search(cleaned, asked, opened)
        explanation = explaining.explain(trace, opened, relative(target, memory))
        unknown = explanation.fate is explaining.Fate.NEVER_INDEXED
        near = nearest(explanation.target, opened.paths()) if unknown else None
        saved_as_case(case, lambda: _case(trace, opened, explanation.target))
    put(explanation_data(explanation) if as_json else explanation, as_json)
    if near and not as_json:
        put(f"The most similar path in the index is {near}.")
    raise typer.Exit(0 if explanation.fate is explaining.Fate.RETURNED else 1)


@app.command()
def evaluate(
    systems: Annotated[
        list[str] | None, typer.Option("--system", "-s", help="A system to run; can be repeated.")
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", "-q", readable=False, help="A YAML file of labelled questions."),
    ] = None,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: SettingsOfMany = None,
    rerank: AskedReranker = None,
    memory: Memory = SAMPLE,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    as_json: AsJson = False,
    every: Annotated[bool, typer.Option("--all", help="Run every system.")] = False,
    missed: Annotated[
        bool, typer.Option("--missed", help="List the missed questions and the fate of their files.")
    ] = False,
    reliable: Annotated[
        bool,
        typer.Option(
            "--reliability", help="For systems that state a probability of an answer: how true it is."
        ),
    ] = False,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            help="Measure, and compare with the first system, by hits, RR, nDCG@10, R@5, P@5, Judged@5, "
            "Success@5, … Can be repeated. Default: hits.",
        ),
    ] = None,
) -> None:
    """Run labelled questions: hits, MRR, and unanswerable questions for which nothing is returned.

    Without --system it runs a few systems that differ in kind. Each later system is compared with the first,
    question by question. With --rerank each system is followed by itself with the reranker. Below the tables
    stands what the numbers do not say. --json always lists the missed questions.
    """
    from workbench.lab.cached_index import CachedIndex
    from workbench.lab.checks.doubts import doubts
    from workbench.lab.checks.reliability import can_be_judged, reliability
    from workbench.lab.evaluation import evaluate as evaluate_all
    from workbench.lab.missed import evaluations_data, missed_questions
    from workbench.lab.paired import HITS, known_measure
    from workbench.lab.questions import check_targets
    from workbench.systems.registry import SYSTEMS
    from workbench.views.measuring.doubts import measures_table
    from workbench.views.missed import rendered_missed
    from workbench.views.paired import rendered_paired

    for measure in measures or ():
        known_measure(measure)
    compared = measures or [HITS]
    chosen = pipelines_of(SYSTEMS if every else systems or HANDFUL, limit, min_score, settings, rerank)
    asked = labelled(memory, questions)
    with opened_index(memory, index_file, re_embed) as opened, opened.snapshot():
        check_targets(asked, opened.paths())
        index = CachedIndex(opened)
        evaluations = evaluate_all(asked, chosen, index, measures or ())
        believed = [reliability(one) for one in evaluations if can_be_judged(one)] if reliable else []
        if reliable and not believed:
            reliability(evaluations[0])  # which says what is missing
        if as_json:
            rows = evaluations_data(evaluations, index, compared[0])
            told = {one.system: {"reliability": one.as_json()} for one in believed}
            put([row | told.get(row["system"], {}) for row in rows], as_json)
            return
        put(evaluations)
        if measures:
            put(measures_table(evaluations))
        for measure in compared if len(evaluations) > 1 else ():
            put(rendered_paired(evaluations, measure))
        found = doubts(evaluations, index, compared[0])
        if found:
            put("")
            put(found)
        for one in believed:
            put("")
            put(one)
        if missed:
            put(rendered_missed({one.pipeline.name: missed_questions(one, index) for one in evaluations}))
    if not (systems or every):
        tell(f"These are {len(HANDFUL)} of {len(SYSTEMS)} systems; --all runs every one.")


@app.command()
def compare(
    names: Annotated[list[str], typer.Argument(help="The names of two or more systems.")],
    question: Annotated[str, typer.Option("--question", "-q", help="The question.")],
    memory: Memory = SAMPLE,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: SettingsOfMany = None,
    rerank: AskedReranker = None,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    as_json: AsJson = False,
) -> None:
    """Search the same question with several systems, and show the answers side by side."""
    from workbench.retrieval import pipeline
    from workbench.retrieval.query import check_question
    from workbench.views.data import trace_data
    from workbench.views.systems import comparison_table

    cleaned = check_question(question)
    asked = pipelines_of(names, limit, min_score, settings, rerank)
    with opened_index(memory, index_file, re_embed) as opened:
        traces = [pipeline.search(cleaned, one, opened) for one in asked]
    put([trace_data(one) for one in traces] if as_json else comparison_table(traces), as_json)
