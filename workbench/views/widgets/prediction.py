"""A prediction: you commit to an expected answer before the real one is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import ipywidgets as w

from workbench.errors import InputError
from workbench.views.widgets.keeper import column, with_twin
from workbench.views.widgets.panel import status_html


class Prediction:
    """A question with choices: you commit to one, and `reveal` shows the correct answer beside it.

    Set `guess` to answer without a browser. Raises InputError for a guess that is not one of the choices, and
    for a new guess after you have committed.
    """

    def __init__(self, question: str, choices: Sequence[str]) -> None:
        self.question = question
        self.choices = tuple(choices)
        self.committed = False
        self.options = w.RadioButtons(options=self.choices, value=None, layout={"width": "auto"})
        self.button = w.Button(description="That is my guess", disabled=True)
        self.status = w.HTML()
        self.options.observe(self._chosen, "value")
        self.button.on_click(lambda _: self.commit())
        label = w.HTML(f"<b>{escape(question)}</b>")
        self.root = column([label, self.options, self.button, self.status])

    @property
    def settings(self) -> Mapping[str, Any]:
        """The named values: the guess, which is None at first."""
        return {"guess": self.guess}

    @property
    def guess(self) -> str | None:
        """The chosen answer; None at first."""
        return self.options.value  # type: ignore[no-any-return]

    @guess.setter
    def guess(self, choice: str) -> None:
        if self.committed:
            made = (
                f"You have already committed to {self.guess}."
                if self.guess
                else "The answer is already shown."
            )
            raise InputError(made, "Run the cell again for a new guess.")
        self._check(choice)
        self.options.value = choice

    def _check(self, choice: str) -> None:
        if choice not in self.choices:
            raise InputError(
                f"{choice!r} is not one of the choices.", f"Choose one of: {', '.join(self.choices)}."
            )

    def _chosen(self, _: Any) -> None:
        self.button.disabled = self.guess is None or self.committed

    def commit(self) -> None:
        """Closes the question; the guess can no longer change."""
        if self.guess is None:
            raise InputError("There is no guess yet.", "Choose an answer first.")
        self.committed = True
        self.options.disabled = self.button.disabled = True
        self._say(f"You expect {self.guess}. Read on.")

    def reveal(self, truth: str) -> str:
        """Shows the correct answer and the guess in the widget, and returns the sentence."""
        self._check(truth)
        if self.guess is None:
            sentence = f"It is “{truth}”. (You made no guess.)"
        elif self.guess == truth:
            sentence = f"It is “{truth}”, as you expected."
        else:
            sentence = f"It is “{truth}”; you expected “{self.guess}”."
        self.committed = True
        self.options.disabled = self.button.disabled = True
        self._say(sentence)
        return sentence

    def _say(self, sentence: str) -> None:
        self.status.value = status_html(sentence)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        choices = "".join(f"<li>{escape(one)}</li>" for one in self.choices)
        return with_twin(self.root, self.question, f"<ul>{choices}</ul>", **kwargs)
