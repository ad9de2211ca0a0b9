"""Commands that measure systems on test collections that you provide, and their speed."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.app import (
    RECOMMENDED,
    SAMPLE,
    AsJson,
    AskedReranker,
    ClusterAddress,
    SettingsOfMany,
    app,
    pipelines_of,
)
from workbench.cli.output import put
from workbench.errors import InputError
from workbench.memory.store.errors import UnwritableError

if TYPE_CHECKING:
    from workbench.contracts import Index
    from workbench.lab.bench.collections import TestCollection
    from workbench.lab.cluster import Cluster
    from workbench.retrieval.pipeline import Pipeline

bench = typer.Typer(
    help="Benchmarks on data that you provide, and of speed.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(bench, name="bench")

COMPARED = ("openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax", "openclaw-2026.9.6", "recommended")
"""The systems that a benchmark runs by default."""

STORED = ("openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax", "openclaw-2026.2.13-vector-only")
"""The systems that a comparison of stores runs by default: their legs are the store's own."""

Folder = Annotated[Path, typer.Argument(readable=False, help="The folder of the collection.")]
LocomoFile = Annotated[Path, typer.Argument(readable=False, help="The JSON file of LoCoMo.")]
Corrections = Annotated[
    Path | None, typer.Option(readable=False, help="The corrections of the audit: a JSON list.")
]
Systems = Annotated[
    list[str] | None, typer.Option("--system", "-s", help="A system to run; can be repeated.")
]


@dataclass(frozen=True)
class Collected:
    """A collection, and how its index is opened."""

    collection: TestCollection
    opened: Callable[[TestCollection, Cluster | None], AbstractContextManager[Index]] | None = None


@dataclass(frozen=True)
class Options:
    """The options that every command about a collection has."""

    systems: Systems = None
    every: Annotated[bool, typer.Option("--all", help="Run every system.")] = False
    settings: SettingsOfMany = None
    rerank: AskedReranker = None
    against: Annotated[
        str,
        typer.Option("--against", help="Compare each system with this one; without it, with the first."),
    ] = RECOMMENDED
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Run `recommended` without each of its stages in turn.")
    ] = False
    save: Annotated[
        Path | None,
        typer.Option("--save", readable=False, help="Write each question's answer to this file."),
    ] = None
    compare: Annotated[
        Path | None, typer.Option("--compare", readable=False, help="A saved run to compare with.")
    ] = None
    cluster: ClusterAddress = None
    as_json: AsJson = False

    def pipelines(self) -> list[Pipeline]:
        """The systems to run. Raises InputError for an unknown one."""
        from workbench.systems.recommended.pipelines import without_each
        from workbench.systems.registry import SYSTEMS

        if self.ablation:
            return [SYSTEMS[RECOMMENDED], *without_each()]
        names = SYSTEMS if self.every else self.systems or COMPARED
        return pipelines_of(names, None, None, self.settings, self.rerank)


def measured(read: Callable[..., Collected]) -> Callable[..., None]:
    """The command that measures systems on the collection that `read` gives.

    It has the name, the description and the arguments of `read`, and all `Options`.
    """
    own = signature(read, eval_str=True).parameters
    shared = signature(Options, eval_str=True).parameters

    def command(**given: Any) -> None:
        collected = read(**{name: given.pop(name) for name in own})
        _run(collected, Options(**given))

    command.__name__, command.__doc__ = read.__name__, read.__doc__
    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [one.replace(kind=Parameter.KEYWORD_ONLY) for one in (*own.values(), *shared.values())]
    )
    return command


@bench.command()
@measured
def locomo(path: LocomoFile, corrections: Corrections = None) -> Collected:
    """Measure systems on LoCoMo, with one document a session and all conversations pooled."""
    from workbench.lab.bench.collections import of_locomo
    from workbench.lab.bench.locomo import load
    from workbench.lab.bench.runs import sessions_as_files

    data = load(path, corrections)
    return Collected(of_locomo(data, path.stem), lambda _, workers: sessions_as_files(data, workers))


@bench.command()
def published(
    path: LocomoFile,
    corrections: Corrections = None,
    systems: Systems = None,
    settings: SettingsOfMany = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Measure AutoMem and Basic Memory on LoCoMo as their own benchmarks do: recall@5, recall@10 and MRR."""
    from workbench.lab.bench.locomo import load
    from workbench.lab.bench.runs import Bench
    from workbench.lab.cluster import cluster_at
    from workbench.systems.automem import pipelines as automem
    from workbench.systems.basic_memory import pipelines as basic_memory
    from workbench.views.bench import rendered_results

    known = [one.name for one in (*automem.PIPELINES, *basic_memory.PIPELINES)]
    chosen = pipelines_of(systems or known, None, None, settings)
    data = load(path, corrections)
    with cluster_at(cluster) as workers:
        results = list(Bench(data, path, workers).run(chosen))
    put([one.as_json() for one in results] if as_json else rendered_results(results), as_json)


@bench.command()
@measured
def longmemeval(
    path: Annotated[Path, typer.Argument(readable=False, help="A JSON file of LongMemEval.")],
) -> Collected:
    """Measure systems on LongMemEval, with one document a session and all sessions pooled."""
    from workbench.lab.bench.collections import longmemeval as read

    return Collected(read(path))


@bench.command()
@measured
def beir(path: Folder) -> Collected:
    """Measure systems on a collection of BEIR's form: corpus.jsonl, queries.jsonl, qrels/test.tsv."""
    from workbench.lab.bench.collections import beir as read

    return Collected(read(path))


@bench.command()
@measured
def trec(path: Folder) -> Collected:
    """Measure systems on a folder with collection.tsv, queries.tsv and TREC's qrels.txt."""
    from workbench.lab.bench.collections import trec as read

    return Collected(read(path))


@bench.command()
@measured
def folder(
    path: Folder,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", "-q", readable=False, help="A YAML file of labelled questions."),
    ] = None,
) -> Collected:
    """Measure systems on a folder of notes with labelled questions."""
    from workbench.lab.bench.collections import folder as read

    return Collected(read(path, questions))


@bench.command()
def stores(
    path: Annotated[Path, typer.Argument(readable=False, help="The memory's folder.")] = Path(SAMPLE),
    servers: Annotated[
        list[str] | None,
        typer.Option("--store", help="A store, postgresql://… or milvus://…; can be repeated."),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", "-q", readable=False, help="A YAML file of labelled questions."),
    ] = None,
    systems: Systems = None,
    settings: SettingsOfMany = None,
    as_json: AsJson = False,
) -> None:
    """Ask the same questions in SQLite and in other stores: what each finds, and why a rank differs.

    The folder is indexed into each store first. Exit code 1 if a rank differs for no reason that was found.
    """
    from contextlib import ExitStack

    from workbench.lab.bench.stores import compare_stores
    from workbench.lab.questions import check_targets, load_questions
    from workbench.memory.index import MemoryIndex
    from workbench.memory.store.places import server_place
    from workbench.memory.sync import index_folder, open_index
    from workbench.views.bench import rendered_stores

    if not servers:
        raise InputError("There is no store to compare with.", "Name one or more: --store postgresql://…")
    asked = load_questions(questions or path / "questions.yaml")
    chosen = pipelines_of(systems or STORED, None, None, settings)
    index_folder(path)
    with ExitStack() as stack:
        opened = [("sqlite", stack.enter_context(open_index(path)))]
        check_targets(asked, opened[0][1].paths())
        for one in servers:
            index_folder(path, opened[0][1].embedder, store=one)  # every store has the same vectors
            index = stack.enter_context(MemoryIndex.open(server_place(one)))
            name, taken = index.store.engine, sum(known.startswith(index.store.engine) for known, _ in opened)
            opened.append((f"{name} {taken + 1}" if taken else name, index))
        found = compare_stores(opened, chosen, asked)
    put(found.as_json() if as_json else rendered_stores(found), as_json)
    raise typer.Exit(1 if found.unexplained else 0)


def _run(collected: Collected, options: Options) -> None:
    from workbench.lab.bench import ranking
    from workbench.lab.cluster import cluster_at
    from workbench.views.bench import ranked_data, rendered_ranked

    if options.cluster and options.rerank:
        raise InputError(
            "A reranker cannot run on a cluster: its key would go there.", "Leave one of them out."
        )
    pipelines = options.pipelines()
    names = [one.name for one in pipelines]
    if options.against not in (*names, RECOMMENDED):
        raise InputError(f"{options.against} is not among the systems.", f"Choose {' or '.join(names)}.")
    for file in (options.save, options.compare):
        if file is not None and not file.absolute().parent.is_dir():
            raise InputError(f"There is no folder {file.absolute().parent}.", "Make it, or choose another.")
    before = ranking.saved(options.compare) if options.compare else {}
    opened = collected.opened or ranking.collection_index
    with cluster_at(options.cluster) as workers, opened(collected.collection, workers) as index:
        runs = list(ranking.ranked(collected.collection, pipelines, index, cluster=workers))
    if options.save:
        ranking.save(options.save, runs)
    compared = ranking.compared(options.compare, before, runs) if options.compare else {}
    chosen = options.against if options.against in names else names[0]
    put(
        ranked_data(runs, chosen, compared) if options.as_json else rendered_ranked(runs, chosen, compared),
        options.as_json,
    )


@bench.command()
def speed(
    sizes: Annotated[
        list[int] | None,
        typer.Option("--size", min=30, help="Chunks; can be repeated. Default: 564, 10000, 100000."),
    ] = None,
    questions: Annotated[int, typer.Option("--questions", "-n", min=2, help="Questions at each size.")] = 60,
    peers: Annotated[
        list[str] | None,
        typer.Option("--peer", help="A peer, such as txtai; can be repeated. Default: all."),
    ] = None,
    alone: Annotated[bool, typer.Option("--alone", help="No peers: only this workbench and NumPy.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Searches and indexing only: no syncs and no cold starts.")
    ] = False,
    saved: Annotated[
        Path | None, typer.Option("--saved", help="Print this saved run instead of measuring.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option("--against", help="Say which ratios differ from this saved run.")
    ] = None,
    save: Annotated[Path | None, typer.Option("--save", help="Save the run as JSON.")] = None,
    figure: Annotated[Path | None, typer.Option("--figure", help="Write an HTML figure.")] = None,
    as_json: AsJson = False,
) -> None:
    """Time this workbench beside other systems: same chunks, vectors and questions, in turn in one process.

    Set OMP_NUM_THREADS=1 for one thread. 100,000 chunks take minutes. A peer that is not installed is left
    out and named: pip install 'hybrid-search-workbench[bench]'.
    """
    from workbench.lab.speed.catalogue import chosen
    from workbench.lab.speed.report import compare, load
    from workbench.lab.speed.running import SIZES, measure
    from workbench.views.speed import changes_table, speed_tables

    if alone and peers:
        raise InputError("--alone leaves out every peer, and --peer names one.", "Give one of them.")
    for file in (save, figure):
        if file is not None and not file.absolute().parent.is_dir():
            raise InputError(f"There is no folder {file.absolute().parent}.", "Make it, or choose another.")
    before = load(against) if against else None
    subjects = chosen([] if alone else peers)
    report = load(saved) if saved else measure(
        subjects, sizes or SIZES, questions, sync=not quick, cold=not quick
    )  # fmt: skip
    if save is not None:
        _write(save, json.dumps(report.as_json()))
    if figure is not None:
        from workbench.views.figures.speed import speed_figure

        _write(figure, speed_figure(report).to_html(include_plotlyjs=True))
    put(report.as_json() if as_json else speed_tables(report), as_json)
    if before is not None and not as_json:
        put(changes_table(compare(before, report)))


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UnwritableError(
            f"{file} cannot be written: {error.strerror}.", "Choose another place."
        ) from None
