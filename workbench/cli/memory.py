"""The command that makes and updates an index."""

from __future__ import annotations

import platform
import shlex
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from workbench.cli.app import (
    SAMPLE,
    AsJson,
    ClusterAddress,
    Details,
    Extra,
    IndexFile,
    named_folder,
    naming_the_folder,
    unnamed_message,
    workers_at,
)
from workbench.cli.commands import command_function
from workbench.cli.output import print_error, print_output
from workbench.errors import InputError, Interrupted
from workbench.registry import has_feature
from workbench.safe_text import one_line
from workbench.tables import Block, Fold, Part

if TYPE_CHECKING:
    from workbench.contracts import Layout
    from workbench.memory.embedding.engines import ModelVariant
    from workbench.memory.embedding.local import Embedder, UsualReading
    from workbench.memory.options import Options
    from workbench.memory.sources import Chunker, Indexing
    from workbench.memory.sync import Summary

Folder = Annotated[Path, typer.Argument(parser=named_folder, help="The memory's folder.")]
Model = Annotated[str, typer.Option(help="The embedding model: a local model, PROVIDER/MODEL, or auto.")]
Reading = Annotated[
    str | None,
    typer.Option(
        help="How to embed texts longer than the model's window: windowed or truncated. An index keeps it "
        "until a rebuild. Default: windowed, and truncated for more than 2 MB."
    ),
]
Precision = Annotated[
    str, typer.Option(help="The local model's numbers: fp32, bf16, or int8 (in openvino only).")
]
Backend = Annotated[
    str | None,
    typer.Option(
        help="What runs the local model: openvino or torch. Default: openvino for all-MiniLM-L6-v2, where it "
        "is installed, and torch for any other."
    ),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="Read all files: size and time can hide a change. With --rebuild: embed all texts again.",
    ),
]
Skip = Annotated[
    bool,
    typer.Option(
        "--skip/--no-skip", help="Leave out files that cannot be read or used, or end with an error."
    ),
]
Transcripts = Annotated[
    Path | None,
    typer.Option("--sessions", readable=False, help="A folder of chat transcripts (*.jsonl) to index too."),
]
As = Annotated[
    str | None,
    typer.Option(
        "--as",
        help="Index exactly as a release does, such as openclaw-2026.9.6 or bm-0.24.1: its files, its "
        "chunks, and what its model reads. This index lies beside the workbench's own.",
    ),
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


@dataclass(frozen=True)
class Removal:
    """Options that remove indexes from the cache folder."""

    remove: Annotated[
        list[str] | None, typer.Option("--remove", help="Remove the index of this name; can be repeated.")
    ] = None
    remove_gone: Annotated[
        bool, typer.Option("--remove-gone", help="Remove the indexes of memories that no longer exist.")
    ] = False


MODEL, PRECISION = "all-MiniLM-L6-v2", "fp32"


@dataclass(frozen=True)
class IndexingOptions:
    """Options of the commands that index a folder: what is read, how it is cut, and the model."""

    index_file: IndexFile = None
    sessions: Transcripts = None
    extra: Extra = None
    model: Model = MODEL
    reading: Reading = None
    precision: Precision = PRECISION
    backend: Backend = None
    like: As = None
    chunk: ChunkOption = None

    def prepared(
        self,
        context: typer.Context,
        folder: Path,
        store: str | None = None,
        rebuild: bool = False,
        download: bool = False,
    ) -> tuple[Embedder, Options]:
        """The embedder and the options of `index_folder` that are meant by these."""
        from workbench.memory.embedding.engines import ModelVariant
        from workbench.memory.files import check_extra_paths, memory_root
        from workbench.memory.index_files import file_to_make
        from workbench.memory.options import Options
        from workbench.memory.sync import usual_reading

        is_typed = context.obj is None or self.extra != context.obj.extra_paths
        if self.extra and is_typed:  # OpenClaw ignores a path of its configuration that does not exist
            check_extra_paths(memory_root(folder), self.extra)
        sources: list[Any] = []
        if self.sessions is not None:
            from workbench_plugins.openclaw.sessions import Sessions

            sources.append(Sessions(self.sessions))
        chunker, release = cutting(context, self.like, self.chunk)
        file = self.index_file
        if release is not None and file is None and store is None:
            file = file_to_make(memory_root(folder), release)
        options = Options(
            index_path=file,
            store=store,
            like=release,
            chunker=chunker,
            extra=self.extra,
            sources=sources,
            vectors_later=release is None
            and context.obj is None
            and getattr(_usual_layout(), "has_vectors", False),
        )
        usual = usual_reading(folder, options, rebuild)
        variant = ModelVariant(cast("Any", self.backend), cast("Any", self.precision))  # which checks both
        embedder = configured_embedder(context, self.model, self.reading, usual, download, variant)
        return embedder, options


def index(
    context: typer.Context,
    folder: Folder = Path(SAMPLE),
    *,
    options: IndexingOptions,
    store: StoreAddress = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Build a new index in place of the old one.")
    ] = False,
    verify: Verify = False,
    skip: Skip = True,
    download: Annotated[
        bool, typer.Option("--download", help="Get the local model from its hub if it is not here.")
    ] = False,
    cluster: ClusterAddress = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the indexes in the cache folder, and index nothing.")
    ] = False,
    removal: Removal,
    watch: Annotated[bool, typer.Option("--watch", help="Index again whenever files change.")] = False,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Compute the vectors of whole chunks now, for all systems.")
    ] = False,
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Index a memory, or update its index; --list lists the indexes, and --remove removes one."""
    if watch:
        others = (store, rebuild, verify, download, cluster, list_, vectors, as_json, *vars(removal).values())
        if any(others):
            raise InputError(
                "--watch keeps an index file up to date, and goes with options of what is read alone.",
                "Leave out --store, --rebuild, --verify, --download, --cluster, --list, --remove, --vectors "
                "and --json.",
            )
        command_function("watch")(context, folder, options=options)
        return
    if list_ or removal.remove or removal.remove_gone:
        from workbench_plugins.doctor.commands import remove_and_list

        remove_and_list(removal.remove or (), removal.remove_gone, as_json)
        return
    from workbench.memory.sync import index_folder

    started = time.perf_counter()
    try:
        with naming_the_folder(str(folder)):
            embedder, index_options = options.prepared(context, folder, store, rebuild, download)
    except KeyboardInterrupt:
        raise Interrupted("Interrupted before anything was written: an index is as it was.") from None
    with naming_the_folder(str(folder)), workers_at(cluster) as workers:
        embeds = embedder
        if workers is not None:
            from workbench_plugins.stores.cluster import on_cluster

            embeds = on_cluster(embedder, workers)
        index_options = replace(index_options, verify=verify, skip=skip)
        summary = index_folder(folder, embeds, rebuild=rebuild, options=index_options)
        layout = _usual_layout() if index_options.like is None else None
        try:
            memory = store or str(folder)
            summary.read_by_word = lay_out(memory, embedder, index_options.index_path, layout, vectors)
        except KeyboardInterrupt:
            raise Interrupted(KEPT_OF_READING) from None
    summary.seconds = time.perf_counter() - started
    say_left_out(summary, index_options.sources)
    if store is None:
        say_unread(folder, embedder, index_options.index_path)
    if as_json:
        print_output(asdict(summary), as_json)
        return
    parts: list[Part] = [Block(summary.headline, style="bold")]
    is_new = index_options.like is None and not (summary.unchanged or summary.changed)
    if is_new and has_feature("diagnose"):
        say_language(memory, embedder, index_options.index_path)
    if is_new and store is None:
        file = [] if options.index_file is None else ["--index", str(options.index_file)]
        where = shlex.join(["-m", str(folder), *file])
        parts.append(Block(f'Next: workbench search "QUESTION" {where}'))
    print_output([*parts, Fold("What was computed", [Block(str(summary))])], details=details)


KEPT_OF_READING = (
    "Interrupted. All files are in the index, and what the model has read of them so far is kept.\n"
    "  Run the same command again to go on; the first search goes on, too."
)


def lay_out(
    memory: str, embedder: Embedder | None, index_file: Path | None, layout: Layout | None, vectors: bool
) -> int:
    """Lays the index out as the default system needs it, so that the first question costs what others do.

    An index that is made as a release makes it is for that release: it has no other layout. Returns how many
    chunks the model has read word by word. With `vectors`, the first question of the others costs no more
    either.
    """
    from workbench.memory.index import MemoryIndex
    from workbench.memory.opening import open_index

    with open_index(memory, embedder, index_path=index_file) as opened, opened.snapshot():
        laid_out = opened.laid_out(layout)
        for sentence in laid_out.left_out:
            print_error(one_line(f"left out: {sentence}"))
        if vectors and isinstance(opened, MemoryIndex):
            opened.prepare()
    return laid_out.newly_read


def _usual_layout() -> Layout | None:
    """How the default system lays an index out."""
    from workbench.systems.catalogue import default_system, system

    return system(default_system()).layout


def cutting(
    context: typer.Context, like: str | None, chunk: str | None
) -> tuple[Chunker | None, Indexing | None]:
    """The chunker of `--config`, and the rules of `--as`, which take precedence; `--chunk` sets the sizes.

    None as the chunker leaves it to `index_folder`.
    """
    from workbench.memory.sources import ChunkSizes, LineChunker, resized
    from workbench.systems.catalogue import indexing

    configured, release = context.obj, None if like is None else indexing(like)
    chunker = configured.chunker if configured and release is None else None
    if chunk is not None:
        usual = release.chunker if release else chunker or LineChunker()
        chunker = resized(usual, ChunkSizes.parsed(chunk))
    return chunker, release


def say_left_out(summary: Summary, sources: Iterable[Any]) -> None:
    """Prints on stderr which files and which lines of transcripts a sync has left out."""
    for problem in summary.skipped:
        print_error(one_line(f"left out: {problem}"))
    for source in sources:
        for path in (*summary.new, *summary.changed):
            for line in source.broken.get(path, ()):
                print_error(one_line(f"left out: {path}:{line} is not JSON."))


def say_unread(folder: Path, embedder: Embedder | None, index_file: Path | None) -> None:
    """Prints on stderr which notes in the folder are not read, with counts by the reason."""
    from workbench.memory.opening import open_index
    from workbench.memory.unread import unread_lines

    with open_index(folder, embedder, index_path=index_file) as opened:
        for line in unread_lines(one for one in opened.unread() if not one.refused):
            print_error(line)


def say_language(memory: str, embedder: Embedder | None, index_file: Path | None) -> None:
    """Prints on stderr that most of the notes are in a language that the model did not learn."""
    from workbench.memory.opening import open_index
    from workbench_plugins.diagnose.question_language import remark_on_language

    with open_index(memory, embedder, index_path=index_file) as opened:
        if remark := remark_on_language(opened):
            print_error(remark)


def configured_embedder(
    context: typer.Context,
    model: str,
    reading: str | None,
    usual: UsualReading,
    download: bool,
    variant: ModelVariant,
) -> Embedder:
    """The embedder of that name; in fp32 if this processor lacks instructions for `variant`.

    A local model has the `usual` reading if none is named; stderr says so if that cuts long chunks off anew.
    Raises InputError when the configuration wants its provider at an address that the user has not named:
    the texts and the user's key would go there.
    """
    from workbench.memory.embedding.engines import cpu_has
    from workbench.memory.embedding.local import READ_WHOLE, LocalEmbedder, Truncated, reading_named
    from workbench.memory.embedding.named import embedder_named

    if not model.strip():
        raise InputError("--model is empty.", "Name a model: --model all-MiniLM-L6-v2, or leave it out.")
    named = None if reading is None else reading_named(reading)
    embedder, configured = embedder_named(model), context.obj
    if not isinstance(embedder, LocalEmbedder):
        _check_choices(model, reading, variant)
        address = (
            configured.unnamed_addresses().get(getattr(embedder, "url_variable", "")) if configured else None
        )
        if address is not None:
            raise InputError(*unnamed_message(configured, address))
        return embedder
    embedder = replace(embedder, reading=named or usual.reading, download=download, variant=variant)
    if reading is None and not usual.is_stored and embedder.reading == Truncated():
        print_error(
            f"The memory has more than {READ_WHOLE / 1e6:.0f} MB: of each chunk, only what fits into the "
            "model's window is embedded.\n  --reading windowed embeds all of it, and takes 1.5 times as long."
        )
    precision = embedder.variant.precision
    if cpu_has(precision):
        return embedder
    print_error(
        f"{precision} is not used: this processor ({platform.machine()}) has no instructions for it. "
        "The vectors are computed in fp32."
    )
    return replace(embedder, variant=replace(embedder.variant, precision="fp32"))


def _check_choices(model: str, reading: str | None, variant: ModelVariant) -> None:
    """Raises InputError for choices that only a local model has."""
    from workbench.memory.embedding.engines import ModelVariant

    if reading is not None:
        raise InputError(
            f"{model} has no reading {reading!r}.", "Only local models have one: leave --reading out."
        )
    if variant != ModelVariant():
        raise InputError(
            f"{model} computes its vectors elsewhere, so its precision is not yours to choose.",
            "Only local models have one: leave --precision and --backend out.",
        )
