"""Commands for the results of other engines: import, export, compare, lint, and blame for what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.app import (
    SAMPLE,
    SHIPPED,
    AsJson,
    AskedFloor,
    AskedLimit,
    IndexFile,
    Memory,
    ReEmbed,
    app,
    opened_index,
    pipeline_of,
)
from workbench.cli.output import put, tell
from workbench.errors import InputError
from workbench.safe_text import counted

if TYPE_CHECKING:
    from workbench.lab.exchange.runs import Run
    from workbench.lab.exchange.truth import Truth

runs = typer.Typer(
    help="Runs: the results of other engines, beside ours.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(runs, name="runs")

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
Cut = Annotated[int | None, typer.Option("--limit", min=1, help="Only so many first results count.")]


@runs.command("import")
def import_(
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", help="What to write: .jsonl, or .trec.")],
    name: Annotated[str | None, typer.Option(help="The name of the run.")] = None,
    id_field: IdField = None,
) -> None:
    """Read a run of any known form, and write it as JSON lines or in TREC's form."""
    from workbench.lab.exchange.json_runs import read_run

    read = read_run(file, name, id_field)
    _write(read, out)
    put(str(read))


@runs.command("export")
def export(
    out: Annotated[Path, typer.Option("--out", "-o", help="The run to write: .jsonl, or .trec.")],
    questions: Annotated[Path, typer.Option("--questions", readable=False, help="The questions (YAML).")],
    memory: Memory = SAMPLE,
    system: Annotated[str, typer.Option("--system", "-s", help="The system to run.")] = SHIPPED,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    qrels: Annotated[
        Path | None, typer.Option("--qrels", help="Write the labels here, in TREC's form.")
    ] = None,
    topics: Annotated[
        Path | None, typer.Option("--topics", help="Write the questions here: id, tab, text.")
    ] = None,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
) -> None:
    """Write what a system of ours returns as a run, with the labels and the questions for another engine."""
    from workbench.lab.exchange.ours import run_of
    from workbench.lab.exchange.trec import write_qrels
    from workbench.lab.exchange.truth import ids_of, truth_of_questions
    from workbench.lab.questions import load_questions

    asked = load_questions(questions)
    pipeline = pipeline_of(system, limit, min_score, None)
    with opened_index(memory, index_file, re_embed) as opened:
        made = run_of(pipeline, ids_of(asked), opened)
    _write(made, out)
    if qrels:
        write_qrels(truth_of_questions(asked).grades, qrels)
    if topics:
        told = "".join(f"{id_}\t{' '.join(text.split())}\n" for id_, text in ids_of(asked).items())
        topics.write_text(told, encoding="utf-8")
    put(str(made))


def _write(run: Run, out: Path) -> None:
    from workbench.lab.exchange.json_runs import write_json
    from workbench.lab.exchange.trec import write_trec

    if out.suffix not in (".jsonl", ".json", ".trec", ".txt", ".run"):
        raise InputError(f"{out} has an unknown ending.", "Use .jsonl for JSON lines, .trec for TREC's form.")
    try:
        (write_json if out.suffix in (".jsonl", ".json") else write_trec)(run, out)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}.", "Check the path.") from None


@runs.command("compare")
def compare(
    files: Files = None,
    qrels: QrelsFile = None,
    questions: Labels = None,
    topics: Topics = None,
    systems: Systems = None,
    memory: Memory = SAMPLE,
    measure: Annotated[
        str, typer.Option("--measure", help="What is compared: hits, RR, nDCG@10, …")
    ] = "hits",
    limit: Cut = None,
    id_field: IdField = None,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    as_json: AsJson = False,
) -> None:
    """Compare runs question by question, also with systems of ours; each later one with the first.

    Exit code 1 if the questions cannot tell any two apart.
    """
    from workbench.lab.exchange.comparing import compare as compared
    from workbench.lab.exchange.json_runs import read_run
    from workbench.lab.exchange.runs import named_apart
    from workbench.views.measuring.exchange import rendered_comparison

    truth = _truth(qrels, questions, topics)
    read = [read_run(one, id_field=id_field) for one in files or ()]
    read += _ours(systems or [], truth, memory, limit, index_file, re_embed)
    if not read:
        raise InputError("There is no run to compare.", "Give run files, or --system NAME.")
    found = compared(named_apart(read), truth, measure, limit)
    put(found.as_json() if as_json else rendered_comparison(found, "--json lists all"), as_json)
    raise typer.Exit(0 if any(one.differs for one in found.verdicts) or not found.verdicts else 1)


def _ours(
    systems: list[str], truth: Truth, memory: str, limit: int | None, index_file: Path | None, re_embed: bool
) -> list[Run]:
    from workbench.lab.cached_index import CachedIndex
    from workbench.lab.exchange.ours import run_of

    if not systems:
        return []
    asked = [one for one in (*truth.questions, *truth.unanswerable) if one in truth.texts]
    if not asked:
        raise InputError(
            "The text of the questions is not known, so no system can be asked.", "Add --topics FILE."
        )
    texts = {one: truth.texts[one] for one in asked}
    pipelines = [pipeline_of(one, limit, None, None) for one in systems]
    with opened_index(memory, index_file, re_embed) as opened:
        index = CachedIndex(opened)
        return [run_of(one, texts, index) for one in pipelines]


def _truth(qrels: Path | None, questions: Path | None, topics: Path | None) -> Truth:
    from workbench.lab.exchange.trec import read_qrels, read_topics
    from workbench.lab.exchange.truth import truth_of_qrels, truth_of_questions
    from workbench.lab.questions import load_questions

    if (qrels is None) == (questions is None):
        raise InputError("Which documents are right?", "Give --qrels FILE, or --questions FILE.")
    if questions is not None:
        return truth_of_questions(load_questions(questions))
    assert qrels is not None
    return truth_of_qrels(read_qrels(qrels), read_topics(topics) if topics else None)


@runs.command("lint")
def lint(
    files: Files = None,
    systems: Systems = None,
    questions: Labels = None,
    memory: Memory = SAMPLE,
    scale: Annotated[
        str | None, typer.Option("--scale", help="What scores should be within, such as 0:1.")
    ] = None,
    limit: Cut = None,
    id_field: IdField = None,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    as_json: AsJson = False,
) -> None:
    """Find suspicious scores, ranks and ids in runs, also in those of our systems. Exit code 1 if any."""
    from workbench.lab.exchange.json_runs import read_run
    from workbench.lab.exchange.linting import lint as linted

    read = [read_run(one, id_field=id_field) for one in files or ()]
    if systems:
        truth = _truth(None, questions, None)
        read += _ours(systems, truth, memory, limit, index_file, re_embed)
    if not read:
        raise InputError("There is no run to look at.", "Give run files, or --system NAME --questions FILE.")
    found = [linted(one, _scale(scale), limit) for one in read]
    if as_json:
        put([one.as_json() for one in found], as_json)
    else:
        for one in found:
            put(one)
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


@runs.command("blame")
def blame(
    file: File,
    qrels: QrelsFile = None,
    questions: Labels = None,
    topics: Topics = None,
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
    """List the documents that a run should return and does not, and where they stand in our legs.

    Exit code 1 if one is missing.
    """
    from workbench.lab.exchange.json_runs import read_run
    from workbench.lab.exchange.missing import missing_documents

    truth = _truth(qrels, questions, topics)
    run = read_run(file, id_field=id_field)
    if memory is None:
        found = missing_documents(run, truth, limit)
        tell("With --memory FOLDER you also see where these documents stand in our legs.")
    else:
        pipeline = pipeline_of(system, limit, None, None)
        with opened_index(memory, index_file, re_embed) as opened:
            found = missing_documents(run, truth, limit, opened, pipeline)
    put(found.as_json() if as_json else found, as_json)
    raise typer.Exit(1 if found else 0)


@runs.command("convert")
def convert(
    source: Annotated[Path, typer.Argument(readable=False, help="A test collection: a file or a folder.")],
    form: Annotated[str, typer.Option("--from", help="Its form: beir, trec, longmemeval or locomo.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The BEIR folder to write.")],
) -> None:
    """Write a test collection as a BEIR folder: corpus.jsonl, queries.jsonl and qrels/test.tsv."""
    from workbench.lab.exchange.folders import read_collection, write_beir

    collection = read_collection(source, form)
    write_beir(collection, out)
    asked = counted(len(collection.questions), "question")
    put(f"{out}: {counted(len(collection.documents), 'document')}, {asked}.")
