"""Commands that run specimens of public bugs, and that fuse two lists with every engine."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.app import (
    AsJson,
    IndexOptions,
)
from workbench.cli.numbers import number
from workbench.cli.output import print_output
from workbench.errors import InputError
from workbench.retrieval.query import check_question
from workbench_plugins.engines.museum import run_specimens
from workbench_plugins.engines.presets import ENGINES
from workbench_plugins.engines.whose_fusion import EXAMPLE, legs_of, read_lists, whose_fusion


def museum(
    name: Annotated[
        str | None, typer.Argument(help="The name of a specimen. Default: all specimens.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run specimens of public bugs, as shipped and fixed. Exit code 1 if one does not show its bug."""
    runs = run_specimens([name] if name else None)
    if as_json:
        print_output([one.as_json() for one in runs], as_json)
    else:
        print_output(runs[0] if name else runs)
    raise typer.Exit(0 if all(one.shows for one in runs) else 1)


def fusion(
    where: IndexOptions,
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
    floor: Annotated[
        float, typer.Option(parser=partial(number, "--floor"), help="The lowest score that passes.")
    ] = 0.35,
    watch: Annotated[
        str | None, typer.Option(help="An id to watch, or a file that has one chunk in the lists.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every engine, and not only the eleven that differ most.")
    ] = False,
) -> None:
    """Fuse the same two lists with every engine, and compare the orders."""
    if lists is not None:
        vector, keyword = read_lists(lists)
    elif question is not None:
        with where.opened() as opened:
            vector, keyword = legs_of(check_question(question), opened)
    else:
        vector, keyword = EXAMPLE
    watched = None if watch is None else _in_lists(watch, [*vector, *keyword])
    print_output(whose_fusion(vector, keyword, floor, watched, tuple(ENGINES) if every else None))


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
