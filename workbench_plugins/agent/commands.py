"""Commands for agents: run one of the agent's tools, serve them all, or keep an index up to date."""

from __future__ import annotations

import signal
import traceback
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.app import (
    SAMPLE,
    Extra,
    IndexFile,
    Memory,
    Question,
    QuestionModel,
    ReEmbed,
    Settings,
    SystemOptions,
)
from workbench.cli.memory import Folder, IndexingOptions, say_left_out
from workbench.cli.numbers import number, port_number
from workbench.cli.output import print_error, print_output, say
from workbench.errors import InputError, Interrupted, WorkbenchError, install_extra

if TYPE_CHECKING:
    from workbench_plugins.agent.tool_contracts import Answer
    from workbench_plugins.agent.tools import AgentTools

FOR_AGENTS = "openclaw-2026.2.13+or+rrf+minmax+evidence"

AgentSystem = Annotated[
    str | None,
    typer.Option("--system", "-s", help="The system that memory_search runs. Of serve: the recommended one."),
]
Contract = Annotated[
    str,
    typer.Option(help="The form of the answers: that of OpenClaw 2026.2.13 or 2026.9.6, or workbench."),
]
Workspace = Annotated[
    Path | None,
    typer.Option(readable=False, help="With OpenClaw's SQLite file: the folder that memory_get reads from."),
]
CitationMode = Annotated[
    str, typer.Option("--citations", help="Whether snippets end with their source: auto, on or off.")
]


@dataclass(frozen=True)
class FileOptions:
    """Options of the commands that read the files of a memory."""

    memory: Memory = SAMPLE
    contract: Contract = "2026.9.6"
    extra: Extra = None
    index_file: IndexFile = None
    workspace: Workspace = None
    question_model: QuestionModel = None

    def tools(self, **more: Any) -> AgentTools:
        """The agent's tools with these options. Raises InputError with the choices for an unknown one."""
        from workbench_plugins.agent.tool_contracts import CONTRACTS
        from workbench_plugins.agent.tools import AgentTools

        if self.contract not in CONTRACTS:
            raise InputError(
                f"{self.contract!r} is not a contract.", f"Choose one of {', '.join(CONTRACTS)}."
            )
        return AgentTools(
            self.memory,
            contract=CONTRACTS[self.contract],
            extra_paths=None if self.extra is None else tuple(self.extra),
            index_path=self.index_file,
            workspace=self.workspace,
            **more,
        )


@dataclass(frozen=True)
class ToolOptions(FileOptions):
    """Options of the commands that search a memory as an agent does."""

    system: AgentSystem = FOR_AGENTS
    citations: CitationMode = "auto"
    settings: Settings = None
    re_embed: ReEmbed = False

    def tools(self, **more: Any) -> AgentTools:
        from workbench_plugins.agent.tool_contracts import Citations

        if self.citations not in list(Citations):
            raise InputError(
                f"{self.citations!r} is not a citations mode.", f"Choose one of {', '.join(Citations)}."
            )
        pipeline = SystemOptions(settings=self.settings).pipeline(self.system or FOR_AGENTS)
        return super().tools(
            pipeline=pipeline, citations=Citations(self.citations), re_embed=self.re_embed, **more
        )


@dataclass(frozen=True)
class ServeOptions(ToolOptions):
    """Those of the server, whose answers mark the text of notes."""

    contract: Contract = "workbench"
    system: AgentSystem = None
    calibrate: Annotated[
        bool,
        typer.Option(
            help="Set the strictest floor that costs no question of the memory's questions.yaml its file."
        ),
    ] = True

    def tools(self, **more: Any) -> AgentTools:
        """Those of the recommended system if no other is named, with a floor from the memory's labels.

        A floor that the user sets, as the file of a calibration does, stays.
        """
        from workbench.systems.catalogue import default_system

        chosen = replace(self, system=self.system or default_system())
        calibrated = self.calibrate and not chosen.sets_floor
        return super(ServeOptions, chosen).tools(calibrated=calibrated, **more)

    @property
    def sets_floor(self) -> bool:
        """Whether the settings give the system another floor than its own."""
        from workbench.retrieval.cutoff import Floor

        def floors(settings: list[str] | None) -> list[Floor]:
            asked = SystemOptions(settings=settings).pipeline(self.system or FOR_AGENTS)
            return [one for one in asked.stages if isinstance(one, Floor)]

        return floors(self.settings) != floors(None)


def memory_search(
    query: Question,
    *,
    max_results: Annotated[
        float | None,
        typer.Option(parser=partial(number, "--max-results"), help="The largest number of results."),
    ] = None,
    min_score: Annotated[
        float | None,
        typer.Option(parser=partial(number, "--min-score"), help="The lowest score of a result."),
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="What to search: memory, sessions or all.")] = None,
    options: ToolOptions,
) -> None:
    """Print what memory_search returns to an agent, from OpenClaw's repaired pipeline by default.

    Exit code 1 if it returns no result.
    """
    with options.tools() as tools:
        answer = tools.memory_search(query, max_results, min_score=min_score, corpus=corpus)
    _put(answer, bool(answer["results"]))


def memory_get(
    path: Annotated[str, typer.Argument(help="The path of a file in the memory.")],
    *,
    from_: Annotated[
        float | None,
        typer.Option(
            "--from", parser=partial(number, "--from"), help="The first line; lines are counted from 1."
        ),
    ] = None,
    lines: Annotated[
        float | None, typer.Option(parser=partial(number, "--lines"), help="The number of lines.")
    ] = None,
    options: FileOptions,
) -> None:
    """Print what memory_get returns to an agent. Exit code 1 if the file cannot be read."""
    with options.tools() as tools:
        answer = tools.memory_get(path, from_, lines)
    _put(answer, not answer.get("disabled") and answer.get("status", "ok") == "ok")


def _put(answer: Answer, fine: bool) -> None:
    print_output(answer, as_json=True)
    raise typer.Exit(0 if fine else 1)


LOCALHOST, PORT = "127.0.0.1", 8765


def serve(
    *,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over streamable HTTP instead of stdio.")
    ] = False,
    host: Annotated[str, typer.Option(help="With --http: the loopback address to listen on.")] = LOCALHOST,
    port: Annotated[
        int, typer.Option(parser=port_number, help="With --http: the port; 0 chooses a free one.")
    ] = PORT,
    cases: Annotated[
        Path | None,
        typer.Option(readable=False, help="Offer memory_case too, which writes cases into this folder only."),
    ] = None,
    options: ServeOptions,
) -> None:
    """Serve a memory's tools to an agent, over MCP, with the recommended system by default.

    The tools are memory_search, memory_get, memory_explain and memory_diagnose.

    In the form `workbench`, each line of a note begins with "> ", so that no note can pass for the tool.
    The forms of OpenClaw's releases are exact and have no such mark.
    """
    if not http and (host, port) != (LOCALHOST, PORT):
        raise InputError(
            "--host and --port belong to a server over HTTP; without --http the agent is at stdin.",
            "Add --http, or leave them out.",
        )
    try:
        from workbench_plugins.agent import server
    except ModuleNotFoundError as error:
        raise InputError(
            f"The server needs the package {error.name}.",
            install_extra("agent"),
        ) from None
    with options.tools(cases=cases) as tools:
        try:
            if http:
                server.serve_http(tools, host, port)
            else:
                server.serve_stdio(tools)
        except KeyboardInterrupt:
            raise Interrupted("Stopped.") from None


def watch(
    context: typer.Context,
    folder: Folder = Path(SAMPLE),
    *,
    options: IndexingOptions,
) -> None:
    """Update an index whenever files change, until Ctrl-C, as `index --watch` does. Prints one line per sync.

    A sync starts when no file has changed for 1.5 seconds. A transcript starts one when it has grown by
    100,000 bytes or 50 lines. A file that cannot be used is named once and left out.
    """
    from workbench.memory.choices import extra_paths_of
    from workbench.memory.files import memory_root
    from workbench.memory.index_files import default_index_path
    from workbench.memory.sync import index_folder
    from workbench_plugins.agent import watching

    root = memory_root(folder)
    if options.sessions is not None:
        options = replace(options, sessions=options.sessions.resolve())
    configured, (embedder, given) = context.obj, options.prepared(context, root)
    timing = watching.Timing(configured.quiet) if configured else watching.Timing()
    extra = given.extra
    if extra is None:
        extra = extra_paths_of(root, given.index_path or default_index_path(root))
    given = replace(given, extra=extra, skip=True)
    transcripts = []
    if given.sources:
        from workbench_plugins.openclaw.sessions import Sessions, Thresholds

        thresholds = configured.thresholds if configured else Thresholds()
        transcripts = [
            watching.Transcripts(one, thresholds) for one in given.sources if isinstance(one, Sessions)
        ]
    notes = watching.Notes(root, extra, given.indexing.rules)
    known_problems: set[str] = set()

    def sync() -> None:
        for one in transcripts:
            one.syncing()
        summary = index_folder(root, embedder, options=given)
        fresh = [problem for problem in summary.skipped if problem not in known_problems]
        say_left_out(replace(summary, skipped=fresh), given.sources)
        known_problems.clear()
        known_problems.update(summary.skipped)
        say(f"{datetime.now():%H:%M:%S}  {summary}")

    def failed(error: Exception) -> None:
        # An unexpected failure is a defect of the workbench: a report of it needs the traceback.
        problem = error if isinstance(error, WorkbenchError) else "".join(traceback.format_exception(error))
        print_error(f"{datetime.now():%H:%M:%S}  not synced: {problem}")

    print_error(f"Watching {root}. Stop with Ctrl-C.")
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        watching.Watcher([notes, *transcripts], sync, failed, timing).run(Event())
    except KeyboardInterrupt:
        print_error("Stopped.")
    finally:
        signal.signal(signal.SIGTERM, before)
