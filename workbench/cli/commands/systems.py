"""Commands about systems: list them, show one, compare two, and run specimens and fusions."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.app import (
    SAMPLE,
    AsJson,
    AskedFloor,
    AskedLimit,
    IndexFile,
    Memory,
    ReEmbed,
    Settings,
    app,
    opened_index,
    pipeline_of,
)
from workbench.cli.output import put
from workbench.errors import InputError


@app.command()
def systems(as_json: AsJson = False) -> None:
    """List all systems."""
    from workbench.systems.registry import every_system
    from workbench.views.systems import system_data, systems_table

    known = every_system()
    put([system_data(one) for one in known] if as_json else systems_table(known), as_json)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="The name of a system.")],
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Show a system: its stages in order, its changes and its source."""
    from workbench.views.systems import system_data

    asked = pipeline_of(name, limit, min_score, settings)
    put(system_data(asked) if as_json else asked, as_json)


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="The name of a system.")],
    after: Annotated[str, typer.Argument(help="The name of another system.")],
    as_json: AsJson = False,
) -> None:
    """Show the differences between two systems. Exit code 1 if there are none."""
    from workbench.views.systems import diff_data
    from workbench.views.text import diff_text

    found = pipeline_of(before, None, None, None).diff(pipeline_of(after, None, None, None))
    put(diff_data(found) if as_json else diff_text(found), as_json)
    raise typer.Exit(0 if found else 1)


@app.command()
def museum(
    name: Annotated[
        str | None, typer.Argument(help="The name of a specimen. Default: all specimens.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run specimens of public bugs, as shipped and fixed. Exit code 1 if one does not show its bug."""
    from workbench.lab.museum.catalogue import run_specimens
    from workbench.views.museum import run_data

    runs = run_specimens([name] if name else None)
    if as_json:
        put([run_data(one) for one in runs], as_json)
    else:
        put(runs[0] if name else runs)
    raise typer.Exit(0 if all(one.shows for one in runs) else 1)


@app.command()
def fusion(
    lists: Annotated[
        Path | None,
        typer.Option(
            readable=False, help='A JSON file: {"vector": {"id": score}, "keyword": {"id": score}}.'
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option("--question", "-q", help="Search this question and fuse the lists of its two legs."),
    ] = None,
    memory: Memory = SAMPLE,
    floor: Annotated[float, typer.Option(help="The lowest score that passes.")] = 0.35,
    watch: Annotated[
        str | None, typer.Option(help="An id to watch, or a file that has one chunk in the lists.")
    ] = None,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
) -> None:
    """Fuse the same two lists with every engine, and compare the orders."""
    from workbench.lab.whose_fusion import EXAMPLE, legs_of, read_lists, whose_fusion
    from workbench.retrieval.query import check_question
    from workbench.views.fusion import rendered_comparison

    if lists is not None:
        vector, keyword = read_lists(lists)
    elif question is not None:
        with opened_index(memory, index_file, re_embed) as opened:
            vector, keyword = legs_of(check_question(question), opened)
    else:
        vector, keyword = EXAMPLE
    watched = None if watch is None else _in_lists(watch, [*vector, *keyword])
    put(rendered_comparison(whose_fusion(vector, keyword, floor, watched)))


def _in_lists(name: str, ids: Iterable[str]) -> str:
    """The id `name`, or the one chunk of the file that it names. Raises InputError for none or several."""
    known = sorted(set(ids))
    found = [name] if name in known else [one for one in known if f"/{name}:" in f"/{one}"]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{name} has several chunks in the lists.", f"Watch one: {', '.join(found)}.")
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.3) or known[:3]
    raise InputError(f"{name} is in neither list.", f"The nearest are {', '.join(near) or 'none'}.")
