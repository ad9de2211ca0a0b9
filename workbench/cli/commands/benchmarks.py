"""Commands that measure systems on test collections that you provide, and their speed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.app import AsJson, SettingsOfMany, app, pipelines_of
from workbench.cli.output import put
from workbench.errors import InputError
from workbench.memory.store.errors import UnwritableError

if TYPE_CHECKING:
    from workbench.contracts import Index
    from workbench.lab.bench.collections import TestCollection

bench = typer.Typer(
    help="Benchmarks on data that you provide, and of speed.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(bench, name="bench")

COMPARED = ("openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax", "openclaw-2026.9.6", "recommended")
"""The systems that a benchmark runs by default."""

Folder = Annotated[Path, typer.Argument(readable=False, help="The folder of the collection.")]
Systems = Annotated[
    list[str] | None, typer.Option("--system", "-s", help="A system to run; can be repeated.")
]
Save = Annotated[
    Path | None, typer.Option("--save", readable=False, help="Write each question's answer to this file.")
]
Compare = Annotated[
    Path | None, typer.Option("--compare", readable=False, help="A saved run to compare with.")
]
Ablation = Annotated[
    bool, typer.Option("--ablation", help="Run `recommended` without each of its stages in turn.")
]


@bench.command()
def locomo(
    path: Annotated[Path, typer.Argument(readable=False, help="The JSON file of LoCoMo.")],
    corrections: Annotated[
        Path | None, typer.Option(readable=False, help="The corrections of the audit: a JSON list.")
    ] = None,
    systems: Systems = None,
    settings: SettingsOfMany = None,
    detail: Annotated[
        bool,
        typer.Option("--detail", help="Print evidence recall and any hit, pooled and within conversations."),
    ] = False,
    save: Save = None,
    compare: Compare = None,
    ablation: Ablation = False,
    as_json: AsJson = False,
) -> None:
    """Measure recall@5, recall@10 and MRR on LoCoMo. Vectors are kept between runs."""
    from workbench.lab.bench.collections import of_locomo
    from workbench.lab.bench.locomo import load
    from workbench.lab.bench.runs import Bench, sessions_as_files
    from workbench.systems.automem import pipelines as automem
    from workbench.systems.basic_memory import pipelines as basic_memory
    from workbench.views.bench import rendered_results

    data = load(path, corrections)
    if detail or save or compare or ablation:
        _run(of_locomo(data, path.stem), systems, settings, save, compare, ablation, as_json,
             lambda _: sessions_as_files(data))  # fmt: skip
        return
    known = [one.name for one in (*automem.PIPELINES, *basic_memory.PIPELINES)]
    chosen = pipelines_of(systems or known, None, None, settings)
    results = list(Bench(data, path).run(chosen))
    put([one.as_json() for one in results] if as_json else rendered_results(results), as_json)


@bench.command()
def longmemeval(
    path: Annotated[Path, typer.Argument(readable=False, help="A JSON file of LongMemEval.")],
    systems: Systems = None,
    settings: SettingsOfMany = None,
    save: Save = None,
    compare: Compare = None,
    ablation: Ablation = False,
    as_json: AsJson = False,
) -> None:
    """Measure systems on LongMemEval, with one document a session and all sessions pooled."""
    from workbench.lab.bench.collections import longmemeval as read

    _run(read(path), systems, settings, save, compare, ablation, as_json)


@bench.command()
def beir(
    path: Folder,
    systems: Systems = None,
    settings: SettingsOfMany = None,
    save: Save = None,
    compare: Compare = None,
    ablation: Ablation = False,
    as_json: AsJson = False,
) -> None:
    """Measure systems on a collection of BEIR's form: corpus.jsonl, queries.jsonl, qrels/test.tsv."""
    from workbench.lab.bench.collections import beir as read

    _run(read(path), systems, settings, save, compare, ablation, as_json)


@bench.command()
def trec(
    path: Folder,
    systems: Systems = None,
    settings: SettingsOfMany = None,
    save: Save = None,
    compare: Compare = None,
    ablation: Ablation = False,
    as_json: AsJson = False,
) -> None:
    """Measure systems on a folder with collection.tsv, queries.tsv and TREC's qrels.txt."""
    from workbench.lab.bench.collections import trec as read

    _run(read(path), systems, settings, save, compare, ablation, as_json)


@bench.command()
def folder(
    path: Folder,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", "-q", readable=False, help="A YAML file of labelled questions."),
    ] = None,
    systems: Systems = None,
    settings: SettingsOfMany = None,
    save: Save = None,
    compare: Compare = None,
    ablation: Ablation = False,
    as_json: AsJson = False,
) -> None:
    """Measure systems on a folder of notes with labelled questions."""
    from workbench.lab.bench.collections import folder as read

    _run(read(path, questions), systems, settings, save, compare, ablation, as_json)


def _run(
    collection: TestCollection,
    systems: Sequence[str] | None,
    settings: list[str] | None,
    save: Path | None,
    compare: Path | None,
    ablation: bool,
    as_json: bool,
    opened: Callable[[TestCollection], AbstractContextManager[Index]] | None = None,
) -> None:
    from workbench.lab.bench import ranking
    from workbench.systems.recommended.pipelines import RECOMMENDED, without_each
    from workbench.views.bench import ranked_data, rendered_ranked

    chosen = (
        [RECOMMENDED, *without_each()]
        if ablation
        else pipelines_of(systems or COMPARED, None, None, settings)
    )
    with (opened or ranking.collection_index)(collection) as index:
        runs = list(ranking.ranked(collection, chosen, index))
    saved = ranking.compared(compare, runs) if compare else {}
    if save:
        ranking.save(save, runs)
    put(ranked_data(runs, saved) if as_json else rendered_ranked(runs, saved), as_json)


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
