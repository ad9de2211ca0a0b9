"""Commands that open the lab, measure, and check what all of it stands on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.app import SAMPLE, AsJson, IndexFile, Memory, Settings, app, pipeline_of, put

if TYPE_CHECKING:
    from workbench.retrieval.pipeline import Pipeline


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
    chosen = [pipeline_of(name, None, None, settings) for name in systems or known]
    chosen = [_with_least(one, least) for one in chosen]
    results = list(Bench(load(path, corrections), path).run(chosen))
    put([one.as_json() for one in results] if as_json else results_view(results), as_json)


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
    put([asdict(one) for one in findings] if as_json else "\n".join(lines), as_json)
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

    put(str(index_folder(memory)))
    raise typer.Exit(launch(notebooks, "00_start.ipynb", port, browser))
