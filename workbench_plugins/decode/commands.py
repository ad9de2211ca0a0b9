"""The command that finds the formula behind printed numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.app import AsJson
from workbench.cli.output import print_output
from workbench_plugins.decode.decoding import decode as decoded
from workbench_plugins.decode.decoding import decode_each
from workbench_plugins.decode.negative import possible


def decode(
    numbers: Annotated[
        list[str], typer.Argument(help="Numbers as they were printed: 0.016393 0.5. Negative ones after --.")
    ],
    beside: Annotated[
        list[str] | None,
        typer.Option("--beside", help="A score or weight that the report prints too; can be repeated."),
    ] = None,
    system: Annotated[
        str, typer.Option(help="Ask instead whether the fusion of this system can give the numbers.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Find the published formula that makes printed numbers. Exit code 1 if none can be claimed.

    With --system: exit code 1 if no way was found in which the system's fusion gives each of them.
    """
    if system:
        answer = possible(numbers, system, beside or ())
        print_output(answer.as_json() if as_json else answer, as_json)
        raise typer.Exit(0 if answer.all_given else 1)
    found = [decoded(numbers, beside or ())]
    if len(numbers) > 1 and not found[0].claimed:
        found += decode_each(numbers, beside or ())
    print_output([one.as_json() for one in found] if as_json else found, as_json)
    raise typer.Exit(0 if any(one.claimed for one in found) else 1)
