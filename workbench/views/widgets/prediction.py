"""A prediction: you commit to an expected answer before the real one is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from html import escape
from io import StringIO
from typing import Any, ClassVar

from rich.text import Text

from workbench.errors import InputError
from workbench.views.living.controls import Control, Living

FOLDED = "This output helps with the answer. Guess first, then open it, or run the cell again."


class Prediction:
    """A question with choices: you commit to one, and `reveal` shows the correct answer beside it.

    "Run all" reveals nothing: while there is no guess, the answer waits for one, and `evidence` folds what is
    printed. `waits` is False for pages without a kernel, on which nobody can choose.

    Set `guess` to answer without a browser. Raises InputError for a guess that is not one of the choices, and
    for a new guess after you have committed.
    """

    waits: ClassVar[bool] = True

    def __init__(self, question: str, choices: Sequence[str]) -> None:
        self.question = question
        self.choices = tuple(choices)
        self.controls = {name: Control(value=None) for name in ("guess", "truth")}
        self.controls["committed"] = Control(value=False)
        data = {"view": "prediction", "question": question, "choices": list(self.choices)}
        self.root = Living(data, self.controls, "prediction")

    @property
    def settings(self) -> Mapping[str, Any]:
        """The named values: the guess, which is None at first."""
        return {"guess": self.guess}

    @property
    def committed(self) -> bool:
        """Whether the guess can no longer change."""
        return bool(self.controls["committed"].value)

    @property
    def guess(self) -> str | None:
        """The chosen answer; None at first."""
        return self.controls["guess"].value  # type: ignore[no-any-return]

    @guess.setter
    def guess(self, choice: str) -> None:
        if self.committed:
            raise InputError(
                f"You have already committed to {self.guess}.", "Run the cell again for a new guess."
            )
        self._check(choice)
        self.controls["guess"].value = choice

    def _check(self, choice: str) -> None:
        if choice not in self.choices:
            raise InputError(
                f"{choice!r} is not one of the choices.", f"Choose one of: {', '.join(self.choices)}."
            )

    def commit(self) -> None:
        """Closes the question; the guess can no longer change. Shows the answer if it was waiting."""
        if self.guess is None:
            raise InputError("There is no guess yet.", "Choose an answer first.")
        self.controls["committed"].value = True

    def reveal(self, truth: str) -> str:
        """Shows the correct answer and the guess in the widget, and returns the sentence.

        Without a guess it returns a request to choose, and the widget shows the answer after the choice.
        """
        self._check(truth)
        self.controls["truth"].value = truth
        if self.guess is not None:
            self.commit()
            return self._verdict(truth)
        if self.waits:
            return "Choose an answer above first. The answer then appears below your guess."
        return f"It is “{truth}”."

    @contextmanager
    def evidence(self) -> Iterator[None]:
        """Folds what is printed inside it while there is no guess, because it gives the answer away."""
        if self.guess is not None or not self.waits:
            yield
            return
        printed = StringIO()
        try:
            with redirect_stdout(printed):
                yield
        finally:
            _show_folded(Text.from_ansi(printed.getvalue()).plain)

    def _verdict(self, truth: str) -> str:
        if self.guess == truth:
            return f"It is “{truth}”, as you expected."
        return f"It is “{truth}”; you expected “{self.guess}”."

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        choices = "".join(f"<li>{escape(one)}</li>" for one in self.choices)
        return self.root.shown(self.question, f"<ul>{choices}</ul>", **kwargs)


class _Folded:
    """What was printed, behind a line to click on; elsewhere only the line."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return FOLDED

    def _repr_html_(self) -> str:
        return f"<details><summary>{FOLDED}</summary><pre>{escape(self.text)}</pre></details>"


def _show_folded(text: str) -> None:
    from IPython.display import display

    display(_Folded(text))  # type: ignore[no-untyped-call]
