"""The command line. Exit codes: 0 yes, 1 no (nothing returned, target not in the answer, something is
missing on this machine), 2 the input cannot be used."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.records import InputError

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


def main() -> None:
    """Runs the command line; an input that cannot be used ends with its message and exit code 2."""
    try:
        app()
    except InputError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None


@app.command()
def index(
    folder: Annotated[
        Path, typer.Argument(readable=False, help="The folder that holds the memory.")
    ] = SAMPLE,
    index_file: IndexFile = None,
    model: Annotated[str, typer.Option(help="A sentence-transformers model.")] = "all-MiniLM-L6-v2",
    reading: Annotated[
        str, typer.Option(help="Texts longer than the model's window: windowed or truncated.")
    ] = "windowed",
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Make the index anew.")] = False,
    skip: Annotated[bool, typer.Option("--skip", help="Leave out files that cannot be used.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make the index of a memory agree with its folder."""
    from dataclasses import asdict

    from workbench.memory.embedding import LocalEmbedder, reading_named
    from workbench.memory.sync import index_folder

    embedder = LocalEmbedder(model, reading_named(reading))
    summary = index_folder(folder, embedder, index_path=index_file, rebuild=rebuild, skip=skip)
    for problem in summary.skipped:
        print(f"left out: {problem}", file=sys.stderr)
    _show(asdict(summary) if as_json else str(summary), as_json)


@app.command()
def search(
    question: Annotated[str, typer.Argument(help="What to look for.")],
    memory: Memory = SAMPLE,
    system: System = SHIPPED,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: Settings = None,
    index_file: IndexFile = None,
    as_json: AsJson = False,
) -> None:
    """Search a memory. Exit code 1 when nothing is returned."""
    from workbench.retrieval import pipeline
    from workbench.retrieval.query import check_question
    from workbench.views.data import trace_data

    asked, cleaned = _pipeline(system, limit, min_score, settings), check_question(question)
    with _opened(memory, index_file) as opened:
        trace = pipeline.search(cleaned, asked, opened)
    _show(trace_data(trace) if as_json else trace, as_json)
    raise typer.Exit(0 if trace.results else 1)


@app.command()
def explain(
    question: Annotated[str, typer.Argument(help="What was looked for.")],
    target: Annotated[str, typer.Option("--target", "-t", help="The file that should be found.")],
    memory: Memory = SAMPLE,
    system: System = SHIPPED,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: Settings = None,
    index_file: IndexFile = None,
    as_json: AsJson = False,
) -> None:
    """Say why a file is in the answer, or not. Exit code 1 when it is not."""
    from workbench.retrieval import explain as explaining
    from workbench.retrieval import pipeline
    from workbench.retrieval.query import check_question
    from workbench.views.data import explanation_data

    asked, cleaned = _pipeline(system, limit, min_score, settings), check_question(question)
    with _opened(memory, index_file) as opened:
        trace = pipeline.search(cleaned, asked, opened)
        explanation = explaining.explain(trace, opened, _relative(target, memory))
    _show(explanation_data(explanation) if as_json else explanation, as_json)
    raise typer.Exit(0 if explanation.fate is explaining.Fate.RETURNED else 1)


@app.command()
def evaluate(
    systems: Annotated[
        list[str] | None, typer.Option("--system", "-s", help="A pipeline; may be given often.")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option("--questions", "-q", readable=False, help="Labelled questions, as YAML.")
    ] = None,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: Settings = None,
    memory: Memory = SAMPLE,
    index_file: IndexFile = None,
    as_json: AsJson = False,
) -> None:
    """Ask labelled questions of pipelines: hits, files passing, MRR, and silence on the controls."""
    from workbench.lab.judgments import check_targets, load_questions
    from workbench.lab.metrics import evaluate as evaluate_all
    from workbench.systems import SYSTEMS

    chosen = [_pipeline(name, limit, min_score, settings) for name in systems or SYSTEMS]
    asked = load_questions(questions or memory / "questions.yaml")
    with _opened(memory, index_file) as opened:
        check_targets(asked, opened.store.stamps())
        evaluations = evaluate_all(asked, chosen, opened)
    _show([one.as_json() for one in evaluations] if as_json else evaluations, as_json)


@app.command()
def systems(as_json: AsJson = False) -> None:
    """List the systems that can be run."""
    from workbench.systems import SYSTEMS
    from workbench.views.systems import system_data, systems_table

    known = list(SYSTEMS.values())
    _show([system_data(one) for one in known] if as_json else systems_table(known), as_json)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A system.")],
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print a system: its stages in order, its changes, and its source."""
    from workbench.views.systems import system_data

    asked = _pipeline(name, limit, min_score, settings)
    _show(system_data(asked) if as_json else asked, as_json)


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A system.")],
    after: Annotated[str, typer.Argument(help="Another.")],
    as_json: AsJson = False,
) -> None:
    """Print what differs between two systems. Exit code 1 when nothing does."""
    from workbench.systems import system
    from workbench.views.systems import diff_data
    from workbench.views.text import diff_text

    found = system(before).diff(system(after))
    _show(diff_data(found) if as_json else diff_text(found), as_json)
    raise typer.Exit(0 if found else 1)


@app.command()
def compare(
    names: Annotated[list[str], typer.Argument(help="Two systems, or more.")],
    question: Annotated[str, typer.Option("--question", "-q", help="What to look for.")],
    memory: Memory = SAMPLE,
    limit: AskedLimit = None,
    min_score: AskedFloor = None,
    settings: Settings = None,
    index_file: IndexFile = None,
    as_json: AsJson = False,
) -> None:
    """Ask several systems the same question, and set their answers side by side."""
    from workbench.retrieval import pipeline
    from workbench.retrieval.query import check_question
    from workbench.views.data import trace_data
    from workbench.views.systems import comparison_table

    cleaned = check_question(question)
    asked = [_pipeline(name, limit, min_score, settings) for name in names]
    with _opened(memory, index_file) as opened:
        traces = [pipeline.search(cleaned, one, opened) for one in asked]
    _show([trace_data(one) for one in traces] if as_json else comparison_table(traces), as_json)


@app.command()
def museum(
    name: Annotated[
        str | None, typer.Argument(help="A specimen; without one, all are listed and run.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run public bugs as specimens: shipped, and fixed. Exit code 1 when one does not show its bug."""
    from workbench.lab.museum import SPECIMENS, specimen
    from workbench.views.museum import finding_data, findings_view

    chosen = [specimen(name)] if name else list(SPECIMENS.values())
    findings = [one.run() for one in chosen]
    if as_json:
        _show([finding_data(one) for one in findings], as_json)
    else:
        _show(findings[0] if name else findings_view(findings))
    raise typer.Exit(0 if all(one.shows for one in findings) else 1)


@app.command()
def fusion(
    lists: Annotated[
        Path | None,
        typer.Option(readable=False, help='JSON: {"vector": {"id": score}, "keyword": {"id": score}}.'),
    ] = None,
    question: Annotated[str | None, typer.Option("--question", "-q", help="Take its two legs.")] = None,
    memory: Memory = SAMPLE,
    floor: Annotated[float, typer.Option(help="The least score that counts as passing.")] = 0.35,
    watch: Annotated[str | None, typer.Option(help="An id to watch.")] = None,
    index_file: IndexFile = None,
) -> None:
    """The same two lists, whose fusion? Every engine's order of them, side by side."""
    from workbench.lab.whose_fusion import EXAMPLE, legs_of, read_lists, whose_fusion
    from workbench.retrieval.query import check_question
    from workbench.views.fusion import comparison_view

    if lists is not None:
        vector, keyword = read_lists(lists)
    elif question is not None:
        with _opened(memory, index_file) as opened:
            vector, keyword = legs_of(check_question(question), opened)
    else:
        vector, keyword = EXAMPLE
    _show(comparison_view(whose_fusion(vector, keyword, floor, watch)))


bench = typer.Typer(help="Benchmarks on data that you have.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(bench, name="bench")


@bench.command()
def locomo(
    path: Annotated[Path, typer.Argument(readable=False, help="LoCoMo's JSON file.")],
    corrections: Annotated[
        Path | None, typer.Option(readable=False, help="The audit's corrections, as one JSON list.")
    ] = None,
    systems: Annotated[
        list[str] | None, typer.Option("--system", "-s", help="A pipeline; may be given often.")
    ] = None,
    min_similarity: Annotated[
        float | None, typer.Option(help="For Basic Memory's profiles, in place of their 0.55.")
    ] = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Recall@5, recall@10 and MRR on LoCoMo; vectors are kept between runs."""
    from workbench.lab.bench import Bench
    from workbench.lab.locomo import load
    from workbench.systems import automem, basic_memory
    from workbench.views.bench import results_view

    known = [one.name for one in (*automem.PIPELINES, *basic_memory.PIPELINES)]
    least = [] if min_similarity is None else [f"min_similarity.least={min_similarity}"]
    chosen = [_pipeline(name, None, None, settings) for name in systems or known]
    chosen = [_with_least(one, least) for one in chosen]
    results = list(Bench(load(path, corrections), path).run(chosen))
    _show([one.as_json() for one in results] if as_json else results_view(results), as_json)


def _with_least(pipeline: Pipeline, settings: list[str]) -> Pipeline:
    from workbench.retrieval.settings import with_settings

    has = any(stage.slot == "min_similarity" for stage in pipeline.stages)
    return with_settings(pipeline, settings) if has else pipeline


@app.command()
def doctor(memory: Memory = SAMPLE, index_file: IndexFile = None, as_json: AsJson = False) -> None:
    """Check what the workbench stands on. Exit code 1 when something is missing."""
    from dataclasses import asdict

    from workbench.doctor import examine

    findings = examine(memory, index_file)
    lines = (f"{'✓' if one.fine else '✗'} {one.what:<22} {one.says}" for one in findings)
    _show([asdict(one) for one in findings] if as_json else "\n".join(lines), as_json)
    raise typer.Exit(0 if all(one.fine for one in findings) else 1)


@app.command()
def lab(
    memory: Memory = SAMPLE,
    notebooks: Annotated[Path, typer.Option(help="The folder of notebooks.")] = Path("notebooks"),
    port: Annotated[int, typer.Option(help="The port to serve on.")] = 8888,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Index the memory, and open JupyterLab on the first notebook."""
    from workbench.jupyter import launch
    from workbench.memory.sync import index_folder

    _show(str(index_folder(memory)))
    raise typer.Exit(launch(notebooks, "00_start.ipynb", port, browser))


def _pipeline(name: str, limit: int | None, min_score: float | None, settings: list[str] | None) -> Pipeline:
    from workbench.retrieval.settings import with_settings
    from workbench.systems import system

    return with_settings(system(name).asking(limit, min_score), settings or [])


@contextmanager
def _opened(memory: Path, index_file: Path | None) -> Iterator[MemoryIndex]:
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


def _relative(target: str, memory: Path) -> str:
    """A target as the index names it, also when it was given with the memory's folder before it."""
    path = Path(target)
    inside = path.resolve().is_relative_to(memory.resolve()) and path.exists()
    return path.resolve().relative_to(memory.resolve()).as_posix() if inside else path.as_posix()


def _show(what: Any, as_json: bool = False) -> None:
    if as_json:
        print(json.dumps(what, indent=2, ensure_ascii=False))
    else:
        from workbench.views.text import show

        show(what)


if __name__ == "__main__":
    main()
