"""Every notebook runs in a fresh kernel, its prose says its values, and it keeps the rhythm of a lesson."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.conftest import PATIENT, PROJECT
from tests.docs.prose import description, differences, is_check, is_code, untied, with_ties, words
from tests.forked import ForkedKernels
from tests.test_features import FEATURES
from workbench.errors import InputError
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import Floats
from workbench.systems.catalogue import ON_A_SERVER, SYSTEMS
from workbench.systems.openclaw import OR_JOIN, SHIPPED, SIGN
from workbench.tables import WIDTH
from workbench.views.exercises import challenge, check
from workbench_plugins.engines.presets import ENGINES
from workbench_plugins.recommended.pipelines import RECOMMENDED

LESSONS = sorted((PROJECT / "notebooks").glob("*.ipynb"))
SOLUTIONS = sorted((PROJECT / "notebooks" / "solutions").glob("*.ipynb"))
MISTAKES = [path for path in LESSONS if "01" <= path.stem[:2] <= "07"]

WORDS_A_MINUTE = 150
SECONDS_A_LINE = 8
SECONDS_AN_OUTPUT = 20
MINUTES_A_WIDGET = 2
WIDGETS = re.compile(r"^from workbench\S*(widgets?|explorer)\b", re.M)
MINUTES_AN_EXERCISE = 10
MOST_CELLS, MOST_LINES, MOST_MINUTES = 24, 14, 25
PICTURE = re.compile(r"(plots\.\w+|wb\.explain|\w+\.plot|[A-Z]\w+)\(|lab$")
"""The last line of a cell that shows a picture or a widget."""

ALWAYS_USEFUL = {"wb.open_index", "wb.load_questions", "wb.system", "wb.show"}
"""Every lesson uses these, so no list repeats them."""


def each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=lambda path: f"{path.parent.stem}/{path.stem}")


every_notebook = each(LESSONS + SOLUTIONS)
every_lesson = each(LESSONS)


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def visible_code(notebook: NotebookNode) -> list[str]:
    """The cells that a reader reads as code: those that check an exercise come after the lesson."""
    cells = [cell for cell in notebook.cells if is_code(cell)]
    return [cell.source.strip() for cell in cells if not is_exercise(cell)]


def is_exercise(cell: NotebookNode) -> bool:
    """Whether the cell takes the answers to the exercises."""
    return "exercise" in cell.metadata.get("tags", [])


def exercise_cell(notebook: NotebookNode) -> NotebookNode:
    (cell,) = [one for one in notebook.cells if is_exercise(one)]
    return cell


def exercises_of(notebook: NotebookNode) -> str:
    return prose(notebook).partition("## Exercises")[2]


def code_lines(notebook: NotebookNode) -> list[int]:
    return [len(source.splitlines()) for source in visible_code(notebook)]


def prose(notebook: NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def said_by(cell: NotebookNode) -> str:
    """The standard output of a cell that has run."""
    return "".join(one.text for one in cell.outputs if one.output_type == "stream" and one.name == "stdout")


def false_sentences(notebook: NotebookNode, folder: Path) -> list[str]:
    """Runs the notebook, and says which words of its prose are not the values that they repeat."""
    asked = with_ties(notebook)
    place = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, **PATIENT, kernel_manager_class=ForkedKernels, resources=place).execute()
    return [one for cell, tied in asked for one in differences(tied, json.loads(said_by(cell)))]


@pytest.fixture(scope="session")
def read_by_word(sample: MemoryIndex) -> None:
    """Has `recommended` read the sample memory, so that no cell waits for it."""
    sample.laid_out(RECOMMENDED.layout)


FIRST = """import sys
sys.path.append({project!r})
from tests.without import Blocked
sys.meta_path.insert(0, Blocked({others}))
from tests.remembered import remember
remember()"""
"""The first cell of a lesson in the tests: it blocks the features that the lesson does not name."""


def runs_with_its_features_alone(path: Path) -> None:
    """In a fresh kernel, whose first cell blocks the other features; and the prose says the values."""
    notebook = read(path)
    others = sorted(set(FEATURES) - set(notebook.metadata.workbench.features))
    notebook.cells.insert(0, new_code_cell(FIRST.format(project=str(PROJECT), others=others)))
    assert false_sentences(notebook, path.parent) == []
    done = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert done == list(range(1, len(done) + 1))


@every_lesson
@pytest.mark.usefixtures("read_by_word", "own_cache")
def test_a_lesson_runs_with_the_features_that_it_names_alone(path: Path) -> None:
    runs_with_its_features_alone(path)


@every_notebook
def test_a_number_in_the_prose_is_tied_to_a_value_or_names_its_source(path: Path) -> None:
    assert untied(read(path)) == []


def test_a_planted_wrong_number_is_found(tmp_path: Path) -> None:
    cells = [
        new_code_cell("hits = 41"),
        new_markdown_cell("There are 41<!-- hits --> hits, and **40<!-- hits --> of them** are right."),
        new_code_cell("hits = 12"),
        new_markdown_cell("Now there are twelve<!-- hits -->, fewer<!-- hits > 41 --> than before."),
    ]
    assert false_sentences(new_notebook(cells=cells), tmp_path) == [
        "The text says '40', but hits is 41.",
        "The text says 'fewer', but hits > 41 is False.",
    ]


SAID = [
    ("0.74", 0.7396, True), ("0.740", 0.7396, True), ("0.740", 0.7393, False), ("1,020", 1020, True),
    ("−12", -12.3, True), ("eleven", 11, True), ("eleven", 12, False), ("openclaw", "openclaw", True),
    ("better", False, False), ("better", 1, False),
]  # fmt: skip


@pytest.mark.parametrize(("said", "value", "true"), SAID)
def test_a_word_says_a_value_as_far_as_it_is_rounded(said: str, value: object, true: bool) -> None:
    assert description(said, value) is true


def test_an_untied_number_is_found_unless_the_code_or_a_source_explains_it() -> None:
    text = "Of 57 questions, 41 hit, and 23<!-- source: the report --> hit there (lesson 2, `12`)."
    cells = [new_code_cell("of = 57"), new_markdown_cell(text)]
    assert [one.partition(":")[0] for one in untied(new_notebook(cells=cells))] == ["41"]


@every_notebook
def test_a_notebook_names_its_kernel_stores_no_outputs_and_links_to_files(path: Path) -> None:
    notebook = read(path)
    assert notebook.metadata.kernelspec.name == "python3"
    assert not any(cell.get("outputs") for cell in notebook.cells)
    targets = re.findall(r"\]\(((?!\w+:)[^)#]+)", prose(notebook))
    assert [one for one in targets if not (path.parent / one).is_file()] == []


@every_lesson
def test_a_lesson_checks_its_claims_in_collapsed_cells_one_a_section_at_most(path: Path) -> None:
    cells = read(path).cells
    checks = [cell for cell in cells if is_check(cell)]
    assert sum(len(re.findall(r"^(?:assert|    assert) ", cell.source, re.M)) for cell in checks) >= 3
    assert all(cell.metadata.jupyter.source_hidden for cell in checks)
    assert all(cell.source.startswith("# Checks") for cell in checks)
    assert not any("assert" in source for source in visible_code(read(path)))
    sections = "".join("c" if is_check(cell) else "#" * starts_a_section(cell) for cell in cells)
    assert "cc" not in sections


def starts_a_section(cell: NotebookNode) -> bool:
    return cell.cell_type == "markdown" and re.search(r"^## ", cell.source, re.M) is not None


@every_lesson
def test_a_lesson_is_short_and_begins_with_a_picture(path: Path) -> None:
    notebook = read(path)
    cells = [cell for cell in notebook.cells if is_code(cell) and not is_exercise(cell)]
    shown = [cell.source for cell in cells if "jupyter" not in cell.metadata]
    assert notebook.cells.index(exercise_cell(notebook)) <= MOST_CELLS
    assert max(len(source.splitlines()) for source in shown) <= MOST_LINES
    assert [line for source in shown for line in source.splitlines() if len(line) > WIDTH] == []
    assert any(PICTURE.match(cell.source.splitlines()[-1]) for cell in cells[:3])
    assert sum("print(" in source for source in shown) <= len(cells) / 2


@each([path for path in LESSONS if "01" <= path.stem < "09"])
def test_a_lesson_links_to_the_first_lesson_on_luck_and_leaves_statistics_to_lesson_9(path: Path) -> None:
    notebook = read(path)
    assert not re.search(r"\bpaired|\.interval\b", "\n".join(visible_code(notebook)))
    assert not re.search(r"\binterval|\bp-value", prose(notebook))
    told = re.search(r"more than luck|too few questions", prose(notebook))
    assert told is None or "](00_start.ipynb#Luck)" in prose(notebook)


PROJECTS = {
    "AutoMem": "automem",
    "Basic Memory": "basic-memory",
    "Haystack": "haystack",
    "LangChain": "langchain-postgres",
    "OpenClaw": "openclaw",
    "pgvector": "pgvector",
    "QMD": "tobi/qmd",
    "Qdrant": "qdrant",
    "txtai": "txtai",
    "Weaviate": "weaviate",
}
"""Each project that a lesson speaks of, and a part of its repository's name."""


@every_lesson
def test_a_lesson_names_a_release_of_each_project_that_it_speaks_of(path: Path) -> None:
    """The releases are those that the systems and the engines' fusions were read from, or checked against."""
    text = prose(read(path))
    systems = [*SYSTEMS.values(), *ON_A_SERVER.values()]
    sources = [one.source for one in systems] + [one.source for one in ENGINES.values()]
    for name, repository in PROJECTS.items():
        of_it = [one for one in sources if repository in one.repository]
        known = {word.strip("()") for one in of_it for word in one.release.split()}
        assert name not in text or any(release in text for release in known), name


@every_lesson
def test_what_answers_a_prediction_is_folded(path: Path) -> None:
    """The figure of the cell that reveals it, and the first text below, if that ends the prediction."""
    cells = read(path).cells
    reveals = next(place for place, cell in enumerate(cells) if ".reveal(" in cell.source)
    text = next(cell.source for cell in cells[reveals:] if cell.cell_type == "markdown")
    assert not re.search(r"^plots\.", cells[reveals].source, re.M)
    assert text.startswith("<details><summary>Guess first") or text.rstrip().endswith(":")


@every_lesson
def test_a_lesson_says_how_long_it_takes(path: Path) -> None:
    notebook = read(path)
    code = visible_code(notebook)
    exercises = len(re.findall(r"^\d+\. ", exercises_of(notebook), re.M))
    minutes = words(prose(notebook)) / WORDS_A_MINUTE
    minutes += (sum(code_lines(notebook)) * SECONDS_A_LINE + len(code) * SECONDS_AN_OUTPUT) / 60
    minutes += sum(WIDGETS.search(source) is not None for source in code) * MINUTES_A_WIDGET
    assert 5 * round(minutes / 5) <= MOST_MINUTES
    told = f"About {5 * round(minutes / 5)} minutes, and {exercises * MINUTES_AN_EXERCISE} for the exercises."
    assert told in notebook.cells[0].source


@each(MISTAKES)
def test_a_lesson_has_the_arc_of_a_mistake(path: Path) -> None:
    code = "\n".join(visible_code(read(path)))
    headings = re.findall(r"^## (.*)$", prose(read(path)), re.M)
    assert code.index("Prediction(") < code.index(".reveal(") < code.index(".diff(")
    assert headings[-2:] == ["What to take away", "Exercises"]


@every_lesson
def test_each_exercise_has_a_hint_and_a_check(path: Path) -> None:
    """A cell that takes the answer, or one in the lesson that says `equal`, or the exercise's own."""
    notebook = read(path)
    asked = re.findall(r"^(\d+)\. (.*)$", exercises_of(notebook), re.M)
    assert all("<details><summary>Hint</summary>" in text for _, text in asked)
    cell = exercise_cell(notebook).source
    key = path.stem.partition("_")[0]
    checked = {number for number in "12" if f'check("{key}", {number}, ...)' in cell}
    own = re.search("until (every line|both)|different document", exercises_of(notebook))
    in_the_lesson = {"1"} if own else set()
    assert checked | in_the_lesson >= {"1", "2"}
    solution = "\n".join(one.source for one in read(path.parent / "solutions" / path.name).cells)
    assert all(f"answer_{number}" in solution for number in checked)


@pytest.mark.usefixtures("read_by_word")
def test_a_check_knows_the_solution_s_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(LESSONS[0].parent)
    assert "three dots" in check("02", 1, ...)
    assert check("02", 1, 0.7) == check("02", 1, "0.70") == "Exercise 1: equal."
    assert {check("02", 1, wrong).partition(".")[0] for wrong in (0.5, "all", None)} == {
        "Exercise 1: not equal"
    }
    assert check("01", 2, " Protocol") == "Exercise 2: equal."
    assert check("00", 1, ["floor", "limit"]) == check("00", 1, "Floor,limit") == "Exercise 1: equal."
    assert check("03", 2, "a, for") == check("03", 2, ("for", "a")) == "Exercise 2: equal."
    for lesson, exercise in (("77", 1), ("01", 1)):
        with pytest.raises(InputError, match=r"no solution|no checked answer"):
            check(lesson, exercise, 1)


WRONG = [
    ("02", 1, "all", "one number, and this is of the type str"),
    ("02", 1, np.array([0.7, 0.7]), "of the type ndarray"),
    ("02", 1, float("nan"), "NaN"),
    ("02", 1, 70, "factor of 100"),
    ("02", 1, 0.5, "has a hint"),
    ("01", 2, 3, "a word or several"),
    ("01", 2, None, "a word or several"),
    ("00", 1, "limit, floor", "has a hint"),
]


@pytest.mark.parametrize(("lesson", "exercise", "answer", "remark"), WRONG)
def test_a_wrong_answer_is_told_what_is_wrong_with_its_kind(
    monkeypatch: pytest.MonkeyPatch, lesson: str, exercise: int, answer: object, remark: str
) -> None:
    monkeypatch.chdir(LESSONS[0].parent)
    assert remark in check(lesson, exercise, answer)


@pytest.mark.parametrize("scores", [None, ..., 1.0, np.ones(3), "high"])
def test_a_challenge_needs_one_number_for_each_candidate(
    sample: MemoryIndex, questions: QuestionSet, scores: object
) -> None:
    with pytest.raises(InputError, match=r"not \d+ numbers"):
        challenge(lambda *_: scores, sample, questions)  # type: ignore[arg-type, return-value]


def test_a_challenge_does_not_take_nan_for_a_score(sample: MemoryIndex, questions: QuestionSet) -> None:
    with pytest.raises(InputError, match=r"NaN for \d+ of \d+ candidates"):
        challenge(lambda cosine, relevance: 0.7 * cosine + 0.3 * relevance, sample, questions)


def test_a_challenge_counts_hits_and_silence(sample: MemoryIndex, questions: QuestionSet) -> None:
    assert challenge(lambda cosine, _: np.nan_to_num(cosine) - 2, sample, questions) == (
        "0 of 57 questions hit; 20 of 20 unanswerable questions get nothing"
    )
    fused = SHIPPED.with_changes(OR_JOIN, SIGN).asking(min_score=0.0)
    (run,) = evaluate(questions, [fused], sample)

    def the_same(cosine: Floats, relevance: Floats) -> Floats:
        return 0.7 * np.nan_to_num(cosine) + 0.3 * np.nan_to_num(relevance)

    assert f"{run.overall.hits} of 57 questions hit; {run.silent.hits} of 20" in challenge(
        the_same, sample, questions
    )


@every_lesson
def test_the_exercises_have_solutions_and_list_the_functions_that_their_solutions_use(path: Path) -> None:
    (line,) = re.findall(r"^Useful functions: (.*)\.$", read(path).cells[-1].source, re.M)
    listed = re.findall(r"`([^`]+)`", line)
    solutions = read(path.parent / "solutions" / path.name)
    code = "\n".join(cell.source for cell in solutions.cells if cell.cell_type == "code")
    assert path == LESSONS[0] or len(re.findall(r"^## [12]\. ", prose(solutions), re.M)) == 2
    assert path == LESSONS[0] or re.search(r"^assert ", code, re.M)
    assert set(listed) == set(used(code)) - ALWAYS_USEFUL
    for name in listed:
        module, _, attribute = name.replace("wb.", "workbench.", 1).rpartition(".")
        assert hasattr(import_module(module), attribute)


def used(code: str) -> Iterator[str]:
    """The names of the workbench that the code uses: `wb.search`, `workbench.measure.paired.paired`."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Attribute(value=ast.Name(id="wb"), attr=name):
                yield f"wb.{name}"
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("workbench"):
                yield from (f"{module}.{one.name}" for one in names)


def test_the_lessons_link_to_their_neighbours_and_to_their_solutions() -> None:
    for one, after in pairwise(LESSONS):
        for end in (0, -1):
            assert f"]({after.name})" in read(one).cells[end].source
            assert f"]({one.name})" in read(after).cells[end].source
    for one in LESSONS:
        assert f"[Solutions](solutions/{one.name})" in read(one).cells[-1].source
        assert f"](../{one.name})" in read(one.parent / "solutions" / one.name).cells[0].source


def test_the_library_runs_the_lessons_that_the_readme_names() -> None:
    assert "the library: it runs lessons 00 to 04 alone" in (PROJECT / "README.md").read_text(
        encoding="utf-8"
    )
    assert [read(path).metadata.workbench.features for path in LESSONS if path.stem < "05"] == 5 * [[]]


def test_the_teacher_s_table_has_each_lesson_with_its_minutes() -> None:
    table = (PROJECT / "docs" / "teaching.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\d\d|[AB]) [^|]*\|.*\| (\d+ \+ \d+) \|$", table, re.M))
    told = {path.stem.partition("_")[0]: read(path).cells[0].source for path in LESSONS}
    minutes = {name: re.search(r"About (\d+) minutes, and (\d+) for", text) for name, text in told.items()}
    assert rows == {name: f"{found[1]} + {found[2]}" for name, found in minutes.items() if found}
