"""A prediction: what the reader expects, said before the answer is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import ipywidgets as w

from workbench.errors import InputError
from workbench.views.widgets.panel import status_html


class Prediction:
    """A question with choices, one of which the reader commits to; `reveal` sets the truth beside it.

    Set `guess` to answer without a browser. Raises InputError for a guess that is no choice, and for a
    second thought after committing.
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
        self.root = w.VBox([label, self.options, self.button, self.status])

    @property
    def settings(self) -> Mapping[str, Any]:
        """The named values: the guess, None before there is one."""
        return {"guess": self.guess}

    @property
    def guess(self) -> str | None:
        """What the reader expects."""
        return self.options.value  # type: ignore[no-any-return]

    @guess.setter
    def guess(self, choice: str) -> None:
        if self.committed:
            made = f"The guess is made: {self.guess}." if self.guess else "The answer is out."
            raise InputError(made, "Run the cell again for another.")
        self._check(choice)
        self.options.value = choice

    def _check(self, choice: str) -> None:
        if choice not in self.choices:
            raise InputError(f"{choice!r} is no choice.", f"Choose one of: {', '.join(self.choices)}.")

    def _chosen(self, _: Any) -> None:
        self.button.disabled = self.guess is None or self.committed

    def commit(self) -> None:
        """Closes the question; the guess stays as it is."""
        if self.guess is None:
            raise InputError("There is no guess yet.", "Choose one first.")
        self.committed = True
        self.options.disabled = self.button.disabled = True
        self._say(f"You expect {self.guess}. Read on.")

    def reveal(self, truth: str) -> str:
        """The truth beside the guess, in a sentence, here and in the widget."""
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
        return self.root._repr_mimebundle_(**kwargs)
