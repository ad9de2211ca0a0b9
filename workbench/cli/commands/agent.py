"""Commands for agents: run one of the agent's tools, or start the server that offers them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.app import SAMPLE, Extra, IndexFile, Memory, ReEmbed, Settings, app, pipeline_of
from workbench.cli.output import put
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.agent.contracts import Answer
    from workbench.agent.tools import AgentTools

FOR_AGENTS = "openclaw-2026.2.13+or+rrf+minmax+evidence"
"""Ready at once: `recommended` first reads the memory word by word, and a client may not wait for that."""

AgentSystem = Annotated[str, typer.Option("--system", "-s", help="The system that memory_search runs.")]
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


def agent_tools(
    memory: str,
    index_file: Path | None,
    system: str = FOR_AGENTS,
    contract: str = "2026.9.6",
    citations: str = "auto",
    extra: list[str] | None = None,
    settings: list[str] | None = None,
    workspace: Path | None = None,
    re_embed: bool = False,
    cases: Path | None = None,
) -> AgentTools:
    """The agent's tools with these options. Raises InputError with the choices for an unknown option."""
    from workbench.agent.contracts import CONTRACTS, Citations
    from workbench.agent.tools import AgentTools

    if contract not in CONTRACTS:
        raise InputError(f"{contract!r} is not a contract.", f"Choose one of {', '.join(CONTRACTS)}.")
    if citations not in list(Citations):
        raise InputError(f"{citations!r} is not a citations mode.", f"Choose one of {', '.join(Citations)}.")
    return AgentTools(
        memory,
        pipeline_of(system, None, None, settings),
        CONTRACTS[contract],
        citations=Citations(citations),
        extra_paths=None if extra is None else tuple(extra),
        index_path=index_file,
        workspace=workspace,
        re_embed=re_embed,
        cases=cases,
    )


@app.command("memory-search")
def memory_search(
    query: Annotated[str, typer.Argument(help="The question.")],
    max_results: Annotated[float | None, typer.Option(help="The largest number of results.")] = None,
    min_score: Annotated[float | None, typer.Option(help="The lowest score of a result.")] = None,
    corpus: Annotated[str | None, typer.Option(help="What to search: memory, sessions or all.")] = None,
    memory: Memory = SAMPLE,
    system: AgentSystem = FOR_AGENTS,
    contract: Contract = "2026.9.6",
    citations: CitationMode = "auto",
    settings: Settings = None,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
) -> None:
    """Print what memory_search returns to an agent. Exit code 1 if it returns no result."""
    with agent_tools(
        memory, index_file, system, contract, citations, settings=settings, re_embed=re_embed
    ) as tools:
        answer = tools.memory_search(query, max_results, min_score, corpus)
    _put(answer, bool(answer["results"]))


@app.command("memory-get")
def memory_get(
    path: Annotated[str, typer.Argument(help="The path of a file in the memory.")],
    from_: Annotated[
        float | None, typer.Option("--from", help="The first line; lines are counted from 1.")
    ] = None,
    lines: Annotated[float | None, typer.Option(help="The number of lines.")] = None,
    memory: Memory = SAMPLE,
    contract: Contract = "2026.9.6",
    extra: Extra = None,
    index_file: IndexFile = None,
    workspace: Workspace = None,
) -> None:
    """Print what memory_get returns to an agent. Exit code 1 if the file cannot be read."""
    with agent_tools(memory, index_file, contract=contract, extra=extra, workspace=workspace) as tools:
        answer = tools.memory_get(path, from_, lines)
    _put(answer, not answer.get("disabled") and answer.get("status", "ok") == "ok")


def _put(answer: Answer, fine: bool) -> None:
    put(answer, as_json=True)
    raise typer.Exit(0 if fine else 1)


@app.command()
def serve(
    memory: Memory = SAMPLE,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over streamable HTTP instead of stdio.")
    ] = False,
    host: Annotated[str, typer.Option(help="With --http: the loopback address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="With --http: the port; 0 chooses a free one.")] = 8765,
    system: AgentSystem = FOR_AGENTS,
    contract: Contract = "workbench",
    citations: CitationMode = "auto",
    extra: Extra = None,
    settings: Settings = None,
    index_file: IndexFile = None,
    workspace: Workspace = None,
    re_embed: ReEmbed = False,
    cases: Annotated[
        Path | None,
        typer.Option(readable=False, help="Offer memory_case too, which writes cases into this folder only."),
    ] = None,
) -> None:
    """Serve memory_search, memory_get, memory_explain and memory_diagnose to an agent, over MCP.

    In the form `workbench`, each line of a note begins with "> ", so that no note can pass for the tool.
    The forms of OpenClaw's releases are exact and have no such mark.
    """
    try:
        from workbench.agent import server
    except ModuleNotFoundError as error:
        raise InputError(
            f"The server needs the package {error.name}.",
            "Install it: pip install 'hybrid-search-workbench[agent]'",
        ) from None
    with agent_tools(
        memory, index_file, system, contract, citations, extra, settings, workspace, re_embed, cases
    ) as tools:
        if http:
            server.serve_http(tools, host, port)
        else:
            server.serve_stdio(tools)
