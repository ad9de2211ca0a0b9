"""The commands that search a memory, for one question or many, and those that list and compare systems."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.app import (
    SHIPPED,
    AsJson,
    AskedSystem,
    CaseOut,
    Details,
    IndexOptions,
    Question,
    QuestionsFile,
    RerankOptions,
    SystemOptions,
    labelled,
)
from workbench.cli.output import answer, print_error, print_output
from workbench.errors import InputError
from workbench.registry import has_feature
from workbench.safe_text import counted, one_line
from workbench.tables import ABSENT, Block, Column, Part, Table, numbers

if TYPE_CHECKING:
    from workbench.measure.questions import QuestionSet
    from workbench.memory.index import OpenIndex
    from workbench.records import Candidate, Trace
    from workbench.retrieval.index_adapters import CachedIndex
    from workbench.retrieval.pipeline import Pipeline

DEFAULT_COMPARISON = (
    "openclaw-2026.2.13",  # the bug report's release
    "openclaw-2026.2.13-vector-only",  # its work-around: is the keyword leg of any use?
    "openclaw-2026.2.13+or+rrf+minmax",  # its three fixes
    "openclaw-2026.2.13+or+rrf+minmax+evidence",  # the fixes with a threshold that can refuse
    "bm-head",
    "openclaw-2026.9.6",
)
"""What `evaluate` compares with the default system, where it is installed: each differs in kind."""


def search(
    question: Question,
    where: IndexOptions,
    changes: RerankOptions,
    system: AskedSystem = None,
    numbers: Annotated[
        bool, typer.Option("--numbers", help="Print a table of the numbers of each leg, not the texts.")
    ] = False,
    details: Details = False,
    as_json: AsJson = False,
    case: CaseOut = None,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="With --case: the file that you expect in the answer."),
    ] = None,
) -> None:
    """Search a memory. Exit code 1 if nothing is returned.

    --numbers prints a table of scores and ranks, and --details the answer, the table and all candidates.
    """
    from workbench.retrieval import pipeline
    from workbench.retrieval.query import check_question

    if (case is None) != (target is None):
        raise InputError(
            "A search becomes a case with --case FILE and --target FILE.",
            "Give both or none; `workbench case new` has the other expectations.",
        )
    asked = changes.pipeline(where.system(system))
    cleaned = check_question(question)
    with where.opened(asked) as opened, opened.snapshot():
        trace = pipeline.search(cleaned, asked, opened)
        if case is not None:
            from workbench_plugins.cases.commands import save_trace

            save_trace(case, trace, opened, where.relative(target or ""))
        remark_on_question(trace, asked, opened)
    shown = trace.numbers() if numbers and not as_json else trace
    answer(shown, as_json, yes=trace.results, details=details)


LONG = 40
"""A question of so many words is asked about even if something is returned."""


def remark_on_question(trace: Trace, asked: Pipeline, index: OpenIndex, target: str = "") -> None:
    """Prints on stderr what is wrong with the question, if its answer is poor or lacks the target.

    Without a target, an answer is poor if no result has any of the question's words of content, and the first
    one no identifier of it, such as a date.
    """
    from workbench.retrieval.query import unicode_words
    from workbench.stop_words import content_words

    words = {one.lower() for one in content_words(unicode_words(trace.question))}
    found = {word.lower() for one in trace.results for word in unicode_words(one.chunk.text)}
    named = any(one.numbers.get("identifier_score") for one in trace.results[:1])
    if not target and (words & found or named) and len(trace.question.split()) < LONG:
        return
    if not has_feature("diagnose"):
        return
    from workbench_plugins.diagnose.asked import Asked
    from workbench_plugins.diagnose.question_causes import remarks

    first = trace.paths()[:1]

    def works(other: Trace) -> bool:
        return target in other.paths() if target else other.paths()[:1] not in ([], first)

    outcome = f"brings {target}" if target else "brings another file first"
    for remark in remarks(Asked(trace.question, asked, index, works, outcome, wanted=target)):
        print_error(remark)


def explain(
    question: Question,
    target: Annotated[str, typer.Option("--target", "-t", help="The file that you expect in the answer.")],
    where: IndexOptions,
    changes: RerankOptions,
    system: AskedSystem = None,
    details: Details = False,
    as_json: AsJson = False,
    case: CaseOut = None,
) -> None:
    """Explain why a file is in the answer or not. Exit code 1 if it is not."""
    from dataclasses import replace

    from workbench.cli.elsewhere import nowhere, outside, path_in, waiting
    from workbench.records import Fate
    from workbench.retrieval import explain as explaining
    from workbench.retrieval import pipeline
    from workbench.retrieval.query import check_question

    searched = check_question(question), changes.pipeline(where.system(system))
    path = where.relative(target)
    with where.opened(searched[1], about=path) as opened, opened.snapshot():
        path = path_in(opened, where.memory, path)
        is_asked = case is not None or bool(opened.rows_of(path).size)  # else no model needs to be loaded
        trace = pipeline.search(*searched, opened, last=None if is_asked else 0)
        explanation = explaining.explain(trace, opened, path)
        if has_feature("doctor"):
            from workbench_plugins.doctor.faults import remarks_on_file

            said = {"not indexed"} if explanation.unread else set()
            if path in opened.changed():
                said = {"stale", "not indexed"}
            for remark in remarks_on_file(opened, path, without=said):
                print_error(remark)
        paths: Collection[str] = ()
        if not explanation.verdicts and not explanation.unread:
            there = str(outside(path, where.memory, opened) or "") or waiting(path, opened)
            paths = () if there else opened.paths()
            explanation = replace(explanation, unread=there or one_line(nowhere(path, opened)))
        if explanation.verdicts and explanation.fate is not Fate.RETURNED:
            remark_on_question(trace, searched[1], opened, explanation.target)
        if case is not None:
            from workbench_plugins.cases.commands import save_trace

            save_trace(case, trace, opened, explanation.target)
    print_output(explanation, as_json, details)
    if paths and not as_json:
        from workbench.measure.questions import nearest

        if near := nearest(explanation.target, paths):
            print_output(f"The most similar path in the index is {near}.")
    raise typer.Exit(0 if explanation.fate is Fate.RETURNED else 1)


def evaluate(
    where: IndexOptions,
    changes: RerankOptions,
    systems: Annotated[
        list[str] | None, typer.Option("--system", "-s", help="A system to run; can be repeated.")
    ] = None,
    questions: QuestionsFile = None,
    as_json: AsJson = False,
    every: Annotated[bool, typer.Option("--all", help="Run every system.")] = False,
    missed: Annotated[
        bool, typer.Option("--missed", help="List the missed questions and the fate of their files.")
    ] = False,
    by_stage: Annotated[
        bool,
        typer.Option("--by-stage", help="For each system: how many right files each of its stages lost."),
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
    details: Details = False,
) -> None:
    """Run labelled questions: hits, MRR, and unanswerable questions for which nothing is returned.

    Without --system it runs the default and a few others. Each later system is compared with the first one,
    question by question. With --rerank each system is followed by itself with the reranker. --details prints
    every figure, each comparison as a sentence, and each warning. --json always lists the missed questions.
    --by-stage shows where right files are lost, with the first question that each stage lost; with --json it
    lists all of them.
    """
    from workbench.measure.checks import warnings_about
    from workbench.measure.evaluation import evaluate_each
    from workbench.measure.evaluation_view import EvaluationAnswer
    from workbench.measure.losses import losses_by_stage
    from workbench.measure.measures import HITS, known_measure
    from workbench.measure.missed import evaluations_data, missed_questions
    from workbench.measure.reliability import judged
    from workbench.systems.catalogue import SYSTEMS

    for measure in measures or ():
        known_measure(measure)
    compared = measures or [HITS]
    others = [name for name in DEFAULT_COMPARISON if name in SYSTEMS]
    usual = dict.fromkeys([where.system(None), *others])
    chosen = changes.pipelines(SYSTEMS if every else systems or usual)
    asked = labelled(where.memory, questions)
    with where.opened_for_each(chosen) as indexes:
        index = indexes[0]
        check_targets_of_first(asked, chosen, indexes)
        evaluations = evaluate_each(asked, chosen, indexes, measures or ())
        believed = judged(evaluations) if reliable else []
        losses = list(map(losses_by_stage, evaluations, indexes)) if by_stage else []
        if as_json:
            rows = evaluations_data(evaluations, index, compared[0])
            by_system = {one.system: {"reliability": one.as_json()} for one in believed}
            staged = {one.system: {"by_stage": one.as_json()} for one in losses}
            print_output(
                [row | by_system.get(row["system"], {}) | staged.get(row["system"], {}) for row in rows],
                as_json,
            )
            return
        warned = warnings_about(evaluations, index, compared[0])
        print_output(EvaluationAnswer(evaluations, warned, compared, details), details=details)
        for reliability in believed:
            print_output("")
            print_output(reliability)
        for lost in losses:
            print_output(lost)
        for both in zip(evaluations, indexes, strict=True) if missed else ():
            print_output(missed_questions(*both))
    if not (systems or every):
        print_error(f"These are {len(chosen)} of {len(SYSTEMS)} systems; --all runs every one.")


def check_targets_of_first(
    questions: QuestionSet, systems: Sequence[Pipeline], indexes: Sequence[CachedIndex]
) -> None:
    """Raises InputError for a target that the first system's index lacks; it names another that has it."""
    from workbench.measure.questions import check_targets
    from workbench.memory.index import MemoryIndex
    from workbench.retrieval.index_adapters import innermost

    first, known = innermost(indexes[0]), set(indexes[0].paths())
    for target in questions.targets:
        if target in known or not isinstance(first, MemoryIndex):
            continue
        for other, index in zip(systems, indexes, strict=True):
            if target in index.paths():
                remedy = first.remedy_for_absent(target)
                raise InputError(
                    f"The target {target} is not in the index in which {systems[0].name} is searched "
                    f"({first.name}). The index in which {other.name} is searched has it ({index.name}).",
                    f"{remedy}\n  Or evaluate {other.name} without {systems[0].name}: -s {other.name}",
                )
    check_targets(questions, known)


def compare(
    where: IndexOptions,
    changes: RerankOptions,
    question: Annotated[str, typer.Option("--question", "-q", help="The question.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(help="The names of systems. Default: the default system and openclaw-2026.2.13."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search the same question with several systems, and show the answers side by side."""
    from workbench.retrieval import pipeline
    from workbench.retrieval.query import check_question

    cleaned = check_question(question)
    asked = changes.pipelines(names or dict.fromkeys([where.system(None), SHIPPED]))
    with where.opened_for_each(asked) as indexes:
        traces = [pipeline.search(cleaned, *both) for both in zip(asked, indexes, strict=True)]
    print_output([one.as_json() for one in traces] if as_json else comparison_view(traces), as_json)


SHOWN = 10
"""The number of results that a comparison shows of each answer."""


def comparison_view(traces: Sequence[Trace]) -> list[Part]:
    """The answers to the same question, with one column per system."""
    results = [trace.results for trace in traces]
    ranks = range(1, min(SHOWN, max(map(len, results), default=0)) + 1)
    rows = [(str(rank), *(_cell(some, rank) for some in results)) for rank in ranks]
    table = Table("", [*numbers("#"), *(one_line(trace.system) for trace in traces)], rows)
    empty = (
        f"{trace.system}: nothing returned, of {counted(len(trace.chunks), 'candidate')}"
        for trace in traces
        if not trace.results
    )
    cautions = [part for trace in traces for part in trace.cautions]
    shared = Block(_shared(traces), style="bold")
    return [*cautions, shared, f"“{traces[0].question}”" if traces else "", table, *empty]


def _shared(traces: Sequence[Trace]) -> str:
    """How much the answers have in common, in a sentence: their first file, and the files of all of them."""
    paths = [trace.paths() for trace in traces]
    silent = [trace.system for trace, some in zip(traces, paths, strict=True) if not some]
    if silent or not paths:
        return f"Nothing returned by {', '.join(silent)}."
    if len(traces) == 1:
        return f"Only {traces[0].system} was asked. Name another system to compare it with."
    every = set(paths[0]).intersection(*paths[1:])
    same = "The same file is first" if len({some[0] for some in paths}) == 1 else "Different files are first"
    return f"{same}; {counted(len(every), 'file')} in every answer."


def _cell(results: Sequence[Candidate], rank: int) -> str:
    if rank > len(results):
        return ABSENT
    found = results[rank - 1]
    return f"{found.score:.3f} {found.chunk.location}"


SystemName = Annotated[str, typer.Argument(help="The name of a system.")]


def systems_table(pipelines: Sequence[Pipeline]) -> Table:
    """One line per system: its name, its source, and its changes."""
    rows = [
        (
            one.name,
            " ".join(filter(None, (one.source.repository, one.source.release, one.source.issue))),
            ", ".join(change.name for change in one.changes) or ABSENT,
        )
        for one in pipelines
    ]
    return Table("", (Column("system", "whole"), "source", "changes"), rows)


def tell_of(asked: list[Pipeline], as_json: bool) -> None:
    """Prints all systems, one with its stages, or the differences between two. Raises InputError for more."""
    from workbench.systems.catalogue import every_system

    match asked:
        case []:
            known = every_system()
            print_output([one.as_json() for one in known] if as_json else systems_table(known), as_json)
        case [one]:
            print_output(one, as_json)
        case [before, after]:
            found = before.diff(after)
            answer(found if as_json else str(found), as_json, yes=found)
        case more:
            raise InputError(
                f"These are {len(more)} systems.", "Name one to show it, or two to compare them."
            )


def systems(
    names: Annotated[
        list[str] | None, typer.Argument(help="One system to show, or two to compare. Default: list all.")
    ] = None,
    *,
    changes: SystemOptions,
    as_json: AsJson = False,
) -> None:
    """List all systems, show one with its stages, or show the differences between two.

    Exit code 1 if two have no differences.
    """
    tell_of(changes.pipelines(names or ()), as_json)


def show(name: SystemName, changes: SystemOptions, as_json: AsJson = False) -> None:
    """Show a system: its stages in order, its changes and its source. The new name: systems NAME."""
    tell_of([changes.pipeline(name)], as_json)


def diff(before: SystemName, after: SystemName, as_json: AsJson = False) -> None:
    """Show the differences between two systems. Exit code 1 if there are none. The new name: systems A B."""
    tell_of(SystemOptions().pipelines([before, after]), as_json)
