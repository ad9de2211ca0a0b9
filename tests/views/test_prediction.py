"""A prediction is made before the truth is shown, and can be made without a browser."""

from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.views.widgets.prediction import Prediction


@pytest.fixture
def prediction() -> Prediction:
    return Prediction("Which stage?", ["floor", "fusion"])


def test_the_truth_is_set_beside_the_guess(prediction: Prediction) -> None:
    prediction.guess = "fusion"
    assert prediction.reveal("fusion") == "It is “fusion”, as you expected."
    assert "as you expected" in prediction.status.value


def test_the_answer_stays_hidden_until_there_is_a_guess(prediction: Prediction) -> None:
    assert "floor" not in prediction.reveal("floor")
    assert prediction.status.value == ""
    prediction.options.value = "fusion"
    assert prediction.status.value == ""
    prediction.button.click()
    assert "It is “floor”; you expected “fusion”." in prediction.status.value


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


def test_a_page_on_which_nobody_can_choose_shows_the_answer(
    prediction: Prediction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Prediction, "waits", False)
    assert prediction.reveal("floor") == "It is “floor”."


def test_the_button_waits_for_a_choice_and_closes_the_question(prediction: Prediction) -> None:
    assert prediction.button.disabled
    prediction.options.value = "floor"
    assert not prediction.button.disabled
    prediction.button.click()
    assert prediction.options.disabled
    assert prediction.settings == {"guess": "floor"}
    with pytest.raises(InputError, match="already committed to floor"):
        prediction.guess = "fusion"


def test_what_is_no_choice_is_refused(prediction: Prediction) -> None:
    for answer in (prediction.reveal, lambda limit: setattr(prediction, "guess", limit)):
        with pytest.raises(InputError, match="'limit' is not one of the choices"):
            answer("limit")
