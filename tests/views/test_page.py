"""The page of `workbench explore`, without a browser: what is asked and selected is seen everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import pytest
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import Page, Route

import workbench as wb
from docs.still import page_of
from tests import world
from tests.browser import MINUTE, NEXT_FRAME, becomes, browsing, needs_chromium, served_here
from tests.conftest import SAMPLE
from workbench.errors import InputError
from workbench.measure.evaluation import evaluate
from workbench.measure.losses import losses_by_stage
from workbench.measure.questions import Question, QuestionSet, load_questions
from workbench.memory.index import MemoryIndex
from workbench.records import Fate
from workbench.systems.openclaw import SHIPPED, THREE_FIXES, WORKAROUND
from workbench.tables import NO_FORMULAS, html_table
from workbench.views.widgets import Prediction
from workbench.views.widgets.threshold import ThresholdLab
from workbench_plugins.engines.widget import FusionLab
from workbench_plugins.explore.chunk_widget import FileChunks
from workbench_plugins.explore.explorer import QuestionExplorer
from workbench_plugins.explore.log import Asked, read_log, worst_first
from workbench_plugins.explore.map import main_plane, memory_map
from workbench_plugins.explore.microscope_widget import Microscope
from workbench_plugins.explore.page import Desk
from workbench_plugins.explore.page_server import Server

SYSTEMS = {one.name: one for one in (SHIPPED, THREE_FIXES, WORKAROUND)}
TEA = "memory/tea.md"
RAN = "window.ran=1"
SCRIPTS = (
    *(f"<img src=x onerror={RAN}>", f"<script>{RAN}</script>", f"</script><script>{RAN}</script>"),
    *(f"</title><script>{RAN}</script>", f"</textarea><script>{RAN}</script>", f"--><script>{RAN}</script>"),
    *(f"</style><script>{RAN}</script>", f"<svg onload={RAN}></svg>", f'<a href="javascript:{RAN}">tea</a>'),
    *(f'" onmouseover="{RAN}" x="', f"' onfocus='{RAN}' autofocus '", f"<iframe srcdoc='<script>{RAN}'>"),
    *(f"{{{{constructor.constructor('{RAN}')()}}}}", f"[tea](javascript:{RAN})", "\u2028\u202etxt.exe"),
    *("<img src=http://host.invalid/a.png>", f"$\\href{{javascript:{RAN}}}{{tea}}$"),
)
"""Names that run, send or link, where a page reads them as markup."""
HOSTILE = "<b>x</b>/<img src=x onerror=alert(1)>.md"


@pytest.fixture(autouse=True)
def nothing_selected() -> Iterator[None]:
    wb.selection.clear()
    yield
    wb.selection.clear()


@pytest.fixture
def desk(toy: MemoryIndex, tmp_path: Path) -> Desk:
    return Desk(toy, None, tmp_path / "explored.yaml", SYSTEMS)


def test_it_begins_with_a_question_from_the_memory_and_its_file(desk: Desk) -> None:
    assert desk.explorer.settings["question"] == "Memory Michael drinks rooibos after noon"
    assert desk.explorer.settings["target"] == "MEMORY.md"
    with pytest.raises(InputError, match="No right answer is known"):
        desk.lab()


def test_right_answers_grow_a_file_that_evaluate_reads(desk: Desk, toy: MemoryIndex, tmp_path: Path) -> None:
    desk.add_right_answer()
    desk.explorer.settings = {"question": "rooibos tea", "target": TEA, "right": WORKAROUND.name}
    said = desk.add_right_answer()
    saved = load_questions(tmp_path / "explored.yaml")
    assert [one.target for one in saved.questions] == ["MEMORY.md", TEA]
    found = evaluate(saved, [SHIPPED, WORKAROUND], toy)
    for one in found:
        assert f"{one.pipeline.name} {one.overall.hits} of 2" in said
    assert desk.lab().outcome.hits.n == 2
    again = Desk(toy, None, tmp_path / "explored.yaml", SYSTEMS)  # what was saved stays
    again.explorer.settings = {"question": "rooibos tea", "target": "MEMORY.md"}
    again.add_right_answer()
    assert [one.target for one in load_questions(tmp_path / "explored.yaml").questions] == ["MEMORY.md"] * 2


def test_a_system_is_searched_in_the_index_that_is_made_as_its_release_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    root, release = world.write(tmp_path / "notes"), "openclaw-2026.9.6"
    wb.index_folder(root)
    with wb.open_index(root) as index:
        desk = Desk(index, None, tmp_path / "explored.yaml")
        desk.explorer.settings = {"question": "rooibos tea", "target": TEA, "left": "recommended"}
        desk.explorer.settings = {"right": release}
        assert desk.explorer.sentence.count(f"This index differs from the one that {release} makes") == 1
        wb.index_folder(root, options=wb.Options(like=wb.indexing(release)))
        desk.explorer.settings = {"question": "where is the bike"}
        desk.explorer.settings = {"question": "rooibos tea"}
        assert "This index differs from" not in desk.explorer.sentence
        assert f"{release} is searched in the index that is made as" in desk.explorer.sentence
        with wb.open_index(root, like=wb.indexing(release)) as own:
            expected = wb.search("rooibos tea", wb.system(release), own).as_json()["results"]
            assert desk.explorer.traces[1].as_json()["results"] == expected
            names: dict[str, object] = {"index": index}
            exec(desk.explorer.code, names)
            assert names["traces"][1].as_json()["results"] == expected  # type: ignore[index]
        desk.add_right_answer()
        assert [one.pipeline.name for one in desk.evaluations()] == ["recommended", release]
        desk.indexes.close()


def test_a_file_that_only_one_index_has_is_labelled_there_and_told_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    root, release, late = world.write(tmp_path / "notes"), "bm-0.24.1", "memory/late.md"
    wb.index_folder(root)
    (root / late).write_text("# Kettle\n\nThe whistling kettle is in the attic.\n", encoding="utf-8")
    wb.index_folder(root, options=wb.Options(like=wb.indexing(release)))
    with wb.open_index(root) as index:
        desk = Desk(index, None, tmp_path / "explored.yaml")
        explorer = desk.explorer
        for left, right in ((release, "recommended"), ("recommended", release)):
            explorer.settings = {
                "question": "whistling kettle", "target": late, "left": left, "right": right
            }  # fmt: skip
            here, there = (late, "it") if left == release else ("it", late)
            assert f"In {release}, {here} is returned" in explorer.said[0]
            assert f"In recommended, {there} is not in the index." in explorer.said[0]
            assert explorer.said[1] == (
                f"{late} is not in the index in which recommended is searched. "
                f"Update it: workbench index {root}"
            )
            assert late in explorer.data["files"]
        assert f"{release} 1 of 1" in desk.add_right_answer()
        assert desk.add_right_answer().endswith(f"Update it: workbench index {root}")
        desk.count_losses()
        assert [one["returned"] for one in desk.count_losses()["losses"]] == [0, 1]
        wb.index_folder(root)
        explorer.settings = {"question": "the whistling kettle"}
        assert "is not in the index" not in explorer.sentence
        desk.indexes.close()


def test_an_index_beside_that_is_out_of_date_is_told_with_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    root, release = world.write(tmp_path / "notes"), "bm-0.24.1"
    wb.index_folder(root, options=wb.Options(like=wb.indexing(release)))
    (root / TEA).write_text("# Coffee\n", encoding="utf-8")
    with wb.open_index(root) as index:  # the only one that there is
        desk = Desk(index, None, tmp_path / "explored.yaml")
        desk.explorer.settings = {"question": "tea", "target": "", "left": "recommended", "right": release}
        told = f"is searched in the index that is made as {release}."
        assert f"recommended {told} Make the workbench's own: workbench index {root}" in desk.explorer.said
        assert f"{release} {told}" in desk.explorer.said
    wb.index_folder(root)
    with wb.open_index(root) as index:
        desk = Desk(index, None, tmp_path / "explored.yaml")
        desk.explorer.settings = {"question": "tea", "target": "", "left": "recommended", "right": release}
        assert (
            f"Its index is out of date: 1 file changed ({TEA}). "
            f"Update it: workbench index {root} --as {release}"
        ) in desk.explorer.said
        assert "made as" not in "".join(one for one in desk.explorer.said if one.startswith("recommended"))
        desk.indexes.close()


def test_a_file_that_is_not_indexed_is_no_right_answer(desk: Desk, tmp_path: Path) -> None:
    desk.explorer.settings = {"target": "memory/nowhere.md"}
    with pytest.raises(InputError, match=r"no file .* in the index"):
        desk.add_right_answer()
    desk.explorer.settings = {"target": " "}
    with pytest.raises(InputError, match=r"No file is chosen"):
        desk.add_right_answer()
    assert not (tmp_path / "explored.yaml").exists()


def test_labelled_questions_of_the_memory_are_used(toy: MemoryIndex, tmp_path: Path) -> None:
    labelled = QuestionSet(questions=(Question(question="rooibos tea", target=TEA),))
    desk = Desk(toy, labelled, tmp_path / "explored.yaml", SYSTEMS)
    assert desk.lab().outcome.hits.n == 1


def test_questions_that_no_file_answers_are_saved_beside_the_others(
    desk: Desk, toy: MemoryIndex, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="No right answer is known"):
        desk.add_unanswerable()
    assert not (tmp_path / "explored.yaml").exists()
    desk.add_right_answer()
    desk.explorer.settings = {"question": "zebra crossing", "target": ""}
    said = desk.add_unanswerable()
    saved = load_questions(tmp_path / "explored.yaml")
    assert [one.question for one in saved.controls] == ["zebra crossing"]
    for one in evaluate(saved, [SHIPPED, THREE_FIXES], toy):
        assert f"{one.pipeline.name} {one.silent.hits} of 1" in said
    again = Desk(toy, None, tmp_path / "explored.yaml", SYSTEMS)
    again.explorer.settings = {"question": "zebra crossing", "target": TEA}
    again.add_right_answer()  # the reader has found that a file does answer it
    saved = load_questions(tmp_path / "explored.yaml")
    assert [[one.question for one in some] for some in (saved.questions[1:], saved.controls)] == [
        ["zebra crossing"], [],
    ]  # fmt: skip


def test_the_file_of_questions_keeps_a_right_answer(toy: MemoryIndex, tmp_path: Path) -> None:
    own = QuestionSet(questions=(Question(question="rooibos tea", target=TEA),))
    desk = Desk(toy, own, tmp_path / "explored.yaml", SYSTEMS)
    with pytest.raises(InputError, match="would be left without a right answer"):
        desk.add_unanswerable()
    assert not (tmp_path / "explored.yaml").exists()
    desk.add_right_answer()
    with pytest.raises(InputError, match="would be left without a right answer"):
        desk.add_unanswerable()  # of the same question
    assert len(load_questions(tmp_path / "explored.yaml").questions) == 1


def test_what_a_file_of_questions_says_besides_stays_when_one_is_added(
    toy: MemoryIndex, tmp_path: Path
) -> None:
    (tmp_path / "own.yaml").write_text(
        "questions: [{question: rooibos tea, target: memory/tea.md, kind: vague}]"
    )
    Desk(toy, None, tmp_path / "own.yaml", SYSTEMS).add_right_answer()
    assert [one.kind for one in load_questions(tmp_path / "own.yaml").questions] == ["vague", "other"]


def test_losses_are_counted_in_parts_and_are_those_of_all_questions(
    sample: MemoryIndex, tmp_path: Path
) -> None:
    labelled = load_questions(SAMPLE / "questions.yaml")
    desk = Desk(sample, labelled, tmp_path / "explored.yaml", SYSTEMS)
    counted = []
    while "losses" not in (found := desk.count_losses()):
        counted.append(found["counted"])
    assert counted[-1] == len(labelled.questions)
    assert counted == sorted(set(counted))
    own = [losses_by_stage(one, sample) for one in evaluate(labelled, [SHIPPED, THREE_FIXES], sample)]
    assert [one["stages"] for one in found["losses"]] == [one.as_json() for one in own]
    assert [one["returned"] for one in found["losses"]] == [one.returned for one in own]
    desk.explorer.settings = {"moved": {"left": {"floor.floor": 0.0}}}
    assert "counted" in desk.count_losses()  # for other settings they are counted anew


def test_each_button_of_a_fix_brings_the_file_back(sample: MemoryIndex, tmp_path: Path) -> None:
    labelled = load_questions(SAMPLE / "questions.yaml")
    desk = Desk(sample, labelled, tmp_path / "explored.yaml")
    explorer = desk.explorer
    before, returned = explorer.settings, []
    fixes = Server(desk)._diagnosis()["fixes"]
    for one in fixes:
        side = one["side"]
        move = {side: one["system"]} if one["system"] else {"moved": {side: one["moved"]}}
        explorer.settings = {**before, **move}
        assert explorer.explanations
        returned.append(explorer.explanations[0].fate)
    assert fixes
    assert set(returned) == {Fate.RETURNED}
    assert all("of 57 labelled questions" in one["price"] for one in fixes)


def test_a_memory_without_words_is_refused(tmp_path: Path) -> None:
    with (
        world.build(tmp_path, {"memory/a.md": "…\n"}) as index,
        pytest.raises(InputError, match="no file with"),
    ):
        Desk(index, None, tmp_path / "explored.yaml")


def test_hostile_names_and_notes_are_escaped(tmp_path: Path) -> None:
    note = "# Tea </pre></details><script>alert(1)</script>\nA cup of tea.\n"
    with world.build(tmp_path, {HOSTILE: note, "b.md": "bike"}) as index:
        chunks = FileChunks(index, HOSTILE, link=False)
        assert "<img" not in html_table(chunks.table)
        assert "<script>alert" not in page_of(chunks)


def test_a_new_question_is_asked_while_a_chunk_of_the_last_one_is_marked(desk: Desk) -> None:
    server = Server(desk)
    marked = {**desk.explorer.settings, "question": "tea", "chunk": "of the last question"}
    server._take(marked)
    assert desk.explorer.traces[0].question == "tea"
    with pytest.raises(InputError, match="side cannot be 'up'"):
        server._take({**marked, "side": "up"})


def test_a_file_that_is_not_indexed_leaves_the_last_one_and_says_so(toy: MemoryIndex) -> None:
    chunks = FileChunks(toy, TEA, link=False)
    with pytest.raises(InputError, match="no indexed file"):
        chunks.settings = {"file": "memory/nowhere.md"}
    assert chunks.held.path == TEA
    code = chunks.code
    exec(compile(code, "code", "exec"), {"index": toy})


def test_what_was_moved_is_searched_explained_and_forgotten_with_its_system(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    explorer = desk.explorer
    explorer.settings = {"question": "rooibos tea", "target": TEA, "moved": {"left": {"floor.floor": 0.99}}}
    assert [stage.floor for stage in explorer.searched[0].stages if stage.slot == "floor"] == [0.99]
    assert all(one.score >= 0.99 for one in explorer.traces[0].results)
    assert "(with the settings that you moved)" in desk.add_right_answer()
    opened = []
    monkeypatch.setattr("workbench.open_index", lambda *where, **_: opened.append(where) or desk.index)
    names: dict[str, object] = {"pipelines": SYSTEMS}
    exec(explorer.code, names)
    assert (names["systems"], opened[0]) == (explorer.searched, (str(desk.index.root),))
    explorer.settings = {"left": WORKAROUND.name}
    assert explorer.searched[0] == WORKAROUND
    for unknown in ("floor.nosuch", ""):
        with pytest.raises(InputError, match=f"no setting '{unknown}'") as refused:
            explorer.settings = {"moved": {"left": {unknown: 1}}}
        assert "floor.floor, " in refused.value.remedy
    with pytest.raises(InputError, match="no side 'middle'"):
        explorer.settings = {"moved": {"middle": {}}}
    with pytest.raises(InputError, match="Nothing is moved on the left") as refused:
        explorer.settings = {"moved": {"left": {}}}
    assert "Leave left out, or move one of: " in refused.value.remedy
    assert "floor.floor" in refused.value.remedy
    for odd in (None, "0.2", True, [0.2], float("nan")):
        with pytest.raises(InputError, match=r"floor\.floor (cannot be|takes a finite)"):
            explorer.settings = {"moved": {"left": {"floor.floor": odd}}}
    with pytest.raises(InputError, match="moved cannot be"):
        explorer.settings = {"moved": 3}
    assert explorer.searched[0] == WORKAROUND


LOG = """{"question": "rooibos tea", "expected": "memory/tea.md", "scores": [0.3, 0.4]}
not JSON
{"query": "zebra crossing", "scores": []}
"bike hub"

{"answer": 3}
{"question": "rooibos tea", "expected": "memory/tea.md"}
{"question": "rooibos", "expected": 3}
"""


def message(role: str, **content: object) -> str:
    return json.dumps({"type": "message", "message": {"role": role, **content}})


def test_a_log_is_read_with_its_scores_and_says_what_it_left_out() -> None:
    asked, notes = read_log({"real.jsonl": LOG})
    assert asked == [
        Asked("rooibos tea", TEA, (0.4, 0.3)), Asked("zebra crossing", None, ()), Asked("bike hub"),
    ]  # fmt: skip
    assert notes == ["real.jsonl: left out 3 lines without a question that can be asked: 2, 6, 8."]
    _, notes = read_log({"real.jsonl": '"bike hub"\nnot JSON'})
    assert notes == ["real.jsonl: left out line 2: it has no question that can be asked."]
    with pytest.raises(InputError, match=r"No question in empty\.jsonl"):
        read_log({"empty.jsonl": "\n"})


def test_of_a_transcript_the_searches_are_read_or_else_what_the_user_said() -> None:
    user = message("user", content="[WhatsApp +44 2026-01-02 10:00 GMT] where is my bike?\n[message_id: A1]")
    call = {"type": "toolCall", "id": "c1", "name": "memory_search", "arguments": {"query": "bike"}}
    result = json.dumps({"results": [{"path": "x.md", "score": 0.25}, {"path": "y.md", "score": 0.5}]})
    answer = message("toolResult", toolCallId="c1", content=[{"type": "text", "text": result}])
    lines = ['{"type": "session", "id": "s"}', user, message("assistant", content=[call]), answer]
    assert read_log({"s.jsonl": "\n".join(lines)}) == ([Asked("bike", None, (0.5, 0.25))], [])
    assert read_log({"s.jsonl": "\n".join(lines[:2])}) == ([Asked("where is my bike?")], [])


def test_a_log_is_sorted_worst_first(toy: MemoryIndex, desk: Desk) -> None:
    asked = [
        Asked("rooibos tea", TEA), Asked("rooibos"), Asked("zebra crossing"), Asked("rooibos tea", "gone.md"),
    ]  # fmt: skip
    found = worst_first(asked, WORKAROUND, toy)
    assert [(one.asked.question, one.asked.expected) for one in found] == [
        ("rooibos tea", "gone.md"), ("zebra crossing", None), ("rooibos", None), ("rooibos tea", TEA),
    ]  # fmt: skip
    assert [one.sentence.split(";")[0] for one in found[:2]] == ["lost: not in the index", "nothing returned"]
    assert found[-1].sentence.startswith("returned at place 1 of")
    assert [row["question"] for row in desk.judged(asked)["rows"]] == [
        one.asked.question for one in worst_first(asked, SHIPPED, toy)
    ]


def test_the_map_shows_the_main_plane_and_names_neighbours_by_cosine(sample: MemoryIndex) -> None:
    found = memory_map(sample, "rooibos tea")
    _, vectors = sample.vectors()
    near = sample.vector(sample.embed("rooibos tea"), 8)
    assert [one["name"] for one in found["near"]] == [one.location for one in sample.chunks(near.rows)]
    chunks, question, neighbours = found["figure"]["data"]
    assert len(set(neighbours["textposition"])) > 1  # ranks of points that lie close
    assert neighbours["hovertext"] == [one["name"] for one in found["near"]]
    assert len(chunks["x"]) + len(neighbours["x"]) == sample.size
    assert question["name"] == "question"
    np.testing.assert_allclose([one["cosine"] for one in found["near"]], 1 - near.raw, atol=1e-4)
    _, axes, shares = main_plane(vectors)
    spread = np.var((vectors - vectors.mean(axis=0)) @ axes, axis=0) / np.var(vectors, axis=0).sum()
    np.testing.assert_allclose(spread, shares, rtol=1e-4)
    assert shares[0] > shares[1]
    assert f"{shares[0]:.0%} and {shares[1]:.0%} of the variance" in found["sentence"]


def test_a_map_takes_three_chunks(tmp_path: Path) -> None:
    with world.build(tmp_path, {"a.md": "tea"}) as index, pytest.raises(InputError, match="three chunks"):
        memory_map(index, "tea")


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browsing() as tab:
        yield tab.page


@needs_chromium
def test_the_curve_marks_the_floor_that_costs_least(sample: MemoryIndex, tmp_path: Path, page: Page) -> None:
    asked = load_questions(SAMPLE / "questions.yaml")
    lab = ThresholdLab(evaluate(asked, [SHIPPED], sample))
    (tmp_path / "lab.html").write_text(page_of(lab), encoding="utf-8")
    page.goto((tmp_path / "lab.html").as_uri())
    curve = page.locator("details", has_text="answered against refused").first
    curve.locator("summary").click()
    price = curve.get_by_label("as a number")
    price.fill("3")
    price.press("Enter")
    page.wait_for_function("!document.querySelector('details[aria-busy]')")

    scores = lab.scores
    floors = np.linspace(*lab.spans["min_score"], 41)
    costs = [57 - scores.hits(one) + 3 * (20 - scores.silent(one)) for one in floors]
    least = f"At {floors[np.argmin(costs)]:.4g}, "
    told = curve.locator("figcaption").inner_text()
    assert least in told
    assert f"cost {min(costs)}, the least of 41 floors" in told
    curve.get_by_role("button", name="take the floor of the dot").click()
    assert least in (page.locator(".wb-status").first.text_content() or "")
    assert page.evaluate("document.activeElement.textContent") == "take the floor of the dot"


@needs_chromium
def test_a_guess_that_is_made_keeps_the_keyboard(tmp_path: Path, page: Page) -> None:
    (tmp_path / "guess.html").write_text(page_of(Prediction("Which leg?", ["one", "both"])), encoding="utf-8")
    page.goto((tmp_path / "guess.html").as_uri())
    guess = page.get_by_role("button", name="That is my guess")
    guess.click(force=True)
    assert page.get_by_role("status").inner_text() == ""
    page.get_by_label("both").press("Space")
    guess.press("Enter")
    page.get_by_text("You expect both. Read on.").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "That is my guess"


@needs_chromium
def test_scripts_in_names_headings_and_texts_are_shown_as_text(tmp_path: Path, page: Page) -> None:
    script = " ".join(SCRIPTS)
    note = f"# Tea {script}\nA cup of tea {script} </script>.\n"
    asked_for: list[str] = []
    page.on("request", lambda one: asked_for.append(one.url))
    with world.build(tmp_path, {HOSTILE: note, "b.md": "tea and the bike"}) as index:
        renamed = replace(SHIPPED, name=script)
        asked = QuestionSet(questions=(Question(question=f"tea {script}", target=HOSTILE, kind=SCRIPTS[0]),))
        shown = [
            FileChunks(index, HOSTILE, link=False),
            QuestionExplorer(index, f"tea {script}", HOSTILE, link=False),
            Microscope(index, f"tea {script}", link=False),
            FusionLab(index=index, question="tea", watch=HOSTILE, link=False),
            ThresholdLab(evaluate(asked, [renamed, THREE_FIXES], index), link=False),
            Prediction(script, list(SCRIPTS)),
        ]
        for widget in shown:
            file = tmp_path / f"{widget.name}.html"
            file.write_text(page_of(widget), encoding="utf-8")
            page.goto(file.as_uri())
            page.get_by_role("status").first.wait_for(state="attached")
            assert page.title() == widget.name
            assert page.evaluate("window.ran ?? 0") == 0
            assert page.locator("img, iframe, a[href^=javascript], [onmouseover], [onfocus]").count() == 0
            assert [one for one in asked_for if not one.startswith(("file:", "blob:", "data:"))] == []
    page.goto((tmp_path / "file-chunks.html").as_uri())
    page.locator("pre", has_text=f"A cup of tea {SCRIPTS[0]} {SCRIPTS[1]}").first.wait_for(timeout=MINUTE)


@needs_chromium
def test_a_late_answer_takes_no_press_and_opens_nothing_that_was_closed(desk: Desk, page: Page) -> None:
    mine, late = Server(desk), list[Route]()

    def answered(path: str) -> None:
        with page.expect_response(f"**{path}"):
            becomes(lambda: page.evaluate(NEXT_FRAME) or late, bool)
            late.pop().continue_()
        page.evaluate(NEXT_FRAME)

    with served_here(mine.app) as address:
        page.goto(f"{address}/?token={mine.token}")
        button = page.get_by_role("button", name="Bug report")
        page.route("**/ask", lambda route: late.append(route))
        page.get_by_label("question", exact=True).fill("the hub of the bike")
        page.get_by_label("question", exact=True).press("Enter")
        button.hover()
        before = button.bounding_box()
        page.mouse.down()
        answered("/ask")
        page.mouse.up()
        page.get_by_label("the report").fill('I ask "rooibos tea" and get nothing.')
        assert button.bounding_box() != before  # the answer has moved it

        page.route("**/do", lambda route: late.append(route))
        page.get_by_role("button", name="Read the report").click()
        button.click()
        answered("/do")
        becomes(page.locator("#said").text_content, "".__eq__)
        assert page.locator("#below").is_hidden()
        page.unroute_all()
        button.click()
        read = page.get_by_role("group", name="report").get_by_label("question", exact=True)
        becomes(read.input_value, "rooibos tea".__eq__)
    page.goto("about:blank")  # where other tests may run scripts


@needs_chromium
def test_the_keyboard_stays_in_a_report_whose_facts_it_takes_away(desk: Desk, page: Page) -> None:
    mine, text = Server(desk), 'OpenClaw 2026.2.13: I ask "rooibos tea" and get nothing.'
    with served_here(mine.app) as address:
        page.goto(f"{address}/?token={mine.token}")
        page.get_by_role("button", name="Bug report").press("Enter")
        page.get_by_label("the report").fill(text)
        page.get_by_role("button", name="Read the report").press("Enter")
        facts = page.locator(".wb-facts li")
        facts.filter(has_text="rooibos tea").wait_for()
        assert page.get_by_label("the report").input_value() == text
        inside = "document.getElementById('below').contains(document.activeElement)"
        for left in range(facts.count() - 1, 0, -1):
            facts.first.get_by_role("button").press("Enter")
            becomes(facts.count, left.__eq__)
            assert page.evaluate(inside)
    page.goto("about:blank")  # where other tests may run scripts


@needs_chromium
def test_without_javascript_a_page_has_the_sentence_and_the_table(toy: MemoryIndex, page: Page) -> None:
    chunks = FileChunks(toy, TEA, link=False)
    assert page.context.browser
    context = page.context.browser.new_context(java_script_enabled=False)
    without = context.new_page()
    without.set_content(page_of(chunks))
    assert without.get_by_text(chunks.sentence).is_visible()
    assert without.get_by_role("table").is_visible()
    context.close()


@needs_chromium
def test_a_page_of_another_version_says_which(toy: MemoryIndex, page: Page) -> None:
    chunks = FileChunks(toy, TEA, link=False)
    chunks.set_trait("data", chunks.data | {"version": 0})  # as an older release saved it
    page.set_content(page_of(chunks))
    page.get_by_role("alert").filter(has_text="written by version 0 of the view").wait_for()


def test_a_saved_output_has_its_words_and_its_table_as_html_for_every_host(toy: MemoryIndex) -> None:
    chunks = FileChunks(toy, TEA, link=False)
    bundle = chunks._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data
    assert html_table(chunks.table) in data["text/html"]
    assert data["text/html"].startswith(f'<div class="{NO_FORMULAS}">')
    cell = new_code_cell("chunks", outputs=[new_output("display_data", data=data)])
    page, _ = HTMLExporter().from_notebook_node(new_notebook(cells=[cell]))
    assert escape(chunks.sentence) in page
