"""Commands that ask why, vary a system's parameters, and look for settings which cannot work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.app import (
    AsJson,
    AskedSystem,
    CaseOut,
    ClusterAddress,
    Details,
    IndexFile,
    IndexOptions,
    Question,
    QuestionsFile,
    ReEmbed,
    SystemOptions,
    configured_name,
    labelled,
    workers_at,
)
from workbench.cli.output import answer, print_output
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.measure.questions import QuestionSet

Labels = Annotated[
    Path | None,
    typer.Option(
        "--questions",
        readable=False,
        help="A YAML file of labelled questions. Default: questions.yaml in the memory, if it is there.",
    ),
]


def diagnose(
    question: Question,
    where: IndexOptions,
    changes: SystemOptions,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The file that you expect in the answer.")
    ] = None,
    unwanted: Annotated[
        str | None, typer.Option("--unwanted", "-u", help="A file of the answer that does not belong there.")
    ] = None,
    system: AskedSystem = None,
    config: Annotated[
        str | None, typer.Option("--config", help="An openclaw.json, or FILE#AGENT: the system to run.")
    ] = None,
    labels: Labels = None,
    rechunk: Annotated[
        bool,
        typer.Option(
            "--rechunk",
            help="Try chunks of other sizes too, in temporary indexes. Embedding new chunks can take long.",
        ),
    ] = False,
    details: Details = False,
    as_json: AsJson = False,
    case: CaseOut = None,
) -> None:
    """Find what loses a file, which settings would bring it back, and what they cost.

    With --unwanted: what brings a file in that does not belong there, and what would keep it out. Exit code 1
    if the repair that is printed first has not been run, or is not enough.
    """
    from dataclasses import replace

    from workbench.cli.elsewhere import outside, path_in
    from workbench_plugins.diagnose import diagnosis

    if target is not None and unwanted is not None:
        raise InputError(
            "A diagnosis is about one file, and this names two: --target and --unwanted.",
            "Leave one of them out: --target FILE is for a missing file, --unwanted FILE for one too many.",
        )
    if target is None and unwanted is None:
        raise InputError(
            "A diagnosis is about one file.", "Give --target FILE for a missing one, or --unwanted FILE."
        )
    if config is not None:
        system = config if system is None else f"{system}@{config}"
    name = where.system(system)
    pipeline = changes.pipeline(name)
    questions = _labels(labels, where.memory)
    with where.opened(pipeline) as opened:
        trials = diagnosis.Trials(rechunk, configured_name(name))
        ask = diagnosis.diagnose if unwanted is None else diagnosis.diagnose_unwanted
        path = path_in(opened, where.memory, where.relative(target or unwanted or ""))
        if (refused := outside(path, where.memory, opened)) is not None:
            raise refused
        found = ask(question, pipeline, opened, path, questions=questions, trials=trials)
        if case is not None:
            from workbench_plugins.cases.commands import save_diagnosis

            save_diagnosis(case, found, opened)
    command = [
        "workbench",
        "search",
        " ".join(question.split()),  # a command to paste is one line
        *where.typed,
        "--system",
        configured_name(name),
        *changes.typed,
    ]
    told = replace(found, command=tuple(command))
    answer(told, as_json, yes=found.repaired, details=details)


def _labels(given: Path | None, memory: str) -> QuestionSet | None:
    """The labelled questions: those of the option, or those in the memory's folder, or none."""
    from workbench.measure.questions import labels_of, load_questions

    return labels_of(memory) if given is None else load_questions(given)


def triage(
    words: Annotated[str, typer.Argument(help='What you see, such as "nothing comes back".')],
    as_json: AsJson = False,
) -> None:
    """Find the known symptom that fits your words: what to run, public bugs like it, and a lesson.

    Exit code 1 if no known symptom is near.
    """
    from workbench_plugins.diagnose.triage import triage as found_for

    found = found_for(words)
    answer(found, as_json, yes=found.known)


def blame(
    one: Annotated[str, typer.Argument(metavar="A", help="The name of a system.")],
    where: IndexOptions,
    changes: SystemOptions,
    other: Annotated[str | None, typer.Argument(metavar="[B]", help="The name of another system.")] = None,
    given: Annotated[
        list[str] | None, typer.Option("--with", help="Instead of B: A with this, as fusion.vector=0.05.")
    ] = None,
    question: Annotated[
        str | None, typer.Option("--question", "-q", help="Only this question, not a file of questions.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="With --question: the file that answers it.")
    ] = None,
    labels: Labels = None,
    measure: Annotated[
        str, typer.Option("--measure", help="What is compared: hits, RR, nDCG@10, Success@5, …")
    ] = "hits",
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Share the difference between two systems among the changes between them. Exit code 1 if it is 0.

    Two systems with different indexes (`index --as NAME`) are each searched in their own, and the index is
    one of the changes. --set, --limit and --min-score change both systems. With the same system twice, they
    change the second alone.
    """
    from dataclasses import replace

    from workbench.measure.blame import blame as blamed
    from workbench.retrieval.settings import with_settings

    if (other is None) == (not given):
        raise InputError("Blame compares two systems.", "Name a second one, or give --with SETTING.")
    first, second = changes.pipelines([one, other or one])
    if given:
        second = replace(with_settings(first, given), name=f"{one} with {', '.join(given)}")
    if one == other:
        first, second = (
            SystemOptions().pipeline(one),
            replace(second, name=f"{second.name} with your options"),
        )
    if target is not None and question is None:
        raise InputError("--target belongs to a --question.", "Add --question, or leave --target out.")
    asked = question if question is not None else _labels(labels, where.memory)
    if asked is None:
        raise InputError(
            f"There are no labelled questions in {where.memory}.", "Give --questions FILE, or one --question."
        )
    with where.opened_for_each([first, second]) as (here, there):
        path = where.relative(target) if target else ""
        found = blamed(first, second, here, asked, target=path, measure=measure, other_index=there)
    shown = found if as_json else [*found.view("--json lists all")]
    answer(shown, as_json, yes=found.difference, details=details)


def sweep(
    system: Annotated[str, typer.Argument(help="The system.")],
    axes: Annotated[
        list[str],
        typer.Argument(help="What to vary: fusion.vector=0:1:11 (from:to:steps), query.join=AND,OR …"),
    ],
    where: IndexOptions,
    changes: SystemOptions,
    questions: QuestionsFile = None,
    one_at_a_time: Annotated[
        bool, typer.Option("--one-at-a-time", help="Vary each parameter alone, instead of a grid.")
    ] = False,
    measure: Annotated[
        str, typer.Option("--measure", help="Measure by hits, RR, nDCG@10, Success@5, …")
    ] = "hits",
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Write the map of the sweep to this HTML file.")
    ] = None,
    cluster: ClusterAddress = None,
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Run labelled questions at many settings of a system: the best ones, and what the best is worth.

    The best setting's own number flatters it. The line "On questions that did not choose it" says what
    remains. --details prints the first ten settings, and those that no other beats.
    """
    from workbench.measure.measures import known_measure
    from workbench.measure.questions import check_targets
    from workbench_plugins.diagnose.sweep import sweep as run_sweep

    known_measure(measure)
    pipeline = changes.pipeline(system)
    asked = labelled(where.memory, questions)
    with workers_at(cluster) as workers, where.opened_telling(pipeline) as opened, opened.snapshot():
        check_targets(asked, opened.paths())
        found = run_sweep(pipeline, axes, asked, opened, one_at_a_time, workers).by(measure)
    if figure is not None:
        from workbench.memory.files import replaced
        from workbench.views.plotlyjs import figure_page

        with replaced(figure) as file:
            file.write(figure_page(f"Sweep of {pipeline.name}", found.plot().spec))
    print_output(found, as_json, details)


def lint(
    system: Annotated[str, typer.Argument(help="The system, or an openclaw.json.")],
    changes: SystemOptions,
    memory: Annotated[
        str | None, typer.Argument(help="A memory to ask as well: a folder, or an OpenClaw SQLite file.")
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", "-q", readable=False, help="A YAML file of questions to ask the memory."),
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", help="Another system: can the two differ at all?")
    ] = None,
    index_file: IndexFile = None,
    re_embed: ReEmbed = False,
    as_json: AsJson = False,
) -> None:
    """Find settings that cannot work, by arithmetic, and with a memory also by asking it.

    Exit code 1 if any is found.
    """
    from workbench.measure.questions import load_questions
    from workbench_plugins.diagnose.findings import lint as lint_alone
    from workbench_plugins.diagnose.findings import lint_on, lint_pair

    pipeline = changes.pipeline(system)
    found = lint_alone(pipeline)
    if against is not None:
        found += lint_pair(pipeline, changes.pipeline(against))
    asked = [one.question for one in load_questions(questions).questions] if questions else []
    if memory is not None:
        with IndexOptions(memory, index_file, re_embed).opened_telling(pipeline) as opened:
            found += lint_on(pipeline, opened, asked)
    answer([one.as_json() for one in found] if as_json else found, as_json, yes=not found)
