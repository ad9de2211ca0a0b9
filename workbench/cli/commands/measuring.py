"""Commands that vary a system's parameters, and that look for settings which cannot work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.app import (
    SAMPLE,
    SHIPPED,
    AsJson,
    AskedFloor,
    AskedLimit,
    ClusterAddress,
    IndexFile,
    Memory,
    ReEmbed,
    Settings,
    System,
    app,
    labelled,
    opened_index,
    pipeline_of,
)
from workbench.cli.output import put, tell
from workbench.errors import InputError
from workbench.safe_text import counted


@app.command()
def sweep(
    system: Annotated[str, typer.Argument(help="The system.")],
    axes: Annotated[
        list[str],
        typer.Argument(help="What to vary: fusion.vector=0:1:11 (from:to:steps), query.join=AND,OR …"),
    ],
    questions: Annotated[
        Path | None,
        typer.Option("--questions", "-q", readable=False, help="A YAML file of labelled questions."),
    ] = None,
    one_at_a_time: Annotated[
        bool, typer.Option("--one-at-a-time", help="Vary each parameter alone, instead of a grid.")
    ] = False,
    measure: Annotated[
        str, typer.Option("--measure", help="Measure by hits, RR, nDCG@10, Success@5, …")
    ] = "hits",
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Write the map of the sweep to this HTML file.")
    ] = None,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: Settings = None,
    memory: Memory = SAMPLE,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Run labelled questions at many settings of a system: the best ones, and what the best is worth.

    The best setting's own number flatters it. The line "held out" says what remains on questions that did
    not choose it.
    """
    from workbench.lab.cluster import cluster_at
    from workbench.lab.questions import check_targets
    from workbench.lab.sweep.choosing import as_json as data
    from workbench.lab.sweep.running import sweep as run_sweep

    pipeline = pipeline_of(system, limit, min_score, settings)
    asked = labelled(memory, questions)
    with (
        cluster_at(cluster) as workers,
        opened_index(memory, index_file, re_embed) as opened,
        opened.snapshot(),
    ):
        check_targets(asked, opened.paths())
        found = run_sweep(pipeline, axes, asked, opened, one_at_a_time, measure, workers)
    if figure is not None:
        from workbench.views.figures.sweep import sweep_figure

        sweep_figure(found).write_html(figure, include_plotlyjs=True)
    put(data(found) if as_json else found, as_json)


@app.command()
def lint(
    system: Annotated[str, typer.Argument(help="The system, or an openclaw.json.")],
    memory: Annotated[
        str | None,
        typer.Argument(help="A memory to ask as well: a folder, or an OpenClaw SQLite file."),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", "-q", readable=False, help="A YAML file of questions to ask the memory."),
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", help="Another system: can the two differ at all?")
    ] = None,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: Settings = None,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    as_json: AsJson = False,
) -> None:
    """Find settings that cannot work, by arithmetic, and with a memory also by asking it.

    Exit code 1 if any is found.
    """
    from dataclasses import asdict

    from workbench.lab.checks.findings import lint as lint_alone
    from workbench.lab.checks.findings import lint_on, lint_pair
    from workbench.lab.questions import load_questions
    from workbench.views.measuring.findings import rendered_findings

    pipeline = pipeline_of(system, limit, min_score, settings)
    found = lint_alone(pipeline)
    if against is not None:
        found += lint_pair(pipeline, pipeline_of(against, limit, min_score, settings))
    asked = [one.question for one in load_questions(questions).questions] if questions else []
    if memory is not None:
        with opened_index(memory, index_file, re_embed) as opened:
            found += lint_on(pipeline, opened, asked)
    put([asdict(one) for one in found] if as_json else rendered_findings(found), as_json)
    raise typer.Exit(1 if found else 0)


@app.command()
def gate(
    questions: Annotated[
        Path, typer.Option("--questions", "-q", readable=False, help="A YAML file of labelled questions.")
    ],
    against: Annotated[
        Path | None, typer.Option("--against", readable=False, help="The saved answers to compare with.")
    ] = None,
    save: Annotated[Path | None, typer.Option("--save", help="Write today's answers to this file.")] = None,
    memory: Memory = SAMPLE,
    system: System = SHIPPED,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: Settings = None,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    as_json: AsJson = False,
) -> None:
    """Compare today's answers with saved ones, for the CI of a team: who flipped, and why.

    Exit code 1 if hits, RR or silence on unanswerable questions fall by more than the paired test allows for
    luck. Exit code 2 if a question, a label or a file is gone.
    """
    from workbench.lab.evaluation import evaluate
    from workbench.lab.exchange.gate import gate as held_against
    from workbench.lab.exchange.gate import read_saved, saved_of, write_saved
    from workbench.lab.questions import check_targets, load_questions

    if against is None and save is None:
        raise InputError("There is nothing to compare with.", "Give --against FILE, or first --save FILE.")
    saved = read_saved(against) if against else None
    asked, pipeline = load_questions(questions), pipeline_of(system, limit, min_score, settings)
    with opened_index(memory, index_file, re_embed) as opened, opened.snapshot():
        check_targets(asked, opened.paths())
        (found,) = evaluate(asked, [pipeline], opened)
        result = held_against(found, saved, opened) if saved else None
    if save:
        write_saved(saved_of(found), save)
        asked_of = counted(len(found.asked), "question")
        tell(f"Saved the answers of {pipeline.name} to {asked_of} as {save}.")
    if result:
        put(result.as_json() if as_json else result, as_json)
        raise typer.Exit(0 if result.passes else 1)
