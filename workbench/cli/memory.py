"""Commands about the memory itself: its index."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.app import SAMPLE, AsJson, IndexFile, app, put


@app.command()
def index(
    folder: Annotated[
        Path, typer.Argument(readable=False, help="The folder that holds the memory.")
    ] = SAMPLE,
    index_file: IndexFile = None,
    model: Annotated[str, typer.Option(help="A sentence-transformers model.")] = "all-MiniLM-L6-v2",
    reading: Annotated[
        str, typer.Option(help="Texts longer than the model's window: windowed or truncated.")
    ] = "windowed",
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Make the index anew.")] = False,
    skip: Annotated[bool, typer.Option("--skip", help="Leave out files that cannot be used.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make the index of a memory agree with its folder."""
    from dataclasses import asdict

    from workbench.memory.embedding import LocalEmbedder, reading_named
    from workbench.memory.sync import index_folder

    embedder = LocalEmbedder(model, reading_named(reading))
    summary = index_folder(folder, embedder, index_path=index_file, rebuild=rebuild, skip=skip)
    for problem in summary.skipped:
        print(f"left out: {problem}", file=sys.stderr)
    put(asdict(summary) if as_json else str(summary), as_json)
