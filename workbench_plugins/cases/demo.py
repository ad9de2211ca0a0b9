"""`workbench demo`: a search that fails, why, and what would save it, without a model or a network."""

from __future__ import annotations

from pathlib import Path

from workbench.cli.app import (
    AsJson,
)
from workbench.cli.output import print_output
from workbench.retrieval.pipeline import Change
from workbench.systems import openclaw
from workbench.tables import hanging
from workbench_plugins.cases.model import Case, load_case
from workbench_plugins.cases.running import pipeline_of_case, run_case, run_on

CASE = Path(__file__).with_name("demo.case.yaml")


def demo(as_json: AsJson = False) -> None:
    """Show a search that fails, why, and which single changes would save it; in a second, without a model."""
    case = load_case(CASE).case
    run = run_case(case)
    saved = saving(case)
    if as_json:
        print_output({**run.as_json(), "saved_by": saved}, as_json)
        return
    print_output(run)
    print_output("One of these changes alone would save it:" if saved else "No single change would save it.")
    print_output([hanging(f"  {name}: {description}") for name, description in saved.items()])
    print_output("Next: workbench lab (the lessons), or workbench index FOLDER (your own notes).")


def saving(case: Case) -> dict[str, str]:
    """The changes of OpenClaw 2026.2.13 with which a case of it holds, and what each one does."""
    here = pipeline_of_case(case.system)
    slots = {one.slot for one in here.stages}
    changes = [one for one in vars(openclaw).values() if isinstance(one, Change) and one.stage.slot in slots]
    runs = run_on(case, [here.with_changes(one) for one in changes])
    return {one.name: one.stage.description for one, run in zip(changes, runs, strict=True) if run.holds}
