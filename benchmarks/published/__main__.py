"""Measures systems on test collections that you provide.

python -m benchmarks.published locomo PATH --corrections PATH
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.published import ranking
from benchmarks.published.runs import Bench, sessions_as_files
from benchmarks.published.view import ranked_data, ranked_view, results_view
from workbench.cli import main
from workbench.cli.app import (
    AsJson,
    AskedReranker,
    ClusterAddress,
    RerankOptions,
    Settings,
    SystemOptions,
    shared_options,
)
from workbench.cli.output import print_output
from workbench.contracts import Index
from workbench.errors import InputError
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.automem import pipelines as automem
from workbench_plugins.basic_memory import pipelines as basic_memory
from workbench_plugins.recommended.pipelines import without_each
from workbench_plugins.runs import collections
from workbench_plugins.runs.collections import TestCollection
from workbench_plugins.stores.cluster import Cluster, cluster_at

bench = typer.Typer(
    help="Benchmarks on data that you provide.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

RECOMMENDED = "recommended"
COMPARED = ("openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax", "openclaw-2026.9.6", "recommended")
"""The systems that a benchmark runs by default."""

Folder = Annotated[Path, typer.Argument(readable=False, help="The folder of the collection.")]
LocomoFile = Annotated[Path, typer.Argument(readable=False, help="The JSON file of LoCoMo.")]
Corrections = Annotated[
    Path | None, typer.Option(readable=False, help="The corrections of the audit: a JSON list.")
]
Systems = Annotated[
    list[str] | None, typer.Option("--system", "-s", help="A system to run; can be repeated.")
]


@dataclass(frozen=True)
class Options:
    """The options that every command about a collection has."""

    systems: Systems = None
    every: Annotated[bool, typer.Option("--all", help="Run every system.")] = False
    settings: Settings = None
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
        if self.ablation:
            return [SYSTEMS[RECOMMENDED], *without_each()]
        names = SYSTEMS if self.every else self.systems or COMPARED
        return RerankOptions(settings=self.settings, rerank=self.rerank).pipelines(names)


@bench.command()
@shared_options
def locomo(path: LocomoFile, options: Options, corrections: Corrections = None) -> None:
    """Measure systems on LoCoMo, with one document a session and all conversations pooled."""
    data = collections.load(path, corrections)
    _run(collections.of_locomo(data, path.stem), options, lambda _, workers: sessions_as_files(data, workers))


@bench.command()
def published(
    path: LocomoFile,
    corrections: Corrections = None,
    systems: Systems = None,
    settings: Settings = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Measure AutoMem and Basic Memory on LoCoMo as their own benchmarks do: recall@5, recall@10 and MRR."""
    known = [one.name for one in (*automem.PIPELINES, *basic_memory.PIPELINES)]
    chosen = SystemOptions(settings=settings).pipelines(systems or known)
    data = collections.load(path, corrections)
    with cluster_at(cluster) as workers:
        results = list(Bench(data, path, workers).run(chosen))
    print_output([one.as_json() for one in results] if as_json else results_view(results), as_json)


@bench.command()
@shared_options
def longmemeval(
    path: Annotated[Path, typer.Argument(readable=False, help="A JSON file of LongMemEval.")],
    options: Options,
) -> None:
    """Measure systems on LongMemEval, with one document a session and all sessions pooled."""
    _run(collections.longmemeval(path), options)


@bench.command()
@shared_options
def beir(path: Folder, options: Options) -> None:
    """Measure systems on a collection of BEIR's form: corpus.jsonl, queries.jsonl, qrels/test.tsv."""
    _run(collections.beir(path), options)


@bench.command()
@shared_options
def trec(path: Folder, options: Options) -> None:
    """Measure systems on a folder with collection.tsv, queries.tsv and TREC's qrels.txt."""
    _run(collections.trec(path), options)


@bench.command()
@shared_options
def folder(
    path: Folder,
    options: Options,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", "-q", readable=False, help="A YAML file of labelled questions."),
    ] = None,
) -> None:
    """Measure systems on a folder of notes with labelled questions."""
    _run(ranking.folder(path, questions), options)


def _run(
    collection: TestCollection,
    options: Options,
    open_: Callable[[TestCollection, Cluster | None], AbstractContextManager[Index]] | None = None,
) -> None:
    """Measures the systems on a collection, whose index `open_` opens; without it, one of its documents."""
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
    opened = open_ or ranking.collection_index
    with cluster_at(options.cluster) as workers, opened(collection, workers) as index:
        runs = list(ranking.ranked(collection, pipelines, index, cluster=workers))
    if options.save:
        ranking.save(options.save, runs)
    compared = ranking.compared(options.compare, before, runs) if options.compare else {}
    chosen = options.against if options.against in names else names[0]
    print_output(
        ranked_data(runs, chosen, compared) if options.as_json else ranked_view(runs, chosen, compared),
        options.as_json,
    )


if __name__ == "__main__":
    main(bench)
