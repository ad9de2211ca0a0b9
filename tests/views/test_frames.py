"""Tables of pandas: the documented columns, the printed numbers, and no loss in a file."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from itables import options
from itables.javascript import generate_init_offline_itables_html
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from tests.browser import CHROMIUM, Tab, browsing
from tests.conftest import PATIENT, PROJECT, SAMPLE
from workbench.errors import InputError
from workbench.measure.blame import blame
from workbench.measure.evaluation import Evaluations, evaluate
from workbench.measure.missed import SurvivalStep, missed_questions, survivals
from workbench.measure.questions import Control, Question, QuestionSet
from workbench.measure.reliability import reliability
from workbench.measure.thresholds import scores
from workbench.memory.index import MemoryIndex
from workbench.records import CANDIDATES, Trace
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND
from workbench.tables import html_of
from workbench.terminal import text_of
from workbench.views.show import LONGEST_CELL, NotebookTable, table
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.findings import lint
from workbench_plugins.diagnose.sweep import sweep
from workbench_plugins.engines.museum import run_specimens
from workbench_plugins.engines.whose_fusion import EXAMPLE, whose_fusion
from workbench_plugins.recommended.pipelines import RECOMMENDED
from workbench_plugins.recommended.stages import Answerable

SET = QuestionSet(
    questions=(
        Question(question="rooibos tea", target="memory/tea.md", kind="direct"),
        Question(question="what grinds at the rear", target="memory/bike.md", kind="vague"),
        Question(question="tea", target="memory/nowhere.md", kind="vague"),
    ),
    controls=(Control(question="zebra crossing"),),
)
KNOWN = QuestionSet(questions=SET.questions[:2], controls=SET.controls)
"""The questions whose files exist."""

PAGE = (PROJECT / "docs" / "commands.md").read_text(encoding="utf-8").partition("# Tables of pandas\n")[2]


@pytest.fixture(scope="module")
def evaluations(toy: MemoryIndex) -> Evaluations:
    return evaluate(SET, [SHIPPED, THREE_FIXES, WORKAROUND], toy)


@pytest.fixture(scope="module")
def made(toy: MemoryIndex, evaluations: Evaluations) -> dict[str, Any]:
    """One value of each kind that has a table, by the heading in docs/commands.md."""
    stage = RECOMMENDED["answerable"]
    assert isinstance(stage, Answerable)
    ours = replace(stage, calibration=replace(stage.calibration, model=""))
    other = QuestionSet(questions=SET.questions, controls=(Control(question="afternoon"),))
    [believed] = evaluate(other, [RECOMMENDED.with_stage(ours)], toy)
    return {
        "Trace": search("rooibos tea", SHIPPED, toy),
        "Evaluation": evaluations,
        "Scores": scores(evaluations[0]),
        "Reliability": reliability(believed),
        "Comparison": whose_fusion(*EXAMPLE, target="v3"),
        "Survival": survivals(evaluations, toy),
        "MissedQuestions": missed_questions(evaluations[0], toy),
        "SpecimenRuns": run_specimens(),
        "Sweep": sweep(SHIPPED, ["query.join=AND,OR", "floor.floor=0:0.5:3"], SET, toy),
        "Blame": blame(SHIPPED, THREE_FIXES, toy, KNOWN),
        "Diagnosis": diagnose("rooibos after noon", SHIPPED, toy, "memory/tea.md", questions=KNOWN),
        "Findings": lint(SHIPPED),
    }


def documented(heading: str) -> dict[str, str]:
    """The columns of a section of the page, with their types."""
    [section] = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    return dict(re.findall(r"^\| `([\w.]+)` \| (\w+) \|", section, re.M))


KINDS = re.findall(r"^## (\w+)$", PAGE, re.M)


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_describes_every_column_and_its_type(kind: str, made: dict[str, Any]) -> None:
    assert set(KINDS) == set(made)
    found = made[kind].to_frame()
    assert {name: str(kind) for name, kind in found.dtypes.items()} == documented(kind)
    assert list(found) == list(documented(kind))
    assert len(found)


def test_no_number_of_a_system_hides_a_column(sample: MemoryIndex) -> None:
    for pipeline in SYSTEMS.values():
        trace = search("tenacity and persistence protocol", pipeline, sample)
        assert not set(trace.columns) & set(CANDIDATES)
        assert list(trace.to_frame()) == [*CANDIDATES, *trace.columns]
    nothing, some = (search(question, SHIPPED, sample) for question in ("zebrafish", "tea"))
    assert list(nothing.to_frame()) == list(some.to_frame())
    assert list(Trace("", "none", ()).to_frame()) == list(CANDIDATES)


def test_a_trace_has_all_candidates_with_numbers_fate_and_reason(sample: MemoryIndex) -> None:
    trace = search("how should I evaluate if a claim is actually true", THREE_FIXES, sample)
    found = trace.to_frame()
    assert list(found["position"]) == list(range(1, len(trace.chunks) + 1))
    assert found["returned"].sum() == len(trace.results)
    for one, (_, row) in zip(trace.candidates, found.iterrows(), strict=True):
        assert [row["path"], row["text"], row["chunk_id"]] == [one.chunk.path, one.chunk.text, one.chunk.id]
        assert one.drop is None or row["reason"] == one.reason
        for name, value in one.numbers.items():
            assert row[name] == value or (row[name] != row[name] and value != value)
    printed = text_of(trace.view())
    for _, row in found[found["returned"]].iterrows():
        assert f"{row['score']:.3f}" in printed
        assert f"{row['path']}:{row['start_line']}-{row['end_line']}" in printed


def test_evaluations_sum_to_the_printed_figures(evaluations: Evaluations) -> None:
    found = evaluations.to_frame()
    printed = text_of(evaluations.view())
    for one in evaluations:
        mine = found[found["system"] == one.pipeline.name]
        answerable = mine[mine["answerable"]]
        hits, n, mrr = answerable["hit"].sum(), len(answerable), answerable["reciprocal_rank"].mean()
        silent, controls = mine[~mine["answerable"]]["correct"].sum(), (~mine["answerable"]).sum()
        assert (hits, n, mrr) == (one.overall.hits, one.overall.n, pytest.approx(one.mrr))
        own = [row for row in printed.split("\n") if row.startswith(f"{one.pipeline.name} ")]
        [line] = [row for row in own if "%" in row]
        assert line.split()[1] == f"{hits}/{n}"
        assert line.split()[-3::2] == [f"{mrr:.3f}", f"{silent}/{controls}"]
        assert ((1 / answerable["rank"].astype(float)).fillna(0) == answerable["reciprocal_rank"]).all()
    pd.testing.assert_frame_equal(evaluations[0].to_frame(), found[: len(SET.questions) + len(SET.controls)])


def test_scores_have_the_printed_line_of_each_floor(made: dict[str, Any]) -> None:
    found = made["Scores"].to_frame()
    lines = [line.split() for line in text_of(made["Scores"].view()).split("\n")[-len(found) :]]
    for line, row in zip(lines, found.itertuples(), strict=True):
        precision = "–" if row.precision != row.precision else f"{row.precision:.1%}"
        counts = [f"{row.hits}/{row.questions}", f"{row.right_chunks}/{row.returned_chunks}", precision]
        assert line[:5] == [f"{row.floor:g}", *counts, f"{row.nothing_returned}/{row.unanswerable}"]
        assert ("own" in line) == row.own_floor
    assert found["own_floor"].sum() == 1


def test_a_comparison_has_the_printed_order_and_the_watched_place(made: dict[str, Any]) -> None:
    comparison = made["Comparison"]
    found = comparison.to_frame()
    printed = text_of(comparison.view())
    for order in comparison.orders:
        mine = found[found["engine"] == order.engine.name]
        assert list(mine["candidate"]) == [hit.id for hit in order.hits]
        [watched] = mine[mine["watched"]].itertuples()
        place = str(watched.place) if watched.place == watched.last_place else f"{watched.place}–"
        line = next(row for row in printed.split("\n") if row.lstrip().startswith(f"{order.engine.name} "))
        assert f" {place}" in line
        assert f"{watched.score:.4f} " in line
        assert f" {'yes' if watched.passes else 'no'}" in line
    plain = found[found["engine"] == "rrf-60"]
    parts = plain[["vector_part", "keyword_part"]].fillna(0).sum(axis=1)
    assert parts.to_numpy() == pytest.approx(plain["score"].to_numpy())


def test_survivors_missed_questions_and_specimens_have_what_is_printed(made: dict[str, Any]) -> None:
    found = made["Survival"].to_frame()
    lines = text_of(made["Survival"].view()).split("\n")[-len(SurvivalStep) :]
    for step, line in zip(SurvivalStep, lines, strict=True):
        counts = [(found[found["system"] == one.system]["reached"] >= step).sum() for one in made["Survival"]]
        assert (line.startswith(step.description), line.split()[-len(counts) :]) == (
            True,
            [*map(str, counts)],
        )
    missed = text_of(made["MissedQuestions"].view())
    for row in made["MissedQuestions"].to_frame().itertuples():
        assert re.search(rf"{row.fate} +{re.escape(row.question)} +{re.escape(row.target)}", missed)
    specimens = made["SpecimenRuns"].to_frame()
    printed = html_of(made["SpecimenRuns"].page())
    for row in specimens.itertuples():
        assert re.search(rf">{row.specimen}</t[dh]>.*?>{'yes' if row.shown else 'no'}</t[dh]>", printed)
    assert f"{specimens['shown'].sum()} of {len(specimens)} specimens" in printed


def test_the_labs_values_have_the_printed_numbers(made: dict[str, Any]) -> None:
    swept, blamed, fixes, found = (made[one] for one in ("Sweep", "Blame", "Diagnosis", "Findings"))
    frame = swept.to_frame()
    assert frame["mean"].tolist() == swept.means.tolist()
    assert frame["nothing_returned"].tolist() == swept.silent.sum(axis=1).tolist()
    assert frame["now"].tolist() == [False] * len(swept.settings) + [True]
    assert frame[["query.join", "floor.floor"]].iloc[-1].tolist() == ["AND", 0.35]
    assert blamed.to_frame()["share"].sum() == pytest.approx(float(blamed.difference))
    assert [fixes.to_frame()[one].tolist() for one in ("setting", "hits_after")] == [
        [one.setting for one in fixes.fixes],
        [one.price.after.hits for one in fixes.fixes],
    ]
    assert found.to_frame()["meaning"].tolist() == [one.description for one in found]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_comes_back_from_parquet_and_csv(kind: str, made: dict[str, Any], tmp_path: Path) -> None:
    found = made[kind].to_frame()
    found.to_parquet(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), found)
    found.to_csv(tmp_path / "t.csv", index=False)
    types = found.dtypes.to_dict()
    again = pd.read_csv(tmp_path / "t.csv", dtype=types, keep_default_na=False, na_values=[""])
    pd.testing.assert_frame_equal(again, found)


@pytest.mark.parametrize(("package", "shown"), [("pandas", Trace.to_frame), ("itables", table)])
def test_without_a_package_the_error_names_the_remedy(
    package: str, shown: Callable[[Trace], Any], toy: MemoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = search("tea", SHIPPED, toy)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"needs {package}(.|\n)*pip install -e '.\[lab\]'"):
        shown(trace)


def test_what_has_no_table_or_no_row_is_refused(toy: MemoryIndex) -> None:
    for thing in ("a string", SHIPPED, None, 3):
        with pytest.raises(InputError, match="has no table"):
            table(thing)
    with pytest.raises(InputError, match="0 rows"):
        table(search("tea", SHIPPED, toy), rows=0)


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    with browsing() as opened:
        opened.page.context.set_offline(True)
        yield opened


SCRIPT = generate_init_offline_itables_html(options.dt_bundle)
"""What a cell of the notebook brings to the page."""


def opened(tab: Tab, shown: NotebookTable) -> None:
    """A page with this table alone, drawn."""
    tab.page.set_content(f"<meta charset=utf-8>{SCRIPT}{shown._repr_mimebundle_()['text/html']}")
    tab.page.locator("table.dataTable tbody tr").first.wait_for()


def test_a_table_shows_hostile_texts_and_shortens_long_ones(tab: Tab) -> None:
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    frame = pd.DataFrame({"a": [hostile, "x" * 1000] * 6, hostile: range(12)})
    opened(tab, table(frame))
    assert tab.page.get_by_role("columnheader").nth(1).inner_text() == hostile
    cells = tab.page.locator("table.dataTable tbody td:first-child").all_inner_texts()
    assert cells[:2] == [hostile, "x" * (LONGEST_CELL - 1) + "…"]
    assert tab.page.locator(".workbench-sortable img").count() == 0
    assert tab.errors == []


# What JupyterLab says of every table in an output.
JUPYTERLAB = (
    "<style>:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon td,"
    ":not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon th{text-align:right}</style>"
)


def in_jupyterlab(tab: Tab, html: str) -> None:
    """A new page that holds the HTML as an output of JupyterLab's dark theme."""
    tab.page.goto("about:blank")  # or the script of the page before would still be there
    tab.page.set_content(
        f"<head><meta charset=utf-8>{JUPYTERLAB}</head><body data-jp-theme-light=false style='color:white'>"
        f"{SCRIPT}<div class='jp-RenderedHTMLCommon'>{html}</div></body>"
    )


def aligned(tab: Tab, words: str) -> str:
    cell = tab.page.locator("td, th", has_text=re.compile(f"^{words}$")).first
    return str(cell.evaluate("cell => getComputedStyle(cell).textAlign"))


def test_in_jupyterlab_texts_stand_on_the_left_and_numbers_on_the_right(
    tab: Tab, evaluations: Evaluations
) -> None:
    (first, *_) = evaluations
    in_jupyterlab(tab, evaluations._repr_mimebundle_()["text/html"])
    assert aligned(tab, re.escape(first.pipeline.name)) == "left"
    assert aligned(tab, f"{first.overall.hits}/{first.overall.n}") == "right"
    in_jupyterlab(tab, table(first)._repr_mimebundle_()["text/html"])
    tab.page.locator("table.dataTable tbody tr").first.wait_for()
    assert aligned(tab, re.escape(first.pipeline.name)) == "left"


def test_a_table_sorts_and_searches_without_a_network(tab: Tab) -> None:
    scores = [i * 5 % 12 / 10 for i in range(12)]
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(12)], "score": scores})
    opened(tab, table(frame))
    names = tab.page.locator("table.dataTable tbody td:first-child")
    tab.page.get_by_role("columnheader", name=re.compile("score")).click()
    tab.page.locator("th[aria-sort=ascending]").wait_for()
    assert names.all_inner_texts() == ["n0", "n5", "n10", "n3", "n8", "n1", "n6", "n11", "n4", "n9"]
    tab.page.get_by_role("searchbox").fill("n7")
    tab.page.get_by_text("filtered from 12").wait_for()
    assert names.all_inner_texts() == ["n7"]
    assert tab.errors == []


def test_a_saved_notebook_with_tables_stays_small(sample: MemoryIndex) -> None:
    cells = [
        "import workbench as wb",
        f"trace = wb.search('tenacity', wb.system('openclaw-2026.9.6'), wb.open_index({str(SAMPLE)!r}))",
        "wb.table(trace)",
        "wb.table(trace.to_frame()[['path', 'score']])",
        "trace",
    ]
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, **PATIENT, resources={"metadata": {"path": str(PROJECT)}}).execute()
    loaded = ["injectModule" in str(cell.outputs) for cell in notebook.cells]
    assert loaded == [False, False, True, False, False]
    assert all(cell.outputs[-1].data["text/html"] for cell in notebook.cells[2:])
    assert len(nbformat.writes(notebook)) < 1_500_000
