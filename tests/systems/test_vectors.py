"""The workbench gives what the real systems gave, and the runner of such vectors does not flatter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters import ADAPTERS, Case, adapter_for
from tests.conftest import PROJECT
from tests.run_vectors import EXACT, VECTORS, load, main, run, same

CASES = [
    (file, number, case) for file in sorted(VECTORS.glob("*.json")) for number, case in enumerate(load(file))
]

HELLO = {"group": "fts-query", "version": "2026.2.12", "input": {"raw": "hello"}, "expected": '"hello"'}


def written(folder: Path, *cases: dict[str, Any]) -> str:
    """The path of a file that holds these cases."""
    file = folder / "cases.json"
    file.write_text(json.dumps(cases), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{file.stem}-{number}-{case.group}") for file, number, case in CASES]
)
def test_the_workbench_gives_what_the_system_gave(case: Case) -> None:
    assert run(case).problem == ""


def test_every_adapter_has_a_case() -> None:
    examples = load(PROJECT / "tests" / "strangers" / "acme.json")
    assert {group for group, _ in ADAPTERS} == {case.group for _, _, case in CASES} | {
        case.group for case in examples
    }


def test_a_right_expectation_exits_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([written(tmp_path, HELLO)]) == 0
    assert "fts-query                   1 passed    0 failed" in capsys.readouterr().out


def test_a_wrong_expectation_fails_with_both_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([written(tmp_path, HELLO, HELLO | {"expected": '"goodbye"'})]) == 1
    printed = capsys.readouterr().out
    assert """expected '"goodbye"'""" in printed
    assert """got      '"hello"'""" in printed
    assert "fts-query                   1 passed    1 failed" in printed


@pytest.mark.parametrize(
    "wrong", [{"group": "telepathy"}, {"version": "2027.1.1"}, {"version": "2026.2.123"}]
)
def test_a_group_or_version_without_an_adapter_fails_and_is_named(
    wrong: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([written(tmp_path, HELLO | wrong)]) == 1
    assert f"{next(iter(wrong.values()))!r}" in capsys.readouterr().out


def test_an_input_that_breaks_the_adapter_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([written(tmp_path, HELLO | {"input": {}})]) == 1
    assert "KeyError" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "[]", "{}", "[1]", '[{"group": "hash"}]', "[" * 10])
def test_a_file_without_cases_exits_with_2(text: str, tmp_path: Path) -> None:
    (tmp_path / "cases.json").write_text(text, encoding="utf-8")
    assert main([str(tmp_path / "cases.json")]) == 2


def test_a_missing_file_exits_with_2(tmp_path: Path) -> None:
    assert main([str(tmp_path / "none.json")]) == 2


@pytest.mark.parametrize("version", ["2026.2.12", "2026.2.12 (f9e444dd56cc); same in 2026.2.13", "2026.2.13"])
def test_the_version_is_found_by_its_beginning(version: str) -> None:
    assert adapter_for(Case("fts-query", version, {}, None)) is not None


def chunk_lengths(recipe: str) -> Any:
    """What the chunking adapter gives for a text that is only described."""
    case = {"content_generator": recipe, "chunking": {"tokens": 8, "overlap": 0}}
    return ADAPTERS["chunking", "2026.2.12"](Case("chunking", "2026.2.12", case, None))


def test_a_described_text_is_made() -> None:
    assert chunk_lengths("'ab' * 20") == {"lengths": [32, 8]}
    assert chunk_lengths("U+20000 * 20") == {"lengths": [32, 8]}


@pytest.mark.parametrize("recipe", ["__import__('os').getcwd()", "'a' * 10**9", "'a' * 9999999", "'a' + 'b'"])
def test_a_description_is_never_run_as_code(recipe: str) -> None:
    with pytest.raises(ValueError, match="no recipe"):
        chunk_lengths(recipe)


def test_settings_that_no_adapter_knows_are_refused() -> None:
    given = {"query": "X", "opts": {"temperature": 1}, "settingsOverride": {}, "keywordHits": []}
    with pytest.raises(NotImplementedError):
        ADAPTERS["search-pipeline", "2026.2.12"](
            Case("search-pipeline", "2026.2.12", {**given, "vectorHits": [], "queryVec": [1]}, None)
        )


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (1, 1.0),
        (1 + 1e-10, 1),
        ([{"a": None}], [{"a": None}]),
    ],
)
def test_these_agree(got: Any, expected: Any) -> None:
    assert same(got, expected, EXACT)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (1 + 1e-8, 1),
        (1.0, "NaN"),
        (float("nan"), 1.0),
        (float("inf"), "-Infinity"),
        (0, None),
        (None, 0),
        (1, True),
        ("1", 1),
        ([1], [1, 2]),
        ([], None),
        ({"a": 1}, {"a": 1, "b": None}),
        ({"a": 1, "b": None}, {"a": 1}),
    ],
)
def test_these_do_not_agree(got: Any, expected: Any) -> None:
    assert not same(got, expected, EXACT)
