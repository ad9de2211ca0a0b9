"""The parts that commands share: the application, common options, and how systems and indexes are opened."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.models import CommandInfo

from workbench.cli.output import tell
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.lab.questions import QuestionSet
    from workbench.memory.index import OpenIndex
    from workbench.retrieval.pipeline import Pipeline

app = typer.Typer(
    name="workbench",
    help="Teach, explore and reproduce how hybrid search fails.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

SAMPLE = "sample_memory"

Memory = Annotated[
    str,
    typer.Option(
        "--memory",
        "-m",
        help="The memory's folder, an OpenClaw SQLite file, or the address of an index.",
    ),
]
ReEmbed = Annotated[
    bool, typer.Option("--re-embed", help="Embed the chunks of an OpenClaw file with the packaged model.")
]
IndexFile = Annotated[
    Path | None,
    typer.Option("--index", readable=False, help="The index file. Default: a file in your cache folder."),
]
Extra = Annotated[
    list[str] | None,
    typer.Option("--extra", help="A folder or file outside the memory to index too; can be repeated."),
]
ClusterAddress = Annotated[
    str | None, typer.Option("--cluster", help="Work on a Dask cluster: its scheduler, tcp://HOST:8786.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
System = Annotated[str, typer.Option("--system", "-s", help="The system to run.")]
AskedSystem = Annotated[
    str | None,
    typer.Option(
        "--system",
        "-s",
        help="The system to run. Default: recommended; with --config, and for an OpenClaw file, "
        "openclaw-2026.2.13.",
    ),
]
AskedLimit = Annotated[int | None, typer.Option("--limit", min=1, help="The largest number of results.")]
AskedFloor = Annotated[float | None, typer.Option("--min-score", help="The lowest score of a result.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Set a parameter (slot.parameter=value) or OpenClaw key (query.maxResults=8); can be repeated.",
    ),
]
SettingsOfMany = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Set a parameter (slot.parameter=value) or an OpenClaw key (query.maxResults=8) in every system "
        "that has it; can be repeated.",
    ),
]
AskedReranker = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        help="Let a reranker order the best 20: cross-encoder:FOLDER_OR_NAME, cohere:MODEL@URL, "
        "judge:MODEL@URL or late. The key of a URL is read from WORKBENCH_RERANK_KEY.",
    ),
]
SHIPPED = "openclaw-2026.2.13"
RECOMMENDED = "recommended"

CONFIG_FILE: ContextVar[str | None] = ContextVar("config_file", default=None)
"""The value of `--config` (FILE or FILE#AGENT) while a command runs, None without it."""


def name_of(command: CommandInfo) -> str:
    """The name of a command as it is typed: its own, or that of its function."""
    return str(command.name or getattr(command.callback, "__name__", ""))


def system_for(memory: str, asked: str | None) -> str:
    """The system that was asked for, or the default one for this memory."""
    from workbench.systems.opening import is_openclaw_file

    if asked is not None:
        return asked
    return SHIPPED if CONFIG_FILE.get() or is_openclaw_file(memory) else RECOMMENDED


def labelled(memory: str, questions: Path | None) -> QuestionSet:
    """The labelled questions of this file, or else of `questions.yaml` in the memory's folder.

    Raises InputError for a file that cannot be read, and without a file for a memory that is no folder.
    """
    from workbench.lab.questions import load_questions
    from workbench.systems.opening import folder_of

    folder = folder_of(memory)
    if questions is None and folder is None:
        raise InputError(
            "Only a folder has a questions.yaml of its own, and this memory is not a folder.",
            "Name the file of labelled questions: --questions FILE",
        )
    return load_questions(questions or Path(folder or ".") / "questions.yaml")


def pipeline_of(
    name: str,
    limit: int | None,
    min_score: float | None,
    settings: list[str] | None,
    rerank: str | None = None,
) -> Pipeline:
    """The system of that name with these options. Raises InputError for an unknown name or setting."""
    named = _named(name)
    if not settings:
        return _reranked(named.asking(limit, min_score), rerank)
    # These modules take a tenth of a search's time to load.
    from workbench.retrieval.settings import with_settings
    from workbench.systems.openclaw.config.keys import check_key, key_of, with_keys

    keys = [one for one in settings if key_of(one)]
    slots = [one for one in settings if not key_of(one)]
    for one in slots:
        check_key(one)
    asked = with_keys(named, keys).asking(limit, min_score)
    return with_settings(_reranked(asked, rerank), slots)


def _reranked(pipeline: Pipeline, rerank: str | None) -> Pipeline:
    if rerank is None:
        return pipeline
    from workbench.systems.reranking import reranker_named, with_reranker

    return with_reranker(pipeline, reranker_named(rerank))


def pipelines_of(
    names: Iterable[str],
    limit: int | None,
    min_score: float | None,
    settings: list[str] | None,
    rerank: str | None = None,
) -> list[Pipeline]:
    """The systems of these names with these options. A setting changes every system that has it.

    With `rerank`, each system is followed by itself with that reranker.
    """
    from workbench.retrieval.settings import with_settings_where_they_fit
    from workbench.systems.openclaw.config.keys import check_key, fits, key_of, with_keys

    named = [_named(name) for name in names]
    slots = []
    for setting in settings or []:
        key = key_of(setting)
        if not key:
            check_key(setting)
            slots.append(setting)
        elif any(fits(one, key) for one in named):
            named = [with_keys(one, [setting]) if fits(one, key) else one for one in named]
        elif named:
            with_keys(named[0], [setting])  # which says why not
    asked = [one.asking(limit, min_score) for one in named]
    if rerank is not None:
        asked = [both for one in asked for both in (one, _reranked(one, rerank))]
    return with_settings_where_they_fit(asked, slots)


def _named(name: str) -> Pipeline:
    """The system of that name. With `--config` it has the settings of that file."""
    file = CONFIG_FILE.get()
    # The modules of all systems take a tenth of a search's time to load. A default system needs its own.
    if file is None and name == RECOMMENDED:
        from workbench.systems.recommended import pipelines as recommended

        return recommended.RECOMMENDED
    if file is None and name == SHIPPED:
        from workbench.systems.openclaw import pipelines as openclaw

        return openclaw.SHIPPED
    from workbench.systems.registry import is_configuration, system

    return system(name if file is None or is_configuration(name) else f"{name}@{file}")


@contextmanager
def opened_index(memory: str, index_file: Path | None, re_embed: bool = False) -> Iterator[OpenIndex]:
    """The index of a memory. Prints on stderr what limits the answers."""
    from workbench.systems.opening import open_memory

    with open_memory(memory, index_path=index_file, re_embed=re_embed) as opened:
        for remark in opened.remarks:
            tell(remark)
        yield opened


@contextmanager
def uncollected() -> Iterator[None]:
    """Keeps the garbage collector off for a command that asks one question.

    Its passes over what the imports leave take a twentieth of such a command's time. What the block leaves
    counts as old, so that no pass comes right after it.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()
        if on:
            gc.enable()


def relative(target: str, memory: str) -> str:
    """The target's path in the memory. The target may be given with the memory's folder in front."""
    path, root = Path(target), Path(memory).resolve()
    inside = path.resolve().is_relative_to(root) and path.exists()
    return path.resolve().relative_to(root).as_posix() if inside else path.as_posix()
