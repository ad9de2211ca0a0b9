"""Commands of an agent: its tools as they answer it, and the server that it talks to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.app import SAMPLE, Extra, IndexFile, Memory, Settings, app, pipeline_of
from workbench.cli.output import put
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.agent.contracts import Answer
    from workbench.agent.tools import AgentTools

RECOMMENDED = "openclaw-2026.2.13+or+rrf+minmax+evidence"

AgentSystem = Annotated[str, typer.Option("--system", "-s", help="The pipeline behind memory_search.")]
Contract = Annotated[
    str,
    typer.Option(help="The form of the answers: that of OpenClaw 2026.2.13 or 2026.9.6, or workbench."),
]
CitationMode = Annotated[str, typer.Option("--citations", help="Whether snippets name their place.")]


def agent_tools(
    memory: Path,
    index_file: Path | None,
    system: str = RECOMMENDED,
    contract: str = "2026.9.6",
    citations: str = "auto",
    extra: list[str] | None = None,
    settings: list[str] | None = None,
) -> AgentTools:
    """The tools as the options describe them. Raises InputError, naming the choices, for an unknown one."""
    from workbench.agent.contracts import CONTRACTS, Citations
    from workbench.agent.tools import AgentTools

    if contract not in CONTRACTS:
        raise InputError(f"There is no contract {contract!r}.", f"Choose one of {', '.join(CONTRACTS)}.")
    if citations not in list(Citations):
        raise InputError(
            f"There is no citations mode {citations!r}.", f"Choose one of {', '.join(Citations)}."
        )
    return AgentTools(
        memory,
        pipeline_of(system, None, None, settings),
        CONTRACTS[contract],
        citations=Citations(citations),
        extra_paths=None if extra is None else tuple(extra),
        index_path=index_file,
    )


@app.command("memory-search")
def memory_search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    max_results: Annotated[float | None, typer.Option(help="Return at most this many.")] = None,
    min_score: Annotated[float | None, typer.Option(help="Drop what scores below this.")] = None,
    corpus: Annotated[str | None, typer.Option(help="memory, sessions or all.")] = None,
    memory: Memory = SAMPLE,
    system: AgentSystem = RECOMMENDED,
    contract: Contract = "2026.9.6",
    citations: CitationMode = "auto",
    settings: Settings = None,
    index_file: IndexFile = None,
) -> None:
    """Print what an agent's memory_search returns. Exit code 1 when that is nothing."""
    with agent_tools(memory, index_file, system, contract, citations, settings=settings) as tools:
        answer = tools.memory_search(query, max_results, min_score, corpus)
    _put(answer, bool(answer["results"]))


@app.command("memory-get")
def memory_get(
    path: Annotated[str, typer.Argument(help="A file, by its path in the memory.")],
    from_: Annotated[float | None, typer.Option("--from", help="The first line, counting from 1.")] = None,
    lines: Annotated[float | None, typer.Option(help="How many lines.")] = None,
    memory: Memory = SAMPLE,
    contract: Contract = "2026.9.6",
    extra: Extra = None,
    index_file: IndexFile = None,
) -> None:
    """Print what an agent's memory_get returns. Exit code 1 when the file is not read."""
    with agent_tools(memory, index_file, contract=contract, extra=extra) as tools:
        answer = tools.memory_get(path, from_, lines)
    _put(answer, not answer.get("disabled") and answer.get("status", "ok") == "ok")


def _put(answer: Answer, fine: bool) -> None:
    put(answer, as_json=True)
    raise typer.Exit(0 if fine else 1)


@app.command()
def serve(
    memory: Memory = SAMPLE,
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP instead of stdio.")] = False,
    host: Annotated[str, typer.Option(help="With --http: an address of this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="With --http: the port; 0 for any free one.")] = 8765,
    system: AgentSystem = RECOMMENDED,
    contract: Contract = "workbench",
    citations: CitationMode = "auto",
    extra: Extra = None,
    settings: Settings = None,
    index_file: IndexFile = None,
) -> None:
    """Serve memory_search, memory_get and memory_explain to an agent, over MCP.

    In the form `workbench`, each line of a note begins with "> ", so that no note can pass for the tool.
    The forms of OpenClaw's releases are exact and have no such mark.
    """
    try:
        from workbench.agent import server
    except ModuleNotFoundError as error:
        raise InputError(
            f"The server needs the package {error.name}.", "pip install 'hybrid-search-workbench[agent]'"
        ) from None
    with agent_tools(memory, index_file, system, contract, citations, extra, settings) as tools:
        if http:
            server.serve_http(tools, host, port)
        else:
            server.serve_stdio(tools)
