"""The command that keeps an index up to date while files change."""

from __future__ import annotations

import signal
import traceback
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from workbench.cli.app import SAMPLE, Extra, IndexFile, app
from workbench.cli.commands.configuring import asked_of, configured_embedder
from workbench.cli.commands.memory import (
    BACKEND,
    MODEL,
    PRECISION,
    As,
    Backend,
    ChunkOption,
    Folder,
    Model,
    Precision,
    Reading,
    Transcripts,
    cutting,
    say_left_out,
    variant_of,
)
from workbench.cli.output import say, tell
from workbench.errors import WorkbenchError


@app.command()
def watch(
    context: typer.Context,
    folder: Folder = Path(SAMPLE),
    index_file: IndexFile = None,
    sessions: Transcripts = None,
    extra: Extra = None,
    model: Model = MODEL,
    reading: Reading = None,
    precision: Precision = PRECISION,
    backend: Backend = BACKEND,
    like: As = None,
    chunk: ChunkOption = None,
    skip: Annotated[bool, typer.Option("--skip", hidden=True, help="Always on here.")] = True,
) -> None:
    """Update an index whenever files change, until Ctrl-C. Prints one line per sync.

    A sync starts when no file has changed for 1.5 seconds. A transcript starts one when it has grown by
    100,000 bytes or 50 lines. A file that cannot be used is named once and left out.
    """
    from workbench.memory import watching
    from workbench.memory.choices import extra_paths_of
    from workbench.memory.files import memory_root
    from workbench.memory.index import default_index_path
    from workbench.memory.paths import GENERAL
    from workbench.memory.sessions import Sessions, Thresholds
    from workbench.memory.sync import index_folder, usual_reading

    root, variant = memory_root(folder), variant_of(backend, precision)
    sources = [] if sessions is None else [Sessions(sessions.resolve())]
    configured, (chunker, release) = asked_of(context), cutting(context, like, chunk)
    usual = usual_reading(root, index_path=index_file, like=release, extra=extra, sources=sources)
    embedder = configured_embedder(context, model, reading, usual, variant=variant)
    thresholds = configured.thresholds if configured else Thresholds()
    timing = watching.Timing(configured.quiet) if configured else watching.Timing()
    beside = extra_paths_of(root, index_file or default_index_path(root)) if extra is None else extra
    transcripts = [watching.Transcripts(source, thresholds) for source in sources]
    rules = release.rules if release else GENERAL
    known_problems: set[str] = set()

    def sync() -> None:
        for one in transcripts:
            one.syncing()
        summary = index_folder(
            root,
            embedder,
            index_path=index_file,
            chunker=chunker,
            like=release,
            extra=beside,
            sources=sources,
            skip=skip,
        )
        fresh = [problem for problem in summary.skipped if problem not in known_problems]
        say_left_out(replace(summary, skipped=fresh), sources)
        known_problems.clear()
        known_problems.update(summary.skipped)
        say(f"{datetime.now():%H:%M:%S}  {summary}")

    def failed(error: Exception) -> None:
        # An unexpected failure is a defect of the workbench: a report of it needs the traceback.
        problem = error if isinstance(error, WorkbenchError) else "".join(traceback.format_exception(error))
        tell(f"{datetime.now():%H:%M:%S}  not synced: {problem}")

    tell(f"Watching {root}. Stop with Ctrl-C.")
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        watching.Watcher([watching.Notes(root, beside, rules), *transcripts], sync, failed, timing).run(
            Event()
        )
    except KeyboardInterrupt:
        tell("Stopped.")
    finally:
        signal.signal(signal.SIGTERM, before)
