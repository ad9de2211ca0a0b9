"""What `diagnose` prints as a repair brings the file when it is pasted: searches, commands and Python."""

from __future__ import annotations

import dataclasses
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from benchmarks import pasting
from benchmarks.faults import SUM
from tests.commands import Run, python
from workbench.measure.edits import Edit
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.retrieval.cutoff import MinScore
from workbench.systems.catalogue import SYSTEMS
from workbench.terminal import text_of
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.fixes import Fix
from workbench_plugins.diagnose.pasted_command import command_with
from workbench_plugins.diagnose.prices import Marks, Price
from workbench_plugins.diagnose.repairs import Repair
from workbench_plugins.diagnose.stage_settings import with_typed
from workbench_plugins.diagnose.stages_as_code import code_of_stages

NOTHING = Marks(np.empty(0), np.empty(0))
NO_PRICE = Price(NOTHING, NOTHING, None, None)
NOTES = {
    f"memory/{name}.md": f"# {name.title()}\n\nThe {name} is in the {room}, on the {shelf} shelf.\n"
    for name, room, shelf in (
        ("kettle", "kitchen", "upper"), ("saw", "shed", "lower"), ("map", "hall", "long"),
        ("drum", "attic", "wide"), ("globe", "study", "small"),
    )
}  # fmt: skip


@pytest.mark.parametrize(
    ("system", "options"),
    [
        ("openclaw-2026.2.13-vector-only", ["--min-score", "0.95"]),
        ("openclaw-2026.2.13+or", ["--min-score", "0.97"]),
        ("langchain-ensemble", ["--min-score", "0.9"]),
        ("openclaw-2026.2.13-vector-only", ["--limit", "1"]),
        ("recommended", ["--limit", "1"]),
        ("recommended", ["--set", "floor.floor=0.999"]),
    ],
)
def test_the_printed_search_brings_the_file(
    run: Run, tmp_path: Path, system: str, options: list[str]
) -> None:
    for name, text in NOTES.items():
        file = tmp_path / "notes" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    where = ["-m", str(tmp_path / "notes"), "--index", str(tmp_path / "index")]
    assert run("index", *where[1:]).code == 0
    asked = ["where is the saw in the shed", *where, "-s", system, *options]
    target = "memory/map.md" if "--limit" in options else "memory/saw.md"
    assert target not in [one["path"] for one in run("search", *asked, "--json").json()["results"]]

    printed = run("diagnose", *asked, "-t", target).out
    found = re.search(r"(?:Try it|Repair): workbench (search .*)", printed)
    assert found is not None, printed
    again = run(*shlex.split(found[1]), "--json").json()
    assert target in [one["path"] for one in again["results"]], printed


@pytest.mark.parametrize(
    ("repair", "lines"),
    [
        ("mv -n a.txt a.md && workbench index n", ["mv -n a.txt a.md && workbench index n", "search --json"]),
        ("ask in English; or try: workbench index n", ["workbench index n", "search --json"]),
        ("Open it once, so that it is here. Then: workbench index n", []),
    ],
)
def test_the_benchmark_pastes_whole_commands_and_none_after_work_by_hand(
    monkeypatch: pytest.MonkeyPatch, repair: str, lines: list[str]
) -> None:
    pasted: list[str] = []

    def shell(line: str) -> str:
        pasted.append(line)
        return '{"results": []}'

    monkeypatch.setattr(pasting, "in_empty_shell", shell)
    assert pasting.pasted(f"Repair: {repair}", "a.md", "search") is (False if lines else None)
    assert pasted == lines


@pytest.mark.parametrize(
    ("own", "fix", "printed"),
    [
        (["--set", "floor.floor=0.9"], "floor=none", ["--set", "floor=none"]),
        (["--set", "floor.floor=0.9"], f"floor.floor={SYSTEMS['recommended'].floor!r}", []),
        (["--set", "floor.floor=0.9"], "floor.floor=0.5", ["--set", "floor.floor=0.5"]),
        (
            ["--set", "floor.floor=0.9"],
            "limit.count=9",
            ["--set", "floor.floor=0.9", "--set", "limit.count=9"],
        ),
        (["--min-score", "0.9"], "floor=none", ["--set", "floor=none"]),
        (["--min-score", "0.9", "--limit", "3"], "floor.floor=0.5", ["--limit", "3", "--min-score", "0.5"]),
    ],
)
def test_a_printed_command_leaves_out_the_own_options_that_its_fix_replaces(
    own: list[str], fix: str, printed: list[str]
) -> None:
    pipeline, begin = SYSTEMS["recommended"], ["workbench", "search", "which key", "--system", "recommended"]
    options = dict(zip(own[::2], own[1::2], strict=True))
    limit, floor = (float(options[one]) if one in options else None for one in ("--limit", "--min-score"))
    now = with_typed(pipeline.asking(limit, floor), [options["--set"]] if "--set" in options else [])
    change = Repair("floor", "none", (Edit("floor", None),), "", removes=True)
    made = Fix(
        setting=fix.partition("=")[0], value=fix.partition("=")[2], now="", fails=None,
        pipeline=with_typed(now, [fix]), verified=True, gained=(), lost=(), price=NO_PRICE, change=change,
        settings=(fix,),
    )  # fmt: skip
    assert shlex.split(command_with([*begin, *own], now, made)) == [*begin, *printed]


def test_the_python_of_a_pipeline_without_a_name_runs_in_an_empty_interpreter(tmp_path: Path) -> None:
    for name, text in NOTES.items():
        file = tmp_path / "notes" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    index_folder(tmp_path / "notes", options=Options(index_path=tmp_path / "index"))
    broken = SUM.with_stage(MinScore(0.99))
    with open_index(tmp_path / "notes", index_path=tmp_path / "index") as index:
        found = diagnose("where is the saw in the shed", broken, index, "memory/saw.md")
        printed = text_of(found.view(), details=True)
    pasted = re.search(r"^1\. As Python:\n(.*?)(?=^2\. As Python:)", printed, re.M | re.S)
    assert pasted is not None, printed
    ended = python("-c", pasted[1])
    assert (ended.code, ended.err) == (0, "")
    assert "memory/saw.md" in ended.out
    assert "--set" not in printed


def test_a_stage_of_a_notebook_s_own_has_no_code() -> None:
    own = dataclasses.make_dataclass("Own", [], bases=(MinScore,), frozen=True)()
    assert code_of_stages(SUM) != ""
    assert code_of_stages(SUM.with_stage(own)) == ""


def test_other_chunks_are_tried_where_a_chunk_is_the_cause(run: Run, tmp_path: Path) -> None:
    line = "the crew checked lines and covers, and found nothing."
    log = "\n".join(f"- On day {day} {line}" for day in range(90))
    manual = f"# Manual\n\n{log}\nThe stern gland takes oil of grade EP90.\n{log}\n"
    for name, text in {**NOTES, "memory/manual.md": manual}.items():
        file = tmp_path / "notes" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    where = ["-m", str(tmp_path / "notes"), "--index", str(tmp_path / "index")]
    assert run("index", *where[1:], "--chunk", "4000/0").code == 0
    asked = ["which oil does the stern gland take", *where, "-s", "openclaw-2026.2.13-vector-only"]
    asked += ["--set", "limit.count=1", "--set", "vector_leg.depth.cap=2"]
    target = "memory/manual.md"
    assert target not in [one["path"] for one in run("search", *asked, "--json").json()["results"]]
    printed = run("diagnose", *asked, "-t", target).out
    found = re.search(r"^Repair: workbench (index .* --chunk .*)", printed, re.M)
    assert found is not None, printed
    assert run(*shlex.split(found[1])).code == 0
    assert target in [one["path"] for one in run("search", *asked, "--json").json()["results"]]
