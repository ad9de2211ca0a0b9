"""Commands that make, list and remove indexes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from workbench.cli.app import SAMPLE, AsJson, ClusterAddress, Extra, IndexFile, app
from workbench.cli.commands.configuring import asked_of, configured_embedder
from workbench.cli.output import put, tell, telling_of_interruption
from workbench.safe_text import one_line

if TYPE_CHECKING:
    from workbench.memory.chunking import Chunker
    from workbench.memory.embedding.engines import ModelVariant
    from workbench.memory.sessions import Sessions
    from workbench.memory.sources import Indexing
    from workbench.memory.sync import Summary

Folder = Annotated[Path, typer.Argument(readable=False, help="The memory's folder.")]
Model = Annotated[str, typer.Option(help="The embedding model: a local model, PROVIDER/MODEL, or auto.")]
Reading = Annotated[
    str | None,
    typer.Option(
        help="How to embed texts longer than the model's window: windowed or truncated. An index keeps it "
        "until a rebuild. Default: windowed, and truncated for more than 2 MB."
    ),
]
Precision = Annotated[
    str, typer.Option(help="The local model's numbers: fp32, bf16, or int8 (with --backend openvino).")
]
Backend = Annotated[
    str, typer.Option(help="What runs the local model: torch, or openvino from the extra `fast`.")
]
Skip = Annotated[bool, typer.Option("--skip", help="Leave out files that cannot be read or used.")]
Transcripts = Annotated[
    Path | None,
    typer.Option("--sessions", readable=False, help="A folder of chat transcripts (*.jsonl) to index too."),
]
As = Annotated[
    str | None,
    typer.Option("--as", help="Index exactly the files and chunks of a release, such as openclaw-2026.9.6."),
]
ChunkOption = Annotated[
    str | None,
    typer.Option(
        "--chunk",
        help="The sizes of chunks, such as 200/40: the tokens of a chunk and of its overlap. An index keeps "
        "them until a rebuild. Default: 400/80.",
    ),
]
StoreAddress = Annotated[
    str | None,
    typer.Option("--store", help="A server for the index: postgresql://USER@HOST/DATABASE?schema=NAME"),
]
MODEL, PRECISION, BACKEND = "all-MiniLM-L6-v2", "fp32", "torch"


@app.command()
def index(
    context: typer.Context,
    folder: Folder = Path(SAMPLE),
    index_file: IndexFile = None,
    store: StoreAddress = None,
    sessions: Transcripts = None,
    extra: Extra = None,
    model: Model = MODEL,
    reading: Reading = None,
    precision: Precision = PRECISION,
    backend: Backend = BACKEND,
    like: As = None,
    chunk: ChunkOption = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Build a new index in place of the old one.")
    ] = False,
    skip: Skip = False,
    download: Annotated[
        bool, typer.Option("--download", help="Get the local model from its hub if it is not here.")
    ] = False,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Index a memory, or update its index."""
    from dataclasses import asdict

    from workbench.lab.cluster import cluster_at, on_cluster
    from workbench.memory.sessions import Sessions
    from workbench.memory.sync import index_folder, usual_reading

    sources = [] if sessions is None else [Sessions(sessions)]
    chunker, release = cutting(context, like, chunk)
    usual = usual_reading(
        folder,
        index_path=index_file,
        store=store,
        like=release,
        extra=extra,
        sources=sources,
        rebuild=rebuild,
    )
    embedder = configured_embedder(context, model, reading, usual, download, variant_of(backend, precision))
    with telling_of_interruption(), cluster_at(cluster) as workers:
        summary = index_folder(
            folder,
            embedder if workers is None else on_cluster(embedder, workers),
            index_path=index_file,
            store=store,
            chunker=chunker,
            like=release,
            extra=extra,
            sources=sources,
            rebuild=rebuild,
            skip=skip,
        )
    say_left_out(summary, sources)
    put(asdict(summary) if as_json else str(summary), as_json)


@app.command()
def indexes(
    remove: Annotated[
        list[str] | None, typer.Option("--remove", help="Remove the index of this name; can be repeated.")
    ] = None,
    remove_gone: Annotated[
        bool, typer.Option("--remove-gone", help="Remove the indexes of memories that no longer exist.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the indexes in the cache folder with size, age and memory, or remove some of them."""
    from workbench.memory.inventory import known_indexes, remove_index
    from workbench.views.indexes import index_data, indexes_table

    gone = [one.name for one in known_indexes() if one.gone] if remove_gone else []
    for name in dict.fromkeys([*(remove or []), *gone]):
        tell(f"removed {name}: {remove_index(name) / 1e6:.1f} MB")
    left = known_indexes()
    put([index_data(one) for one in left] if as_json else indexes_table(left), as_json)


def variant_of(backend: str, precision: str) -> ModelVariant:
    """The variant of a local model. Raises InputError for one that does not exist."""
    from workbench.memory.embedding.engines import ModelVariant

    return ModelVariant(cast("Any", backend), cast("Any", precision))  # which checks both


def cutting(
    context: typer.Context, like: str | None, chunk: str | None
) -> tuple[Chunker | None, Indexing | None]:
    """The chunker of `--config`, and the rules of `--as`, which take precedence; `--chunk` sets the sizes.

    None as the chunker leaves it to `index_folder`.
    """
    from workbench.memory.chunking import ChunkSizes, LineChunker, resized
    from workbench.systems.indexing import indexing

    configured, release = asked_of(context), None if like is None else indexing(like)
    chunker = configured.chunker if configured and release is None else None
    if chunk is not None:
        usual = release.chunker if release else chunker or LineChunker()
        chunker = resized(usual, ChunkSizes.parsed(chunk))
    return chunker, release


def say_left_out(summary: Summary, sources: Iterable[Sessions]) -> None:
    """Prints on stderr which files and which lines of transcripts a sync has left out."""
    for problem in summary.skipped:
        tell(one_line(f"left out: {problem}"))
    for source in sources:
        for path in (*summary.new, *summary.changed):
            for line in source.broken.get(path, ()):
                tell(one_line(f"left out: {path}:{line} is not JSON."))
