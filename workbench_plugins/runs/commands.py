"""Commands for the results of other engines: import, export, compare, lint, and blame for what is missing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.app import (
    SHIPPED,
    AsJson,
    AskedFloor,
    AskedLimit,
    AskedSystem,
    IndexFile,
    IndexOptions,
    ReEmbed,
    System,
    SystemOptions,
)
from workbench.cli.numbers import count
from workbench.cli.output import answer, print_error, print_output
from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.questions import check_targets, load_questions
from workbench.memory.store.sqlite.location import make_folder
from workbench.registry import has_feature
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.pipeline import caution
from workbench.safe_text import counted
from workbench.trust import is_named
from workbench_plugins.runs import comparing, linting
from workbench_plugins.runs.collections import read_collection, write_beir
from workbench_plugins.runs.recorder import run_of
from workbench_plugins.runs.reversed_runs import FEWEST_RESULTS, order_against_ours
from workbench_plugins.runs.run_files import (
    read_json,
    read_qrels,
    read_run,
    read_topics,
    write_json,
    write_qrels,
    write_run,
    write_topics,
)
from workbench_plugins.runs.runs import Run, Truth, ids_of, named_apart, truth_of_qrels, truth_of_questions
from workbench_plugins.runs.traces import TracedRuns, read_traces, write_runs

File = Annotated[Path, typer.Argument(readable=False, help="A run: TREC's form, or JSON lines.")]
Files = Annotated[list[Path] | None, typer.Argument(readable=False, help="Runs: TREC's form, or JSON lines.")]
IdField = Annotated[
    str | None, typer.Option("--id-field", help="Where a JSON result has its id, such as _source.path.")
]
QrelsFile = Annotated[
    Path | None, typer.Option("--qrels", readable=False, help="Which documents are right, in TREC's form.")
]
Labels = Annotated[
    Path | None,
    typer.Option("--questions", readable=False, help="Labelled questions (YAML), instead of --qrels."),
]
Topics = Annotated[
    Path | None,
    typer.Option("--topics", readable=False, help="With --qrels: the questions, as lines of id, tab, text."),
]
Systems = Annotated[
    list[str] | None, typer.Option("--system", "-s", help="A system of ours to run, too; can be repeated.")
]
Force = Annotated[bool, typer.Option("--force", help="Write over files that exist.")]
Cut = Annotated[
    int | None,
    typer.Option("--limit", parser=partial(count, "--limit"), help="Only so many first results count."),
]


@dataclass(frozen=True)
class TruthOptions:
    """Options that say which documents are right."""

    qrels: QrelsFile = None
    questions: Labels = None
    topics: Topics = None

    def truth(self) -> Truth:
        """The judgements, or the labels. Raises InputError unless one of them is given."""
        if (self.qrels is None) == (self.questions is None):
            raise InputError("Which documents are right?", "Give --qrels FILE, or --questions FILE.")
        if self.qrels is None:
            return truth_of_questions(load_questions(str(self.questions)))
        return truth_of_qrels(read_qrels(self.qrels), read_topics(self.topics) if self.topics else None)


@dataclass(frozen=True)
class RunOptions(IndexOptions):
    """The runs that a command looks at: files, and systems of ours that it runs."""

    files: Files = None
    systems: Systems = None
    limit: Cut = None
    id_field: IdField = None

    def read(self) -> list[Run]:
        """The runs in the files."""
        return [read_run(one, id_field=self.id_field) for one in self.files or ()]

    def ours(self, truth: Truth) -> list[Run]:
        """What our systems return for the questions. Raises InputError if their text is not known."""
        if not self.systems:
            return []
        every = (*truth.questions, *truth.unanswerable)
        asked = {one: truth.texts[one] for one in every if one in truth.texts}
        if not asked:
            raise InputError(
                "The text of the questions is not known, so no system can be asked.", "Add --topics FILE."
            )
        pipelines = [SystemOptions(self.limit).pipeline(one) for one in self.systems]
        with self.opened_for_each(pipelines) as indexes:
            pairs = list(zip(pipelines, indexes, strict=True))
            for told in dict.fromkeys(filter(None, (caution(*both) for both in pairs))):
                print_error(str(told))
            return [run_of(one, asked, index) for one, index in pairs]

    @contextmanager
    def opened_if_named(self) -> Iterator[Index | None]:
        """The index of the memory; None if none is named, since most runs have other documents."""
        if not is_named(self.memory):
            yield None
            return
        with self.opened() as index:  # its vectors alone are used, so no release's way of indexing matters
            yield CachedIndex(index)


def import_(
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", help="What to write: .jsonl, or .trec.")],
    name: Annotated[str | None, typer.Option(help="The name of the run.")] = None,
    id_field: IdField = None,
    force: Force = False,
) -> None:
    """Read a run of any known form, and write it as JSON lines or in TREC's form."""
    read = read_run(file, name, id_field)
    write_run(read, out, force)
    print_output(str(read))


def traces(
    where: Annotated[
        Path,
        typer.Argument(
            readable=False,
            help="A file or folder of JSON: spans of OTLP, Phoenix or Langfuse, or an agent's log over MCP.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write a run for each retriever into this folder.")
    ] = None,
    case: Annotated[
        Path | None, typer.Option("--case", help="Write a row as a case into this file: NAME.case.yaml.")
    ] = None,
    row: Annotated[
        int, typer.Option("--row", parser=partial(count, "--row"), help="With --case: the number of the row.")
    ] = 1,
    target: Annotated[
        str, typer.Option("--target", "-t", help="With --case: the document that should be in the answer.")
    ] = "",
    keyword: Annotated[
        str, typer.Option("--keyword", help="With --case: the retriever of the two that looks for words.")
    ] = "",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Read retrieval spans, or an agent's searches, as runs, and list those that look worst first.

    --case writes a row whose two retrievals were recorded, too: their lists, and the answer that they gave.
    Exit code 1 if a retrieval failed or returned nothing.
    """
    found = read_traces(where)
    if case is not None:
        _write_case(found, case, row, target, keyword, force)
        return
    if out is not None:
        make_folder(out)
        for file in write_runs(found, out, force):
            print_error(f"{file}")
    answer(found, as_json, yes=not any(one.failed or not one.results for one in found.retrievals))


def _write_case(found: TracedRuns, file: Path, row: int, target: str, keyword: str, force: bool) -> None:
    if not target:
        raise InputError("A case expects a document in the answer.", "Name it: --target DOCUMENT")
    if not has_feature("recorder"):
        raise InputError("A case of a trace needs the feature recorder.", "Install it, or leave out --case.")
    from workbench_plugins.cases.model import save_case
    from workbench_plugins.recorder.traced import case_of_row

    print_output(f"{save_case(case_of_row(found, row, target, keyword), file, force)}")
    print_error(f"Run it: workbench case run {shlex.quote(str(file))}")


def export(
    out: Annotated[Path, typer.Option("--out", "-o", help="The run to write: .jsonl, or .trec.")],
    questions: Annotated[Path, typer.Option("--questions", readable=False, help="The questions (YAML).")],
    where: IndexOptions,
    system: System = SHIPPED,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    qrels: Annotated[
        Path | None, typer.Option("--qrels", help="Write the labels here, in TREC's form.")
    ] = None,
    topics: Annotated[
        Path | None, typer.Option("--topics", help="Write the questions here: id, tab, text.")
    ] = None,
    force: Force = False,
) -> None:
    """Write what a system (by default openclaw-2026.2.13) returns as a run, with labels and questions."""
    asked = load_questions(questions)
    pipeline = SystemOptions(limit, min_score).pipeline(system)
    with where.opened_telling(pipeline) as opened:
        made = run_of(pipeline, ids_of(asked), opened)
    write_run(made, out, force)
    if qrels:
        write_qrels(truth_of_questions(asked).grades, qrels, force)
    if topics:
        write_topics(ids_of(asked), topics, force)
    print_output(str(made))


def compare(
    given: RunOptions,
    right: TruthOptions,
    measure: Annotated[
        str, typer.Option("--measure", help="What is compared: hits, RR, nDCG@10, …")
    ] = "hits",
    as_json: AsJson = False,
) -> None:
    """Compare runs question by question, also with systems of ours; each later one with the first.

    Exit code 1 if the questions cannot tell any two apart.
    """
    truth = right.truth()
    read = [*given.read(), *given.ours(truth)]
    if not read:
        raise InputError("There is no run to compare.", "Give run files, or --system NAME.")
    found = comparing.compare(named_apart(read), truth, measure, given.limit)
    differs = any(one.differs for one in found.verdicts) or not found.verdicts
    answer(found if as_json else found.view("--json lists all"), as_json, yes=differs)


def lint(
    given: RunOptions,
    questions: Labels = None,
    scale: Annotated[
        str | None, typer.Option("--scale", help="What scores should be within, such as 0:1.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find suspicious scores, ranks and ids in runs, also in those of our systems. Exit code 1 if any.

    With --questions, also a run without any right document, and with --memory too one that is upside down.
    What cannot be checked is said on stderr.
    """
    read, truth = given.read(), None
    if given.systems or questions is not None:
        truth = TruthOptions(questions=questions).truth()
        read += given.ours(truth)
    if not read:
        raise InputError("There is no run to look at.", "Give run files, or --system NAME --questions FILE.")
    found = [linting.lint(one, _scale(scale), given.limit) for one in read]
    if truth is not None:
        with given.opened_if_named() as index:
            for one in found:
                against = None if index is None else order_against_ours(one.run, truth, index)
                one.extend(linting.lint_labelled(one.run, truth, against))
                if index is not None and against is None:
                    print_error(
                        f"{one.run.name}: its order is not checked, since no question has {FEWEST_RESULTS} "
                        f"results that are files of {given.memory}."
                    )
    elif is_named(given.memory):
        print_error("The order is not checked: that takes the words of the questions. Add --questions FILE.")
    if as_json:
        print_output([one.as_json() for one in found], as_json)
    else:
        for one in found:
            print_output(one)
    raise typer.Exit(1 if any(found) else 0)


def _scale(given: str | None) -> tuple[float, float] | None:
    if given is None:
        return None
    low, colon, high = given.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = 1.0, 0.0
    if not colon or not ends[0] < ends[1]:
        raise InputError(f"{given!r} is not a scale.", "Give two numbers, the smaller first, such as 0:1.")
    return ends


def blame(
    file: File,
    right: TruthOptions,
    memory: Annotated[
        str | None,
        typer.Option("--memory", "-m", help="The same memory here: where are the documents in our legs?"),
    ] = None,
    system: Annotated[
        str, typer.Option("--system", "-s", help="With --memory: the system to ask.")
    ] = SHIPPED,
    limit: Cut = None,
    id_field: IdField = None,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    as_json: AsJson = False,
) -> None:
    """List the documents that a run should return and does not, and where openclaw-2026.2.13 has them.

    Exit code 1 if one is missing.
    """
    truth, run = right.truth(), read_run(file, id_field=id_field)
    if memory is None:
        found = comparing.missing_documents(run, truth, limit)
        print_error("With --memory FOLDER you also see where these documents stand in our legs.")
    else:
        pipeline = SystemOptions(limit).pipeline(system)
        with IndexOptions(memory, index_file, re_embed).opened_telling(pipeline) as opened:
            found = comparing.missing_documents(run, truth, limit, opened, pipeline)
    answer(found, as_json, yes=not found)


def convert(
    source: Annotated[Path, typer.Argument(readable=False, help="A test collection: a file or a folder.")],
    form: Annotated[str, typer.Option("--from", help="Its form: beir, trec, longmemeval or locomo.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The BEIR folder to write.")],
) -> None:
    """Write a test collection as a BEIR folder: corpus.jsonl, queries.jsonl and qrels/test.tsv."""
    collection = read_collection(source, form)
    write_beir(collection, out)
    asked = counted(len(collection.questions), "question")
    print_output(f"{out}: {counted(len(collection.documents), 'document')}, {asked}.")


def gate(
    where: IndexOptions,
    changes: SystemOptions,
    questions: Annotated[
        Path, typer.Option("--questions", "-q", readable=False, help="A YAML file of labelled questions.")
    ],
    against: Annotated[
        Path | None, typer.Option("--against", readable=False, help="The saved answers to compare with.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Write today's answers to this file, as JSON lines.")
    ] = None,
    system: AskedSystem = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Compare today's answers with saved ones, for the CI of a team: who flipped, and why.

    Exit code 1 if hits, RR or silence on unanswerable questions fall by more than the paired test allows for
    luck. Exit code 2 if a question or a file is gone.
    """
    if against is None and save is None:
        raise InputError("There is nothing to compare with.", "Give --against FILE, or first --save FILE.")
    saved = read_json(against) if against else None
    asked, pipeline = load_questions(questions), changes.pipeline(where.system(system))
    with where.opened_telling(pipeline) as opened, opened.snapshot():
        check_targets(asked, opened.paths())
        today = run_of(pipeline, ids_of(asked), opened)
        truth = truth_of_questions(asked)
        result = comparing.gate(saved, today, truth, opened, pipeline) if saved else None
    if save:
        write_json(today, save, force)
        print_error(
            f"Saved the answers of {pipeline.name} to {counted(len(today.rows), 'question')} as {save}."
        )
    if result:
        answer(result, as_json, yes=result.passes)
