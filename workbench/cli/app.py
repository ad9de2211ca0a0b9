"""What all commands share: the application, options that several take, and how a result is put out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from workbench.memory.index import MemoryIndex
    from workbench.retrieval.pipeline import Pipeline

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
    Path, typer.Option("--memory", "-m", readable=False, help="The folder that holds the memory.")
]
IndexFile = Annotated[
    Path | None,
    typer.Option("--index", readable=False, help="The index file; by default in your cache folder."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
System = Annotated[str, typer.Option("--system", "-s", help="The pipeline to run.")]
AskedLimit = Annotated[int | None, typer.Option("--limit", min=1, help="Return at most this many.")]
AskedFloor = Annotated[float | None, typer.Option("--min-score", help="Drop what scores below this.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="One parameter: slot.parameter=value; may be given often.")
]
SHIPPED = "openclaw-2026.2.13"


def pipeline_of(
    name: str, limit: int | None, min_score: float | None, settings: list[str] | None
) -> Pipeline:
    """The system of that name as it is asked. Raises InputError for a name or setting that is not known."""
    from workbench.retrieval.settings import with_settings
    from workbench.systems import system

    return with_settings(system(name).asking(limit, min_score), settings or [])


@contextmanager
def opened_index(memory: Path, index_file: Path | None) -> Iterator[MemoryIndex]:
    """The memory's index; stderr is told when the memory has changed since."""
    from workbench.memory.sync import open_index, outdated

    with open_index(memory, index_path=index_file) as opened:
        changed = outdated(memory, opened)
        if changed:
            print(
                f"The index is older than the memory: {len(changed)} files differ, {changed[0]} first.\n"
                f"  Bring it up to date: workbench index {memory}",
                file=sys.stderr,
            )
        yield opened


def relative(target: str, memory: Path) -> str:
    """A target as the index names it, also when it was given with the memory's folder before it."""
    path = Path(target)
    inside = path.resolve().is_relative_to(memory.resolve()) and path.exists()
    return path.resolve().relative_to(memory.resolve()).as_posix() if inside else path.as_posix()


def put(what: Any, as_json: bool = False) -> None:
    """Prints a result: as JSON, or as `show` does."""
    if as_json:
        print(json.dumps(what, indent=2, ensure_ascii=False))
    else:
        from workbench.views.text import show

        show(what)
