"""Commands that open JupyterLab and check the installation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.app import SAMPLE, AsJson, IndexFile, Memory, app
from workbench.cli.output import put, tell
from workbench.errors import InputError

FIRST = "00_start.ipynb"
"""The notebook that opens first."""


@app.command()
def doctor(memory: Memory = SAMPLE, index_file: IndexFile = None, as_json: AsJson = False) -> None:
    """Check the installation and the index. Exit code 1 if something is missing."""
    from dataclasses import asdict

    from workbench.cli.doctor import examine

    findings = examine(memory, index_file)
    lines = (f"{'✓' if one.fine else '✗'} {one.what:<22} {one.says}" for one in findings)
    put([asdict(one) for one in findings] if as_json else "\n".join(lines), as_json)
    raise typer.Exit(0 if all(one.fine for one in findings) else 1)


@app.command()
def lab(
    memory: Annotated[
        Path | None,
        typer.Option("--memory", "-m", readable=False, help="The memory to index. Default: sample_memory."),
    ] = None,
    notebooks: Annotated[
        Path | None, typer.Option(help="The folder of the notebooks. Default: notebooks.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            help="First copy the notebooks and the sample memory to this folder; nothing is overwritten. "
            "Default if there is no notebooks folder here: workbench-lab."
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="The port of JupyterLab.")] = 8888,
    browser: Annotated[bool, typer.Option(help="Whether to open a browser.")] = True,
) -> None:
    """Index the memory and open JupyterLab on the first notebook."""
    from workbench.cli.bundled import MEMORY, NOTEBOOKS, copy_to
    from workbench.cli.jupyter import check, check_notebook, index_apart, launch
    from workbench.memory.files import memory_root

    check()
    if memory is not None:
        memory_root(memory)  # before anything is copied
    if to is not None and notebooks is not None:
        raise InputError("--to and --notebooks name two folders of notebooks.", "Give one of them.")
    if to is None and notebooks is None and not Path(NOTEBOOKS).is_dir():
        to = Path("workbench-lab")
    if to is not None:
        put(str(copy_to(to)))
    here = to or Path()
    folder = notebooks or here / NOTEBOOKS
    check_notebook(folder, FIRST)  # before a minute goes into an index
    tell(f"Step 1 of 2: indexing {memory or here / MEMORY}. The first time takes a minute or two.")
    if code := index_apart(memory or here / MEMORY):
        raise typer.Exit(code)
    tell(f"Step 2 of 2: starting JupyterLab with {FIRST}, which takes some seconds. Ctrl-C twice ends it.")
    raise typer.Exit(launch(folder, FIRST, port, browser))
