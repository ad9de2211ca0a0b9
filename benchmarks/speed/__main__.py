"""Times this workbench beside other systems: OMP_NUM_THREADS=1 python -m benchmarks.speed --size 10000"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.speed.catalogue import chosen
from benchmarks.speed.report import compare, load
from benchmarks.speed.running import SIZES, measure
from benchmarks.speed.view import changes_table, speed_tables
from workbench.cli import main
from workbench.cli.app import AsJson
from workbench.cli.output import print_output
from workbench.errors import InputError
from workbench.memory.store.contract import UnwritableError

script = typer.Typer(
    add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
)


@script.command()
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
    out and named: pip install -e '.[bench]'.
    """
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
        from benchmarks.speed.figure import speed_figure  # Plotly, which only the figure needs

        _write(figure, speed_figure(report).to_html(include_plotlyjs=True))
    print_output(report.as_json() if as_json else speed_tables(report), as_json)
    if before is not None and not as_json:
        print_output(changes_table(compare(before, report)))


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UnwritableError(
            f"{file} cannot be written: {error.strerror}.", "Choose another place."
        ) from None


if __name__ == "__main__":
    main(script)
