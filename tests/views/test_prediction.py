"""A prediction is made before the truth is shown, and can be made without a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from tests.conftest import PATIENT
from tests.forked import ForkedKernels
from workbench.errors import InputError
from workbench.views.widgets.prediction import Prediction


@pytest.fixture
def prediction() -> Prediction:
    return Prediction("Which stage?", ["floor", "fusion"])


@pytest.mark.parametrize(
    ("guess", "sentence"),
    [("fusion", "It is “fusion”, as you expected."), ("floor", "It is “fusion”; you expected “floor”.")],
)
def test_the_truth_is_set_beside_the_guess(prediction: Prediction, guess: str, sentence: str) -> None:
    prediction.guess = guess
    assert prediction.reveal("fusion") == sentence
    assert prediction.settings == {"guess": guess, "truth": "fusion", "committed": True}


def test_the_answer_stays_hidden_until_there_is_a_guess(prediction: Prediction) -> None:
    assert prediction.reveal("floor") == "The answer appears above, below your guess, when you have made one."
    prediction.set_state({"guess": "fusion"})  # as a page does
    assert (prediction.guess, prediction.committed) == ("fusion", False)
    prediction.commit()
    assert prediction.settings["committed"]


def test_evidence_is_folded_until_there_is_a_guess(
    prediction: Prediction, capsys: pytest.CaptureFixture[str]
) -> None:
    with prediction.evidence():
        print("the floor dropped it")
    assert "Guess first" in (folded := capsys.readouterr().out)
    assert "dropped" not in folded
    prediction.guess = "fusion"
    with prediction.evidence():
        print("the floor dropped it")
    assert capsys.readouterr().out == "the floor dropped it\n"


def test_folded_evidence_has_no_codes_of_a_terminal_in_it(
    prediction: Prediction, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("IPython.display.display", lambda one: shown.append(one._repr_html_()))
    with prediction.evidence():
        print("\x1b[1mscore\x1b[0m < \x1b[2mfloor\x1b[0m")
    assert shown[0].endswith("<pre>score &lt; floor\n</pre></details>")


def test_a_folded_figure_says_its_numbers(tmp_path: Path) -> None:
    """In a notebook, since only there a figure is more than its words."""
    code = (
        "from workbench.views import plots\n"
        "from workbench.views.widgets.prediction import Prediction\n"
        "with Prediction('Which stage?', ['floor', 'fusion']).evidence():\n"
        "    display(plots.bars({'floor': 3}, 'right files lost'))"
    )
    notebook = new_notebook(cells=[new_code_cell(code)])
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, **PATIENT, kernel_manager_class=ForkedKernels, resources=place).execute()
    (folded,) = notebook.cells[0].outputs
    assert folded.data["text/html"].endswith("<p>right files lost: floor 3</p></details>")


def test_a_page_on_which_nobody_can_choose_shows_the_answer(
    prediction: Prediction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Prediction, "waits", False)
    assert prediction.reveal("floor") == "It is “floor”."


def test_a_guess_that_is_committed_stays(prediction: Prediction) -> None:
    for commit in (prediction.commit, lambda: prediction.take({"committed": True})):
        with pytest.raises(InputError, match="no guess yet"):
            commit()
    prediction.guess = "floor"
    prediction.commit()
    assert prediction.settings == {"guess": "floor", "truth": None, "committed": True}
    with pytest.raises(InputError, match="already committed to floor"):
        prediction.guess = "fusion"
    with pytest.raises(InputError, match="already committed to floor"):
        prediction.committed = False


def test_what_is_no_choice_is_refused(prediction: Prediction) -> None:
    with pytest.raises(InputError, match=r"guess cannot be 'limit'\.\n  Choose one of: floor, fusion"):
        prediction.guess = "limit"
    with pytest.raises(InputError, match=r"truth cannot be 'limit'\.\n  Choose one of: floor, fusion"):
        prediction.reveal("limit")
