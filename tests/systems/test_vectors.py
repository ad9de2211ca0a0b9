"""The workbench gives what the real systems gave, and the runner of such vectors does not flatter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters import ADAPTERS, Case
from tests.adapters.openclaw_february import content
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


def test_a_merge_with_mmr_reads_the_snippets_of_its_hits() -> None:
    """By hand: after a, b is worth 0.7 × 0.75 - 0.3, since it has a's words, and c 0.7 × 0.725."""

    def hit(name: str, score: float, snippet: str) -> dict[str, Any]:
        place = {"path": f"memory/{name}.md", "startLine": 1, "endLine": 2, "source": "memory"}
        return {"id": name, "snippet": snippet, "vectorScore": score, **place}

    words = {"a": (0.9, "green tea"), "b": (0.8, "green tea"), "c": (0.79, "bike"), "d": (0.5, "server")}
    given = {
        "vector": [hit(name, *rest) for name, rest in words.items()],
        "keyword": [], "vectorWeight": 0.7, "textWeight": 0.3, "mmr": {"enabled": True, "lambda": 0.7},
    }  # fmt: skip
    merged = ADAPTERS["hybrid-merge-9.6", "2026.9.6"](Case("hybrid-merge-9.6", "2026.9.6", given, None))
    assert [one["path"] for one in merged] == [f"memory/{name}.md" for name in "acbd"]


def test_every_adapter_has_a_case() -> None:
    examples = load(PROJECT / "tests" / "strangers" / "acme.json")
    assert {group for group, _ in ADAPTERS} == {case.group for _, _, case in CASES} | {
        case.group for case in examples
    }


def test_a_run_counts_and_prints_what_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([written(tmp_path, HELLO)]) == 0
    assert "fts-query                   1 passed    0 failed" in capsys.readouterr().out
    wrong, broken = HELLO | {"expected": '"goodbye"'}, HELLO | {"input": {}}
    assert main([written(tmp_path, HELLO | {"version": "2026.2.12 (f9e444d)"}, wrong, broken)]) == 1
    printed = capsys.readouterr().out
    for said in ("""expected '"goodbye"'""", """got      '"hello"'""", "KeyError", "1 passed    2 failed"):
        assert said in printed


@pytest.mark.parametrize(
    "wrong", [{"group": "telepathy"}, {"version": "2027.1.1"}, {"version": "2026.2.123"}]
)
def test_a_group_or_version_without_an_adapter_fails_and_is_named(
    wrong: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([written(tmp_path, HELLO | wrong)]) == 1
    assert f"{next(iter(wrong.values()))!r}" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "[]", "{}", "[1]", '[{"group": "hash"}]', None])
def test_a_file_without_cases_or_none_exits_with_2(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "cases.json").write_text(text, encoding="utf-8")
    assert main([str(tmp_path / "cases.json")]) == 2


@pytest.mark.parametrize("recipe", ["__import__('os').getcwd()", "'a' * 10**9", "'a' * 9999999", "'a' + 'b'"])
def test_a_description_of_a_text_is_never_run_as_code(recipe: str) -> None:
    with pytest.raises(ValueError, match="no recipe"):
        content({"content_generator": recipe})


NAN, INFINITE = float("nan"), float("inf")
ALIKE = [(NAN, "NaN"), (INFINITE, "Infinity"), (1, 1.0), (1 + 1e-10, 1), ([{"a": None}], [{"a": None}])]
UNLIKE = [
    (1 + 1e-8, 1), (1.0, "NaN"), (NAN, 1.0), (INFINITE, "-Infinity"), (0, None), (None, 0), (1, True),
    ("1", 1), ([1], [1, 2]), ([], None), ({"a": 1}, {"a": 1, "b": None}), ({"a": 1, "b": None}, {"a": 1}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("got", "expected", "agree"), [*((*pair, True) for pair in ALIKE), *((*pair, False) for pair in UNLIKE)]
)
def test_numbers_agree_within_a_tolerance_and_the_rest_exactly(got: Any, expected: Any, agree: bool) -> None:
    assert same(got, expected, EXACT) is agree
