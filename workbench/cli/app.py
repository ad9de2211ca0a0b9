"""What all commands share: the application, options that several take, and how a result is put out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.output import tell
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.memory.index import MemoryIndex
    from workbench.retrieval.pipeline import Pipeline
    from workbench.systems.openclaw.live.index import LiveIndex

app = typer.Typer(
    name="workbench",
    help="Teach, explore and reproduce how hybrid search fails.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

SAMPLE = Path("sample_memory")

Memory = Annotated[
    Path,
    typer.Option(
        "--memory",
        "-m",
        readable=False,
        help="The folder that holds the memory, or OpenClaw's SQLite file of it.",
    ),
]
ReEmbed = Annotated[
    bool, typer.Option("--re-embed", help="Of OpenClaw's file: embed its chunks with the packaged model.")
]
IndexFile = Annotated[
    Path | None,
    typer.Option("--index", readable=False, help="The index file; by default in your cache folder."),
]
Extra = Annotated[
    list[str] | None, typer.Option("--extra", help="A folder or file beside the memory; may be given often.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
System = Annotated[str, typer.Option("--system", "-s", help="The pipeline to run.")]
AskedLimit = Annotated[int | None, typer.Option("--limit", min=1, help="Return at most this many.")]
AskedFloor = Annotated[float | None, typer.Option("--min-score", help="Drop what scores below this.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="A parameter, slot.parameter=value, or an OpenClaw key, query.maxResults=8; may be given often.",
    ),
]
SettingsOfMany = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="A parameter, slot.parameter=value, or an OpenClaw key, query.maxResults=8; may be given often. "
        "It changes each of the systems that have it.",
    ),
]
SHIPPED = "openclaw-2026.2.13"

CONFIG_FILE: ContextVar[str | None] = ContextVar("config_file", default=None)
"""What `--config` names, FILE or FILE#AGENT, while a command runs; None without it."""


def pipeline_of(
    name: str, limit: int | None, min_score: float | None, settings: list[str] | None
) -> Pipeline:
    """The system of that name as it is asked. Raises InputError for a name or setting that is not known."""
    from workbench.retrieval.settings import with_settings
    from workbench.systems.openclaw.config.keys import check_key, key_of, with_keys

    keys = [one for one in settings or [] if key_of(one)]
    slots = [one for one in settings or [] if not key_of(one)]
    for one in slots:
        check_key(one)
    return with_settings(with_keys(_named(name), keys).asking(limit, min_score), slots)


def pipelines_of(
    names: Iterable[str], limit: int | None, min_score: float | None, settings: list[str] | None
) -> list[Pipeline]:
    """The systems of these names as they are asked; a setting changes each of them that has its parameter."""
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
    return with_settings_where_they_fit([one.asking(limit, min_score) for one in named], slots)


def _named(name: str) -> Pipeline:
    """The system of that name. With `--config`, a system that is typed takes the file's settings too."""
    from workbench.systems.registry import is_configuration, system

    file = CONFIG_FILE.get()
    return system(name if file is None or is_configuration(name) else f"{name}@{file}")


@contextmanager
def opened_index(
    memory: Path, index_file: Path | None, re_embed: bool = False
) -> Iterator[MemoryIndex | LiveIndex]:
    """The memory's index, or OpenClaw's own; stderr is told what is to be known of its answers."""
    from workbench.memory.sync import open_index, outdated
    from workbench.systems.openclaw.live.index import open_live_store

    if memory.is_file():
        with open_live_store(memory, re_embed=re_embed, index_path=index_file) as live:
            for remark in live.remarks:
                tell(remark)
            yield live
        return
    if re_embed:
        raise InputError(f"--re-embed is for OpenClaw's SQLite file, and {memory} is none.", "Leave it out.")
    with open_index(memory, index_path=index_file) as opened:
        changed = outdated(memory, opened)
        if changed:
            tell(
                f"The index is out of date: {count(changed, 'file')} changed (first: {changed[0]}).\n"
                f"  Update it: workbench index {memory}"
            )
        yield opened


def relative(target: str, memory: Path) -> str:
    """A target as the index names it, also when it was given with the memory's folder before it."""
    path = Path(target)
    inside = path.resolve().is_relative_to(memory.resolve()) and path.exists()
    return path.resolve().relative_to(memory.resolve()).as_posix() if inside else path.as_posix()


def count(things: Sized, noun: str) -> str:
    """How many there are, with the noun in its number: `1 file`, `2 files`."""
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"
