"""A prediction is made before the truth is shown, and can be made without a browser."""

from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.views.widgets import Prediction


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
    assert sentence in prediction.status.value


def test_a_reader_who_made_no_guess_is_told_so(prediction: Prediction) -> None:
    assert prediction.reveal("floor") == "It is “floor”. (You made no guess.)"


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
    with pytest.raises(InputError, match="'limit' is not one of the choices"):
        prediction.guess = "limit"
    with pytest.raises(InputError, match="'limit' is not one of the choices"):
        prediction.reveal("limit")
