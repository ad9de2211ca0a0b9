"""A case of somebody else may hold keys: what is printed and written of it shows none, or says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import Run
from workbench.masking import masking_of
from workbench.tables import Box, Code, Excerpt, Fold, Line, Note, Picture, Table, masked_parts, masked_table

KEY, PASSWORD = "sk-proj-Abcd1234efgh5678IJKL9012", "hunter2secretpw"
CASE = f"""case: 1
title: "the api_key: {KEY} is here"
note: "my key {KEY}"
known_bug: "token: {KEY}"
system: openclaw-2026.2.13
memory:
  notes:
    - path: memory/tea.md
      text: |
        # Tea
        The tea password: {PASSWORD} and the key is {KEY} for the kettle.
    - path: memory/bike.md
      text: |
        # Bike
        The bike is in the shed.
questions:
  - question: "tea password: {PASSWORD} kettle"
    expect:
      found: memory/bike.md
model:
  name: toy
  axes:
    tea: [tea, kettle]
    bike: [bike, shed]
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    file = tmp_path / "theirs.case.yaml"
    file.write_text(CASE, encoding="utf-8")
    return file


def shows_none(text: str) -> bool:
    """Whether no secret of the case is in a text, and no word of one as a query has it."""
    return not any(one in text for one in (KEY, PASSWORD, "Abcd1234"))


@pytest.mark.parametrize(
    "asked",
    [
        ("case", "run"),
        ("case", "run", "--json"),
        ("case", "run", "--releases"),
        ("case", "run", "--releases", "--json"),
        ("case", "run", "-s", "recommended"),
        ("case", "report"),
    ],
    ids=" ".join,
)
def test_a_command_shows_no_secret_of_a_case(run: Run, case: Path, asked: tuple[str, ...]) -> None:
    outcome = run(*asked, case)
    assert "memory/bike.md" in outcome.out
    assert shows_none(outcome.out + outcome.err)


def test_a_page_about_a_case_shows_no_secret_of_it_and_says_so(
    run: Run, case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("case", "report", case, "--html", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert shows_none(page)
    assert "In the case, “…” stands for " in page
    assert page.count("…") > 3
    monkeypatch.setattr("workbench_plugins.cases.report.LARGEST_INSIDE", 100)
    assert "stands for" not in run("case", "report", case).out


@pytest.mark.parametrize("kind", ["pytest", "vitest"])
def test_an_exported_test_says_that_it_keeps_secrets(run: Run, case: Path, tmp_path: Path, kind: str) -> None:
    outcome = run(
        "case",
        "export",
        case,
        tmp_path / "out",
        "--to",
        kind,
        "--for",
        "own" if kind == "pytest" else "openclaw",
    )
    assert outcome.code == 0, outcome.err
    (file,) = (tmp_path / "out").iterdir()
    head = file.read_text(encoding="utf-8").split("import ", 1)[0]
    told = "3 secrets may stand in its notes and questions, which are kept as they are."
    assert shows_none(head + outcome.out + outcome.err)
    assert told in head
    assert told in outcome.err
    assert f"workbench case redact {case}" in outcome.err


def theirs(folder: Path) -> tuple[list[Path], Path]:
    """Two runs of another engine with a key in a question, and the labels."""
    questions = [f"tea password: {PASSWORD}", f"my api key is {KEY}", "where is the bike"]
    files = []
    for name, documents in (("one", ["a.md", "b.md", "c.md"]), ("two", ["b.md", "a.md", "b.md"])):
        rows = [
            {"question": one, "results": [{"id": path, "score": 1}, *more]}
            for one, path, more in zip(
                questions, documents, ([{"id": "z.md", "score": 0.9}], [], []), strict=True
            )
        ]
        files.append(folder / f"{name}.jsonl")
        files[-1].write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    labels = folder / "labels.yaml"
    paths = zip(questions, ["a.md", "b.md", "c.md"], strict=True)
    listed = [{"question": one, "target": path} for one, path in paths]
    labels.write_text(json.dumps({"questions": listed}), encoding="utf-8")
    return files, labels


def test_a_run_of_another_engine_is_shown_without_its_secrets(run: Run, tmp_path: Path) -> None:
    (one, two), labels = theirs(tmp_path)
    compared = run("runs", "compare", one, two, "--questions", labels).out
    assert compared.startswith("two, compared with one by hits: no significant difference (3 questions)")
    assert "tea password: …" in compared
    linted = run("runs", "lint", one).out
    assert "constant best score" in linted
    blamed = run("runs", "blame", two, "--questions", labels).out
    assert "my api key is …" in blamed
    assert shows_none(compared + linted + blamed)


def test_every_part_of_an_answer_is_masked() -> None:
    text = f"the key is {KEY}"
    parts = [
        text,
        Line(text),
        Code(text),
        Excerpt(text, [(4, 7)]),
        Note(text, text),
        Fold(text, [text]),
        Table(text, ["n", "text"], [(1, text)]),
        Picture(text, [[Box(text, text)]]),
    ]
    assert shows_none(str(masked_parts(parts)))
    assert masked_table(Table("", ["n"], [(1,)])).rows == [[1]]


def test_the_words_of_a_secret_are_masked_where_they_stand_alone() -> None:
    mask = masking_of([f"where is the password: {PASSWORD}", "where is the tea"])
    assert mask(f'"where" AND "{PASSWORD.upper()}"') == '"where" AND "…"'
    assert mask("where is the tea") == "where is the tea"
