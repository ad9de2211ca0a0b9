"""LoCoMo is read from a path, and its corrections are laid over it with care."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workbench.errors import InputError
from workbench_plugins.runs.collections import evidence_sessions, load

CONVERSATION = {
    "speaker_a": "Ada",
    "speaker_b": "Ben",
    "session_2_date_time": "9 May",
    "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "I bought a kite."}],
    "session_1_date_time": "8 May",
    "session_1": [
        {"speaker": "Ada", "dia_id": "D1:1", "text": "Hello."},
        {"speaker": "Ben", "dia_id": "D1:2", "text": " "},
    ],
}
QUESTIONS = [
    {"question": "Who said hello?", "answer": "Ada", "evidence": ["D1:1"], "category": 4},
    {"question": "What was bought?", "answer": 1, "evidence": ["D1:1 D2:1"], "category": 1},
    {"question": "Nothing?", "adversarial_answer": "x", "evidence": [], "category": 5},
]


def written(folder: Path, corrections: list[dict[str, Any]] | None = None) -> tuple[Path, Path | None]:
    data = folder / "locomo.json"
    data.write_text(json.dumps([{"conversation": CONVERSATION, "qa": QUESTIONS}]))
    if corrections is None:
        return data, None
    fixes = folder / "corrections.json"
    fixes.write_text(json.dumps(corrections))
    return data, fixes


def correction(**changed: Any) -> dict[str, Any]:
    asked = {"question_id": "locomo_0_qa1", "question": "What was bought?"}
    return {**asked, "correct_evidence": ["D2:1"], **changed}


def test_sessions_become_documents_and_empty_turns_are_left_out(tmp_path: Path) -> None:
    locomo = load(*written(tmp_path))
    assert [document.id for document in locomo.documents] == ["locomo-c00-s01", "locomo-c00-s02"]
    assert locomo.documents[0].title == "locomo-c00-s01 (8 May)"
    assert locomo.documents[1].body.splitlines()[-1] == "- **Ben:** I bought a kite."
    assert [turn.id for turn in locomo.turns] == ["c00-D1:1", "c00-D2:1"]


def test_evidence_names_turns_and_the_first_session_of_each_string(tmp_path: Path) -> None:
    _, second, third = load(*written(tmp_path)).questions
    assert second.turns == {"c00-D1:1", "c00-D2:1"}
    assert second.documents == {"locomo-c00-s01"}
    assert (third.category, third.documents, third.answer) == (5, frozenset(), "x")
    assert evidence_sessions(["x", "D3:1", "D3:9", "D1:2"]) == [3, 1]


def test_a_correction_replaces_the_evidence_if_it_has_any(tmp_path: Path) -> None:
    for evidence, document in ((["D2:1"], "locomo-c00-s02"), ([], "locomo-c00-s01")):
        locomo = load(*written(tmp_path, [correction(correct_evidence=evidence)]))
        assert (locomo.questions[1].documents, locomo.corrected) == ({document}, 1)


def test_a_correction_of_another_question_is_refused(tmp_path: Path) -> None:
    for changed in ({"question": "Another"}, {"question_id": "locomo_7_qa0"}):
        with pytest.raises(InputError, match=next(iter(changed.values()))):
            load(*written(tmp_path, [correction(**changed)]))


@pytest.mark.parametrize("text", ["{}", "[1]", '[{"qa": []}]', "nonsense"])
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(InputError, match="other"):
        load(file)
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "none.json")
